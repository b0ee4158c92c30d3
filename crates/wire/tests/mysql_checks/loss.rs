//! Statements that are stopped, connections that are ended, and a server that goes away.

use std::fs;
use std::thread::{self, sleep};
use std::time::Duration;

use rqps_wire::{Endpoint, Session};
use rustix::process::{Pid, Signal, kill_process};

use super::{connect, run, value};

/// Takes hours.
const ENDLESS: &str = "SELECT sum(a.k + b.k + c.k + d.k) FROM t a, t b, t c, t d";

/// A statement stopped from another connection is an error, and the connection goes on.
pub fn stopped_statement_is_an_error(endpoint: &Endpoint) {
    let mut connection = connect(endpoint);
    let stopping = soon(endpoint, format!("KILL QUERY {}", connection.backend_id()));
    let error = connection.simple(ENDLESS).unwrap_err();
    stopping.join().unwrap();
    assert!(error.code() == Some(1317) && !error.is_retryable() && !error.is_closed(), "{error}");
    assert_eq!(value(&mut connection, "SELECT 1"), "1");
}

/// A connection ended from another one is lost at the latest with the next statement.
pub fn ended_connection_is_closed(endpoint: &Endpoint) {
    let mut connection = connect(endpoint);
    let ending = soon(endpoint, format!("KILL {}", connection.backend_id()));
    let error = connection.simple(ENDLESS).unwrap_err();
    ending.join().unwrap();
    assert!(error.is_closed() || error.code() == Some(1317), "{error}");
    assert!(connection.simple("SELECT 1").unwrap_err().is_closed());

    let mut idle = connect(endpoint);
    soon(endpoint, format!("KILL {}", idle.backend_id())).join().unwrap();
    sleep(Duration::from_millis(200));
    assert!(idle.simple("SELECT 1").unwrap_err().is_closed());
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

fn soon(endpoint: &Endpoint, sql: String) -> thread::JoinHandle<()> {
    let endpoint = endpoint.clone();
    thread::spawn(move || {
        sleep(Duration::from_millis(200));
        run(&mut connect(&endpoint), &sql);
    })
}
