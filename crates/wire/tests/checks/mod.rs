//! Checks on a running server of any version.

pub mod login;
pub mod loss;
pub mod statements;

use rqps_wire::postgres::Connection;
use rqps_wire::{Endpoint, Session};

pub fn connect(endpoint: &Endpoint) -> Connection {
    Connection::connect(endpoint, "wire test").unwrap()
}

/// The single value that `sql` returns.
pub fn value(connection: &mut Connection, sql: &str) -> String {
    connection.query(sql).unwrap().value().unwrap().to_owned()
}

pub fn run(connection: &mut Connection, sql: &str) {
    connection.simple(sql).unwrap();
}
