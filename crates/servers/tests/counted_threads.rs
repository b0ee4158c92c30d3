//! Threads of a server under callgrind, each with a count of its own between two moments.

use std::io::Read;
use std::os::unix::net::UnixStream;

use rqps_model::Dbms;
use rqps_servers::testing::Scratch;
use rqps_servers::{Instrument, Server, ThreadCounter, instrument};

/// How often it is looked for a thread that only greets.
const TRIES: u32 = 50;

#[test]
fn what_greets_a_client_is_counted_from_one_moment_to_the_next() {
    assert!(instrument::available().is_some(), "valgrind is missing: install it");
    let (dir, mut spec) = Scratch::prepare_of(Dbms::Mysql, "5.7.22").unwrap();
    Server::init(&spec).unwrap();
    let counts_dir = dir.path().join("counts");
    spec.instrument = Some(Instrument::ValgrindThreads { counts_dir: counts_dir.clone() });
    let server = Server::start(&spec).unwrap();
    let counter = ThreadCounter::new(&counts_dir, server.pid()).unwrap();
    assert_eq!(counter.number_of(server.pid()).unwrap(), Some(1), "the main thread is the first");
    assert_eq!(counter.number_of(1).unwrap(), None);

    let socket = server.endpoint().socket_dir.join("mysqld.sock");
    let mut seen = Vec::new();
    // Its thread may have the number of a session before it, which looked whether the server is ready, or was greeted
    // in a try before: each may take a while to end.
    let is_counted = (0..TRIES).any(|_| {
        counter.begin().unwrap();
        let quiet = counter.end().unwrap();
        counter.begin().unwrap();
        let mut session = UnixStream::connect(&socket).unwrap();
        session.read_exact(&mut [0; 70]).unwrap();
        let greeted = counter.end().unwrap();
        let before = |thread| quiet.get(thread).copied().unwrap_or(0);
        let is_counted = greeted.iter().any(|(thread, count)| *count > 10_000 && before(thread) < 1_000);
        seen.push((quiet, greeted));
        is_counted
    });
    assert!(is_counted, "no thread has greeted: {seen:?}");
    server.stop().unwrap();
}
