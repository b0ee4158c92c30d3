//! The client against real servers: the oldest supported release, which has only MD5 passwords, and a new
//! one.

// A failed unwrap in a check fails the test.
#![allow(clippy::unwrap_used)]

mod checks;

use checks::{login, loss, statements};
use rqps_servers::testing::{Scratch, by_socket};

#[test]
fn oldest_release() {
    check_all("9.6");
}

#[test]
fn new_release() {
    check_all("18");
}

/// Runs all checks on one server; the last one may crash it.
fn check_all(version: &str) {
    let server = Scratch::start_with(version, |spec| spec.tcp = true).unwrap();
    let endpoint = by_socket(&server);
    login::version_and_backend_id_are_the_servers(&endpoint);
    login::failures_name_place_and_remedy(&endpoint);
    login::tcp_works(&endpoint);
    login::every_method_logs_in(&endpoint, &server.spec().data_dir);
    statements::create_table(&endpoint);
    statements::prepared_statements_count_rows(&endpoint);
    statements::errors_leave_the_connection_usable(&endpoint);
    statements::large_results_are_counted(&endpoint);
    statements::copy_loads_all_or_nothing(&endpoint);
    loss::terminated_backend_sends_a_last_message(&endpoint);
    loss::killed_backend_is_a_closed_connection(&endpoint);
}
