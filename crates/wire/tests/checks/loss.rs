//! Connections lost during and between statements.

use std::path::Path;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use rqps_wire::postgres::Connection;
use rqps_wire::{Endpoint, Error, Session};
use rustix::process::{Pid, Signal, kill_process};

use super::{connect, run};

const TIMEOUT: Duration = Duration::from_secs(120);

/// After pg_terminate_backend, the server's last message is reported: at once during a statement, otherwise
/// by the next one.
pub fn terminated_backend_sends_a_last_message(endpoint: &Endpoint) {
    let mut connection = connect(endpoint);
    let terminating = terminate_later(endpoint, connection.backend_id());
    let error = connection.simple("SELECT pg_sleep(60)").unwrap_err();
    terminating.join().unwrap();
    expect_last_words(&error);
    assert!(connection.simple("SELECT 1").unwrap_err().is_closed());

    let mut connection = connect(endpoint);
    terminate_later(endpoint, connection.backend_id()).join().unwrap();
    let deadline = Instant::now() + TIMEOUT;
    while Path::new(&format!("/proc/{}", connection.backend_id())).exists() {
        assert!(Instant::now() < deadline, "the backend still runs");
        sleep(Duration::from_millis(10));
    }
    expect_last_words(&connection.simple("SELECT 1").unwrap_err());
}

fn terminate_later(endpoint: &Endpoint, backend: u32) -> thread::JoinHandle<()> {
    let endpoint = endpoint.clone();
    thread::spawn(move || {
        sleep(Duration::from_millis(200));
        run(&mut connect(&endpoint), &format!("SELECT pg_terminate_backend({backend})"));
    })
}

fn expect_last_words(error: &Error) {
    let Error::Closed { last_words: Some(words), statement, .. } = error else { panic!("{error:?}") };
    assert!(words.contains("administrator command"), "{words}");
    assert!(statement.starts_with("SELECT"), "{statement}");
}

/// SIGKILL of a backend: no last message, and all other backends end too. Returns after the server has
/// restarted.
pub fn killed_backend_is_a_closed_connection(endpoint: &Endpoint) {
    let mut killed = connect(endpoint);
    let mut bystander = connect(endpoint);
    let backend = Pid::from_raw(killed.backend_id().cast_signed()).unwrap();
    let killing = thread::spawn(move || {
        sleep(Duration::from_millis(200));
        kill_process(backend, Signal::KILL).unwrap();
    });
    let error = killed.simple("SELECT pg_sleep(60)").unwrap_err();
    killing.join().unwrap();
    assert!(error.is_closed() && !error.is_retryable(), "{error:?}");

    let bystander_error = bystander.simple("SELECT pg_sleep(60)").unwrap_err();
    assert!(bystander_error.is_closed(), "{bystander_error:?}");

    let deadline = Instant::now() + TIMEOUT;
    while let Err(error) = Connection::connect(endpoint, "wire test") {
        assert!(matches!(error, Error::Auth { .. } | Error::Connect { .. }), "{error}");
        assert!(Instant::now() < deadline, "{error}");
        sleep(Duration::from_millis(50));
    }
}
