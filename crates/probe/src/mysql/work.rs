//! Sums up counters to figures common to all DBMSs.

use super::counters::{GLOBAL_STATUS, INNODB_METRICS, INNODB_STATUS, TABLE_IO};
use super::innodb_status::LSN;
use crate::counters::ALL;
use crate::work::{Work, sum};
use rqps_model::Counter;

/// Rows read or changed by InnoDB, without those of system tables if counted separately (8.0).
const INNODB_ROWS: [&str; 4] =
    ["innodb_rows_read", "innodb_rows_inserted", "innodb_rows_updated", "innodb_rows_deleted"];
/// Rows of the database's tables at the SQL layer, for MariaDB, which no longer has InnoDB's.
const TABLE_ROWS: [&str; 4] = ["rows_read", "rows_inserted", "rows_updated", "rows_deleted"];
/// Rows of all tables except temporary ones, if performance_schema is off.
const HANDLER_ROWS: [&str; 4] = ["rows_read", "handler_write", "handler_update", "handler_delete"];

/// Sums up the differences of two snapshots.
///
/// - Log: the distance that the redo log's end has moved, headers included. `innodb_os_log_written` counts a block
///   again each time it is written before it is full, which depends on the timing of commits.
/// - Rows: those that InnoDB read, inserted, updated and deleted; in MariaDB 10.6 and later, which does not report
///   them, those that the SQL layer requested from the database's tables, or without performance_schema from any
///   table.
/// - Blocks: pages requested from the buffer pool, from the metric if enabled: MariaDB 10.11.5 shows 0 in its status.
/// - Flushes: of redo log and data, without the binary log.
/// - Writes of data: of redo log and data files.
pub fn work(deltas: &[Counter]) -> Work {
    let total = |view: &'static str, columns: &'static [&'static str]| {
        sum(deltas, move |delta| delta.view == view && columns.contains(&delta.column.as_str()))
    };
    Work {
        wal_bytes: total(INNODB_STATUS, &[LSN]),
        rows_touched: total(GLOBAL_STATUS, &INNODB_ROWS)
            .or_else(|| {
                sum(deltas, |delta| {
                    delta.view == TABLE_IO
                        && delta.object == ALL
                        && TABLE_ROWS.contains(&delta.column.as_str())
                })
            })
            .or_else(|| total(GLOBAL_STATUS, &HANDLER_ROWS)),
        blocks_touched: total(INNODB_METRICS, &["buffer_pool_read_requests"])
            .or_else(|| total(GLOBAL_STATUS, &["innodb_buffer_pool_read_requests"])),
        fsyncs: total(GLOBAL_STATUS, &["innodb_data_fsyncs"]),
        data_writes: total(GLOBAL_STATUS, &["innodb_data_writes"]),
    }
}
