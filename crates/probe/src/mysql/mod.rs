//! Reads counters, state, query plans, debt and threads of MySQL 5.6 to 9.7 and MariaDB 10.2 to 11.8. Nothing here
//! writes.
//!
//! Unlike Postgres, no procedure is needed to flush sessions' statistics: `SHOW GLOBAL STATUS` sums ended and live
//! sessions, InnoDB's counters belong to no session, and performance_schema includes open handles. An idle session has
//! counted all its work.

pub mod about;
pub mod counters;
pub mod explain;
pub mod fingerprint;
pub mod innodb_status;
pub mod queue;
pub(crate) mod roles;
pub mod settle;
pub mod threads;
pub mod waits;
pub mod work;

use rqps_wire::Table;
use rqps_wire::mysql::Connection;

use crate::error::{Error, Result};

/// Runs `sql`; `what` names the purpose in an error.
fn query(connection: &mut Connection, what: &str, sql: &str) -> Result<Table> {
    connection.query(sql).map_err(Error::database(what))
}

fn has_performance_schema(connection: &mut Connection) -> Result<bool> {
    let table = query(connection, "performance_schema", "SELECT @@global.performance_schema")?;
    Ok(table.value() == Some("1"))
}
