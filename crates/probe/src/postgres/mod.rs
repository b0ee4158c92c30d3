//! Reads counters, state, query plans and debt of Postgres 9.3 to 18. Nothing here writes, except that [`settle`]
//! creates the extension `pg_buffercache` if it can.

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

/// First `server_version_num` that shows its control file, wait events and how it was built in SQL.
const CONTROL_SINCE: u32 = 90_600;

/// Runs `sql`; `what` names the purpose in an error.
fn query(connection: &mut Connection, what: &str, sql: &str) -> Result<Table> {
    connection.query(sql).map_err(Error::database(what))
}

/// Runs `sql` and parses the first value of its first row.
fn query_value<T: FromStr>(connection: &mut Connection, what: &str, sql: &str) -> Result<T> {
    let table = query(connection, what, sql)?;
    parse_value(what, table.value())
}

fn parse_value<T: FromStr>(what: &str, value: Option<&str>) -> Result<T> {
    let found = value.unwrap_or("NULL");
    found.parse().map_err(|_| Error::Answer { what: what.to_string(), found: found.to_string() })
}
