//! What the counters of a stretch of work come to.

use super::counters::{GLOBAL_STATUS, INNODB_METRICS, INNODB_STATUS, TABLE_IO};
use super::innodb_status::LSN;
use crate::counters::ALL;
use crate::work::{Work, sum};
use rqps_model::Counter;

/// Rows read or changed by InnoDB, but for those of the server's own tables where it keeps them apart (8.0).
const INNODB_ROWS: [&str; 4] =
    ["innodb_rows_read", "innodb_rows_inserted", "innodb_rows_updated", "innodb_rows_deleted"];
/// The same one floor higher, for MariaDB, which has given up the former: those of the database's tables.
const TABLE_ROWS: [&str; 4] = ["rows_read", "rows_inserted", "rows_updated", "rows_deleted"];
/// The same of all tables but temporary ones, for where performance_schema, whose rows would count, is off.
const HANDLER_ROWS: [&str; 4] = ["rows_read", "handler_write", "handler_update", "handler_delete"];

/// Sums up the differences of two snapshots.
///
/// - Log: how far the redo log's end has moved, headers included. `innodb_os_log_written` also counts a block again
///   each time that it is written before it is full, which depends on who commits when.
/// - Rows: those that InnoDB read, inserted, updated and deleted; in MariaDB from 10.6 on, which does not tell, those
///   that the server asked the tables of the database for, or without performance_schema any tables.
/// - Blocks: pages asked for in the buffer pool, by the metric where it is on: MariaDB 10.11.5 shows 0 in its status.
/// - Flushes: of redo log and data. The binary log's are not in it.
/// - Writes of data: of redo log and data files.
pub fn work(deltas: &[Counter]) -> Work {
    let of = |view: &'static str, columns: &'static [&'static str]| {
        sum(deltas, move |delta| delta.view == view && columns.contains(&delta.column.as_str()))
    };
    Work {
        wal_bytes: of(INNODB_STATUS, &[LSN]),
        rows_touched: of(GLOBAL_STATUS, &INNODB_ROWS)
            .or_else(|| {
                sum(deltas, |delta| {
                    delta.view == TABLE_IO
                        && delta.object == ALL
                        && TABLE_ROWS.contains(&delta.column.as_str())
                })
            })
            .or_else(|| of(GLOBAL_STATUS, &HANDLER_ROWS)),
        blocks_touched: of(INNODB_METRICS, &["buffer_pool_read_requests"])
            .or_else(|| of(GLOBAL_STATUS, &["innodb_buffer_pool_read_requests"])),
        fsyncs: of(GLOBAL_STATUS, &["innodb_data_fsyncs"]),
        data_writes: of(GLOBAL_STATUS, &["innodb_data_writes"]),
    }
}
