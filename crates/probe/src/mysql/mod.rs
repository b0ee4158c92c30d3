//! What a MySQL or MariaDB server tells about itself, MySQL 5.6 to 9.7 and MariaDB 10.2 to 11.8: counters, state,
//! plans, debt, threads. Everything here only reads.
//!
//! There is no procedure by which sessions hand their statistics in, as Postgres needs one: `SHOW GLOBAL STATUS` sums
//! up what ended sessions have left and what live ones have counted so far, InnoDB's counters belong to no session, and
//! performance_schema sums up the open handles too. A session that waits for its client's next statement has counted
//! all it did.

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
fn ask(connection: &mut Connection, what: &str, sql: &str) -> Result<Table> {
    connection.query(sql).map_err(Error::database(what))
}

fn watches_itself(connection: &mut Connection) -> Result<bool> {
    let table = ask(connection, "performance_schema", "SELECT @@global.performance_schema")?;
    Ok(table.value() == Some("1"))
}
