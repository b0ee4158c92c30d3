//! What the counters of a stretch of work come to.

use super::counters::{GLOBAL_STATUS, INNODB_METRICS, INNODB_STATUS};
use super::innodb_status::LSN;
use crate::counters::CounterDelta;
use crate::work::{Work, sum};

/// Rows read or changed by InnoDB, but for those of the server's own tables where it keeps them apart (8.0).
const INNODB_ROWS: [&str; 4] =
    ["innodb_rows_read", "innodb_rows_inserted", "innodb_rows_updated", "innodb_rows_deleted"];
/// The same one floor higher, for MariaDB, which has given up the former. Temporary tables are not in it.
const HANDLER_ROWS: [&str; 4] = ["rows_read", "handler_write", "handler_update", "handler_delete"];

/// Sums up the differences of two snapshots.
///
/// - Log: how far the redo log's end has moved, headers included. `innodb_os_log_written` also counts a block again
///   each time that it is written before it is full, which depends on who commits when.
/// - Rows: those that InnoDB read, inserted, updated and deleted; in MariaDB from 10.6 on those that the server asked
///   its tables for.
/// - Blocks: pages asked for in the buffer pool, by the metric where it is on: MariaDB 10.11.5 shows 0 in its status.
/// - Flushes: of redo log and data. The binary log's are not in it.
/// - Writes of data: of redo log and data files.
pub fn work(deltas: &[CounterDelta]) -> Work {
    let of = |view: &'static str, columns: &'static [&'static str]| {
        sum(deltas, move |delta| delta.view == view && columns.contains(&delta.column.as_str()))
    };
    Work {
        wal_bytes: of(INNODB_STATUS, &[LSN]),
        rows_touched: of(GLOBAL_STATUS, &INNODB_ROWS).or_else(|| of(GLOBAL_STATUS, &HANDLER_ROWS)),
        blocks_touched: of(INNODB_METRICS, &["buffer_pool_read_requests"])
            .or_else(|| of(GLOBAL_STATUS, &["innodb_buffer_pool_read_requests"])),
        fsyncs: of(GLOBAL_STATUS, &["innodb_data_fsyncs"]),
        data_writes: of(GLOBAL_STATUS, &["innodb_data_writes"]),
    }
}
