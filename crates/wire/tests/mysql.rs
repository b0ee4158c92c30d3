//! The client against real servers of both families: an old release, which knows passwords only as
//! SHA-1, the first that remembers them otherwise, and one that keeps definitions of columns.

// The checks are parts of the tests, where a failed unwrap is a failed test.
#![allow(clippy::unwrap_used)]

mod mysql_checks;

use mysql_checks::{login, loss, statements};
use rqps_model::Dbms;
use rqps_servers::testing::{Scratch, by_socket};

#[test]
fn old_mysql() {
    check_all(Dbms::Mysql, "5.7.22");
}

#[test]
fn new_mysql() {
    check_all(Dbms::Mysql, "8.0.31");
}

#[test]
fn mariadb() {
    check_all(Dbms::Mariadb, "10.11.5");
}

/// All checks on one server, in an order in which the last one kills it.
fn check_all(dbms: Dbms, version: &str) {
    let server = Scratch::start_of(dbms, version, |spec| spec.tcp = true).unwrap();
    let endpoint = by_socket(&server);
    login::connection_knows_server_and_backend(&endpoint);
    login::failures_name_place_and_remedy(&endpoint);
    login::other_protocols_are_recognized(&endpoint);
    login::every_method_logs_in(&endpoint);
    statements::create_table(&endpoint);
    statements::prepared_statements_count_rows(&endpoint);
    statements::errors_leave_the_connection_usable(&endpoint);
    statements::queries_keep_rows(&endpoint);
    statements::sizes_have_no_limit_but_the_servers(&endpoint);
    loss::stopped_statement_is_an_error(&endpoint);
    loss::ended_connection_is_closed(&endpoint);
    loss::killed_server_is_a_closed_connection(&endpoint);
}
