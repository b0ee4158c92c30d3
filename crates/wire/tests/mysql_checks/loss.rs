//! Cancelled statements, killed connections, and a killed server.

use std::fs;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use rqps_wire::{Endpoint, Error, Session};
use rustix::process::{Pid, Signal, kill_process};

use super::{connect, value};

/// Takes hours.
const ENDLESS: &str = "SELECT sum(a.k + b.k + c.k + d.k) FROM t a, t b, t c, t d";

const TIMEOUT: Duration = Duration::from_secs(120);

/// A statement cancelled from another connection is an error, and its connection stays usable.
pub fn cancelled_statement_is_an_error(endpoint: &Endpoint) {
    let mut connection = connect(endpoint);
    let sql = format!("KILL QUERY {}", connection.backend_id());
    let error = run_until_killed(endpoint, &sql, || connection.simple(ENDLESS).unwrap_err());
    assert!(error.code() == Some(1317) && !error.is_retryable() && !error.is_closed(), "{error}");
    assert_eq!(value(&mut connection, "SELECT 1"), "1");
}

/// A connection killed from another one is lost at the latest with the next statement.
pub fn killed_connection_is_closed(endpoint: &Endpoint) {
    let mut connection = connect(endpoint);
    let sql = format!("KILL {}", connection.backend_id());
    let error = run_until_killed(endpoint, &sql, || connection.simple(ENDLESS).unwrap_err());
    assert!(error.is_closed() || error.code() == Some(1317), "{error}");
    assert!(connection.simple("SELECT 1").unwrap_err().is_closed());

    let mut idle = connect(endpoint);
    let mut admin = connect(endpoint);
    let kill = format!("KILL {}", idle.backend_id());
    let left =
        format!("SELECT count(*) FROM information_schema.processlist WHERE id = {}", idle.backend_id());
    let deadline = Instant::now() + TIMEOUT;
    // Old servers lose a KILL that arrives while the connection begins to wait for its first statement.
    while value(&mut admin, &left) != "0" {
        assert!(Instant::now() < deadline, "the connection still exists");
        let _already_closed = admin.simple(&kill);
        sleep(Duration::from_millis(10));
    }
    assert!(idle.simple("SELECT 1").unwrap_err().is_closed());
}

/// Runs `work`, and `sql`, which kills it, from another connection. Repeats `sql`, because it has no effect
/// on a statement that has not begun yet.
fn run_until_killed(endpoint: &Endpoint, sql: &str, work: impl FnOnce() -> Error) -> Error {
    let (ended, waiting) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut admin = connect(endpoint);
            while waiting.recv_timeout(Duration::from_millis(200)) == Err(RecvTimeoutError::Timeout) {
                // The connection may be closed by now.
                let _already_closed = admin.simple(sql);
            }
        });
        let error = work();
        drop(ended);
        error
    })
}

/// SIGKILL of the server: no last message.
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
