//! Threads of a server under callgrind, each with a count of its own between two moments.

use std::io::Read;
use std::os::unix::net::UnixStream;

use rqps_plan::Dbms;
use rqps_servers::testing::Scratch;
use rqps_servers::{Instrument, Server, ThreadCounter, instrument};

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

    counter.begin().unwrap();
    let quiet = counter.take().unwrap();
    let mut session = UnixStream::connect(server.endpoint().socket_dir.join("mysqld.sock")).unwrap();
    session.read_exact(&mut [0; 70]).unwrap();
    let greeted = counter.take().unwrap();
    // Its thread may have the number of one that looked whether the server is ready.
    let before = |thread| quiet.get(thread).copied().unwrap_or(0);
    let greeter = greeted.iter().find(|(thread, count)| **count > 10_000 && before(*thread) < 1_000);
    assert!(greeter.is_some(), "no thread has greeted: {quiet:?}, {greeted:?}");
    drop(session);
    server.stop().unwrap();
}
