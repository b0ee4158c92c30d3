//! Counts instructions of a server's threads under callgrind between two points in time.

use std::io::Read;
use std::os::unix::net::UnixStream;

use rqps_model::Dbms;
use rqps_servers::testing::Scratch;
use rqps_servers::{Instrument, Server, ThreadCounter, instrument};

/// Attempts to see a thread that does nothing but send a greeting.
const TRIES: u32 = 50;

#[test]
fn the_thread_that_sends_a_greeting_is_counted() {
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
    // Its thread may reuse the number of an earlier session's, from the readiness check or a previous
    // attempt, which may take a while to end.
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
