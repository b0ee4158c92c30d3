//! Counters of MySQL and MariaDB that findings are made of. `SHOW GLOBAL STATUS` counts a little of its own, and
//! threads of the server flush pages and write to the log whatever clients do: floors are above that.

use super::{ALL, Entry, Rise, WORK_PER_OPERATION};
use crate::figures::Cell;
use crate::model::{Cause, Shows};

const STATUS: &str = "global_status";
const METRICS: &str = "innodb_metrics";
const FILES: &str = "file_io";
const BINARY_LOG: &str = "sql/binlog";

/// Versions count some of them in other places: what both arms have is compared.
pub(super) static ENTRIES: [Entry; 23] = [
    Entry {
        cause: Cause::Rows,
        what: "rows read by InnoDB",
        unit: "rows",
        phrase: "reads {} rows",
        floor: 0.05,
        value: rows_read,
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Rows,
        what: "lookups of a key in an index",
        unit: "lookups",
        phrase: "looks {} keys up in indexes",
        floor: 0.05,
        value: |cell| status(cell, "handler_read_key"),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::HeapBlocks,
        what: "pages asked for in the buffer pool",
        unit: "pages",
        phrase: "asks the buffer pool for {} pages",
        floor: 0.1,
        value: pages_touched,
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::HeapBlocks,
        what: "searches of a B-tree from its root",
        unit: "searches",
        phrase: "searches B-trees from their root {} times",
        floor: 0.05,
        // MariaDB does not count them while the adaptive hash index is off.
        value: |cell| metric(cell, "adaptive_hash_searches_btree").filter(|searches| *searches > 0.0),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::BufferMisses,
        what: "pages that were not in the buffer pool",
        unit: "pages",
        phrase: "reads {} pages into the buffer pool",
        floor: 0.05,
        value: misses,
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Reads,
        rise: Rise::Waiting,
        what: "bytes read from storage by the server",
        unit: "bytes",
        phrase: "reads {} bytes from storage",
        floor: 800.0,
        value: |cell| cell.metric("server_read_bytes"),
        shows: &Shows::StorageReads,
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Wal,
        what: "bytes of redo log",
        unit: "bytes",
        phrase: "writes {} bytes of redo log",
        floor: 16.0,
        value: |cell| cell.metric("server_wal_bytes"),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Wal,
        what: "writes to the redo log",
        unit: "writes",
        phrase: "writes to the redo log {} times",
        floor: 0.05,
        value: |cell| status(cell, "innodb_log_writes"),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Wal,
        rise: Rise::Waiting,
        what: "times that the log buffer was full",
        unit: "times",
        phrase: "finds the log buffer full {} times",
        floor: 0.001,
        value: |cell| status(cell, "innodb_log_waits"),
        shows: &Shows::LogBufferFull,
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::BinaryLog,
        what: "bytes of binary log",
        unit: "bytes",
        phrase: "writes {} bytes to the binary log",
        floor: 1.0,
        value: |cell| {
            let written = status(cell, "binlog_bytes_written");
            written.or_else(|| of_binary_log(cell, "bytes_write"))
        },
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Fsync,
        rise: Rise::Waiting,
        what: "fsyncs of redo log and data",
        unit: "fsyncs",
        phrase: "makes {} fsyncs",
        floor: 0.01,
        value: |cell| cell.metric("server_fsyncs"),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Fsync,
        rise: Rise::Waiting,
        what: "fsyncs of the redo log",
        unit: "fsyncs",
        phrase: "makes {} fsyncs of the redo log",
        floor: 0.01,
        value: |cell| status(cell, "innodb_os_log_fsyncs"),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Fsync,
        rise: Rise::Waiting,
        what: "syncs of the binary log, and other calls on it",
        unit: "calls",
        phrase: "syncs the binary log or asks for its state {} times",
        floor: 0.01,
        value: |cell| of_binary_log(cell, "count_misc"),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Checkpoint,
        what: "dirty pages flushed",
        unit: "pages",
        phrase: "flushes {} dirty pages",
        floor: 0.02,
        value: |cell| status(cell, "innodb_buffer_pool_pages_flushed"),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Checkpoint,
        what: "CPU time of the page cleaners",
        unit: "us",
        phrase: "spends {} us of CPU in page cleaners",
        floor: 0.2,
        value: |cell| of_roles(cell, &["page_cleaner"]),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Doublewrite,
        what: "pages written through the doublewrite buffer",
        unit: "pages",
        phrase: "writes {} pages through the doublewrite buffer",
        floor: 0.02,
        value: |cell| status(cell, "innodb_dblwr_pages_written"),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::BackendWrites,
        rise: Rise::Waiting,
        what: "times that no page of the buffer pool was free",
        unit: "times",
        phrase: "waits for a free page of the buffer pool {} times",
        floor: 0.001,
        value: |cell| status(cell, "innodb_buffer_pool_wait_free"),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Purge,
        what: "CPU time of the purge threads",
        unit: "us",
        phrase: "spends {} us of CPU in purge threads",
        floor: 0.2,
        value: |cell| of_roles(cell, &["purge", "purge_worker"]),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::TempFiles,
        what: "temporary tables on disk",
        unit: "tables",
        phrase: "makes {} temporary tables on disk",
        floor: 0.01,
        value: |cell| status(cell, "created_tmp_disk_tables"),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::TempFiles,
        what: "passes over sorted runs on disk",
        unit: "passes",
        phrase: "merges sorted runs on disk {} times",
        floor: 0.001,
        value: |cell| status(cell, "sort_merge_passes"),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Locks,
        rise: Rise::Waiting,
        what: "time in waits for row locks",
        unit: "us",
        phrase: "waits {} us for row locks",
        floor: 1.0,
        value: |cell| Some(status(cell, "innodb_row_lock_time")? * US_PER_MS),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Locks,
        rise: Rise::Waiting,
        what: "deadlocks",
        unit: "deadlocks",
        phrase: "runs into {} deadlocks",
        floor: 1e-5,
        value: |cell| metric(cell, "lock_deadlocks").or_else(|| status(cell, "innodb_deadlocks")),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Planning,
        what: "statements prepared, and prepared again",
        unit: "statements",
        phrase: "prepares {} statements",
        floor: 0.01,
        value: |cell| Some(status(cell, "com_stmt_prepare")? + status(cell, "com_stmt_reprepare")?),
        ..WORK_PER_OPERATION
    },
];

/// A figure of the binary log's file. A server that has written none does not list it among its files.
fn of_binary_log(cell: Cell<'_>, column: &str) -> Option<f64> {
    let all = cell.counter_sum(FILES, column, |_| true);
    cell.counter(FILES, BINARY_LOG, column).or(all.map(|_| 0.0))
}

/// Pages read into the buffer pool.
pub(super) fn misses(cell: Cell<'_>) -> Option<f64> {
    status(cell, "innodb_pages_read")
}

const US_PER_MS: f64 = 1000.0;

fn status(cell: Cell<'_>, name: &str) -> Option<f64> {
    cell.counter(STATUS, "", name)
}

fn metric(cell: Cell<'_>, name: &str) -> Option<f64> {
    cell.counter(METRICS, "", name)
}

/// MariaDB from 10.6 on counts rows of tables alone.
fn rows_read(cell: Cell<'_>) -> Option<f64> {
    status(cell, "innodb_rows_read").or_else(|| cell.counter("table_io", ALL, "rows_read"))
}

/// Pages asked for in the buffer pool. The status of some versions of MariaDB shows 0.
pub(crate) fn pages_touched(cell: Cell<'_>) -> Option<f64> {
    let of_metrics = metric(cell, "buffer_pool_read_requests");
    of_metrics.or_else(|| status(cell, "innodb_buffer_pool_read_requests"))
}

/// CPU time of background threads; 0 where roles are known and none of these was on a CPU.
fn of_roles(cell: Cell<'_>, roles: &[&str]) -> Option<f64> {
    cell.roles()?;
    let us = |role: &&str| cell.metric(&format!("server_role.{role}_us")).unwrap_or(0.0);
    Some(roles.iter().map(us).fold(0.0, |sum, us| sum + us))
}
