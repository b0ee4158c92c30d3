//! What a Postgres server tells about itself, 9.6 to 18: counters, state, plans, debt. Everything here only reads,
//! except that [`settle`] creates the extension `pg_buffercache` where it can.

pub mod about;
pub mod counters;
pub mod explain;
pub mod fingerprint;
pub mod flush;
pub mod queue;
pub(crate) mod roles;
pub mod settle;
pub mod waits;
pub mod work;

use std::str::FromStr;

use rqps_wire::Table;
use rqps_wire::postgres::Connection;

use crate::error::{Error, Result};

/// Runs `sql`; `what` names the purpose in an error.
fn ask(connection: &mut Connection, what: &str, sql: &str) -> Result<Table> {
    connection.query(sql).map_err(Error::database(what))
}

/// Runs `sql` and understands the first value of its first row.
fn ask_number<T: FromStr>(connection: &mut Connection, what: &str, sql: &str) -> Result<T> {
    let table = ask(connection, what, sql)?;
    understand(what, table.value())
}

/// A value of the type wanted, from text.
fn understand<T: FromStr>(what: &str, value: Option<&str>) -> Result<T> {
    let found = value.unwrap_or("NULL");
    found.parse().map_err(|_| Error::Answer { what: what.to_string(), found: found.to_string() })
}
