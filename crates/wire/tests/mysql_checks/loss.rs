//! Statements that are stopped, connections that are ended, and a server that goes away.

use std::fs;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use rqps_wire::{Endpoint, Error, Session};
use rustix::process::{Pid, Signal, kill_process};

use super::{connect, value};

/// Takes hours.
const ENDLESS: &str = "SELECT sum(a.k + b.k + c.k + d.k) FROM t a, t b, t c, t d";

/// Longest wait for what has to come.
const PATIENCE: Duration = Duration::from_secs(120);

/// A statement stopped from another connection is an error, and the connection goes on.
pub fn stopped_statement_is_an_error(endpoint: &Endpoint) {
    let mut connection = connect(endpoint);
    let sql = format!("KILL QUERY {}", connection.backend_id());
    let error = ended_by(endpoint, &sql, || connection.simple(ENDLESS).unwrap_err());
    assert!(error.code() == Some(1317) && !error.is_retryable() && !error.is_closed(), "{error}");
    assert_eq!(value(&mut connection, "SELECT 1"), "1");
}

/// A connection ended from another one is lost at the latest with the next statement.
pub fn ended_connection_is_closed(endpoint: &Endpoint) {
    let mut connection = connect(endpoint);
    let sql = format!("KILL {}", connection.backend_id());
    let error = ended_by(endpoint, &sql, || connection.simple(ENDLESS).unwrap_err());
    assert!(error.is_closed() || error.code() == Some(1317), "{error}");
    assert!(connection.simple("SELECT 1").unwrap_err().is_closed());

    let mut idle = connect(endpoint);
    let mut admin = connect(endpoint);
    let kill = format!("KILL {}", idle.backend_id());
    let left =
        format!("SELECT count(*) FROM information_schema.processlist WHERE id = {}", idle.backend_id());
    let deadline = Instant::now() + PATIENCE;
    // Old servers lose one that comes while the connection begins to wait for its first statement.
    while value(&mut admin, &left) != "0" {
        assert!(Instant::now() < deadline, "still there");
        let _gone_meanwhile = admin.simple(&kill);
        sleep(Duration::from_millis(10));
    }
    assert!(idle.simple("SELECT 1").unwrap_err().is_closed());
}

/// Does what has to be ended from another connection. It is asked again until it has ended: a statement that has not
/// begun yet misses it.
fn ended_by(endpoint: &Endpoint, sql: &str, work: impl FnOnce() -> Error) -> Error {
    let (ended, waiting) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut admin = connect(endpoint);
            while waiting.recv_timeout(Duration::from_millis(200)) == Err(RecvTimeoutError::Timeout) {
                // The connection may be gone when it is asked again.
                let _asked = admin.simple(sql);
            }
        });
        let error = work();
        drop(ended);
        error
    })
}

/// Killed without a word. Leaves no server.
pub fn killed_server_is_a_closed_connection(endpoint: &Endpoint) {
    let mut connection = connect(endpoint);
    let pid_file =
        value(&mut connection, "SELECT if(@@pid_file LIKE '/%', @@pid_file, concat(@@datadir, @@pid_file))");
    let pid = fs::read_to_string(pid_file).unwrap().trim().parse().unwrap();
    let killing = thread::spawn(move || {
        sleep(Duration::from_millis(200));
        kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    });
    let error = connection.simple(ENDLESS).unwrap_err();
    killing.join().unwrap();
    assert!(error.is_closed() && !error.is_retryable(), "{error:?}");
    assert!(error.to_string().contains("see the server's log"), "{error}");
}
