//! The client against real servers: an old MySQL, which has only SHA-1 passwords, a new one with other
//! passwords, and a MariaDB, which omits column definitions that the client has cached.

// A failed unwrap in a check fails the test.
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

/// Runs all checks on one server; the last one kills it.
fn check_all(dbms: Dbms, version: &str) {
    let server = Scratch::start_of(dbms, version, |spec| spec.tcp = true).unwrap();
    let endpoint = by_socket(&server);
    login::version_and_backend_id_are_the_servers(&endpoint);
    login::failures_name_place_and_remedy(&endpoint);
    login::other_protocols_are_recognized(&endpoint);
    login::every_method_logs_in(&endpoint);
    statements::create_table(&endpoint);
    statements::prepared_statements_count_rows(&endpoint);
    statements::errors_leave_the_connection_usable(&endpoint);
    statements::queries_keep_rows(&endpoint);
    statements::sizes_are_limited_only_by_the_server(&endpoint);
    loss::cancelled_statement_is_an_error(&endpoint);
    loss::killed_connection_is_closed(&endpoint);
    loss::killed_server_is_a_closed_connection(&endpoint);
}
