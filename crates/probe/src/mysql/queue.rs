//! The state of a table that is a queue: sizes, and how far the purge is behind.

use rqps_wire::mysql::Connection;

use super::ask;
use super::fingerprint::keep_nothing;
use crate::cells::number;
use crate::error::{Error, Result};
use crate::queue::Sizes;

/// Sizes of all tables of the database, by the server's statistics.
///
/// # Errors
/// When the server does not answer, or not as expected.
pub fn sizes(connection: &mut Connection) -> Result<Sizes> {
    keep_nothing(connection)?;
    let sql = "SELECT coalesce(sum(data_length), 0), coalesce(sum(index_length), 0) \
               FROM information_schema.tables WHERE table_schema = DATABASE() AND engine = 'InnoDB'";
    let table = ask(connection, "sizes", sql)?;
    let figure = |at: usize| {
        let unknown = || Error::Answer { what: "sizes".to_owned(), found: "NULL".to_owned() };
        table.rows.first().and_then(|row| number(row, at)).ok_or_else(unknown)
    };
    Ok(Sizes { table_bytes: figure(0)?, index_bytes: figure(1)? })
}

/// Transactions whose old row versions wait for the purge, or are purged and not yet taken off the list; costs little
/// enough to be asked for each second.
///
/// # Errors
/// When the server does not answer, or not as expected.
pub fn history_list_length(connection: &mut Connection) -> Result<u64> {
    let what = "length of the history list";
    let sql = "SELECT `count` FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'";
    let table = ask(connection, what, sql)?;
    let found = table.value().unwrap_or("NULL").to_owned();
    found.parse().map_err(|_| Error::Answer { what: what.to_owned(), found })
}
