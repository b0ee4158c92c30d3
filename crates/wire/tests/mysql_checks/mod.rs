//! What the client must do with any server of MySQL or MariaDB, as checks on one running server.

pub mod login;
pub mod loss;
pub mod statements;

use rqps_wire::mysql::Connection;
use rqps_wire::{Endpoint, Session};

/// Connects as the given endpoint says.
pub fn connect(endpoint: &Endpoint) -> Connection {
    Connection::connect(endpoint, "wire test").unwrap()
}

/// The single value that `sql` returns.
pub fn value(connection: &mut Connection, sql: &str) -> String {
    connection.query(sql).unwrap().value().unwrap().to_owned()
}

/// Runs statements whose outcome doesn't matter.
pub fn run(connection: &mut Connection, sql: &str) {
    connection.simple(sql).unwrap();
}
