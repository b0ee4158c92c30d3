//! State of queue tables: sizes, and the backlog of the purge.

use rqps_wire::mysql::Connection;

use super::fingerprint::disable_statistics_cache;
use super::query;
use crate::cells::number;
use crate::error::{Error, Result};
use crate::queue::Sizes;

/// Sizes of all tables of the database, from the server's statistics.
///
/// # Errors
/// If a query fails or its result is unexpected.
pub fn sizes(connection: &mut Connection) -> Result<Sizes> {
    disable_statistics_cache(connection)?;
    let sql = "SELECT coalesce(sum(data_length), 0), coalesce(sum(index_length), 0) \
               FROM information_schema.tables WHERE table_schema = DATABASE() AND engine = 'InnoDB'";
    let table = query(connection, "sizes", sql)?;
    let figure = |at: usize| {
        let unknown = || Error::Answer { what: "sizes".to_owned(), found: "NULL".to_owned() };
        table.rows.first().and_then(|row| number(row, at)).ok_or_else(unknown)
    };
    Ok(Sizes { table_bytes: figure(0)?, index_bytes: figure(1)? })
}

/// Transactions whose old row versions wait for the purge, or are purged but still in the list. Cheap enough to be read
/// every second.
///
/// # Errors
/// If the query fails or its result is unexpected.
pub fn history_list_length(connection: &mut Connection) -> Result<u64> {
    let what = "length of the history list";
    let sql = "SELECT `count` FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'";
    let table = query(connection, what, sql)?;
    let found = table.value().unwrap_or("NULL").to_owned();
    found.parse().map_err(|_| Error::Answer { what: what.to_owned(), found })
}
