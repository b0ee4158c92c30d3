//! Counters of MySQL and MariaDB that findings are made of. `SHOW GLOBAL STATUS` counts a little of its own, and
//! threads of the server flush pages and write to the log whatever clients do: floors are above that.

use super::{ALL, Entry, Per, Rise};
use crate::figures::Cell;
use crate::model::Cause;

const STATUS: &str = "global_status";
const METRICS: &str = "innodb_metrics";
const FILES: &str = "file_io";
const BINARY_LOG: &str = "sql/binlog";

/// Versions count some of them in other places: what both arms have is compared.
pub(super) static ENTRIES: [Entry; 23] = [
    Entry {
        cause: Cause::Rows,
        rise: Rise::Work,
        what: "rows read by InnoDB",
        unit: "rows",
        phrase: "reads {} rows",
        per: Per::Operation,
        floor: 0.05,
        value: rows_read,
    },
    Entry {
        cause: Cause::Rows,
        rise: Rise::Work,
        what: "lookups of a key in an index",
        unit: "lookups",
        phrase: "looks {} keys up in indexes",
        per: Per::Operation,
        floor: 0.05,
        value: |cell| status(cell, "handler_read_key"),
    },
    Entry {
        cause: Cause::HeapBlocks,
        rise: Rise::Work,
        what: "pages asked for in the buffer pool",
        unit: "pages",
        phrase: "asks the buffer pool for {} pages",
        per: Per::Operation,
        floor: 0.1,
        value: pages_touched,
    },
    Entry {
        cause: Cause::HeapBlocks,
        rise: Rise::Work,
        what: "searches of a B-tree from its root",
        unit: "searches",
        phrase: "searches B-trees from their root {} times",
        per: Per::Operation,
        floor: 0.05,
        // MariaDB does not count them while the adaptive hash index is off.
        value: |cell| metric(cell, "adaptive_hash_searches_btree").filter(|searches| *searches > 0.0),
    },
    Entry {
        cause: Cause::BufferMisses,
        rise: Rise::Work,
        what: "pages that were not in the buffer pool",
        unit: "pages",
        phrase: "reads {} pages into the buffer pool",
        per: Per::Operation,
        floor: 0.05,
        value: misses,
    },
    Entry {
        cause: Cause::Reads,
        rise: Rise::Waiting,
        what: "bytes read from storage by the server",
        unit: "bytes",
        phrase: "reads {} bytes from storage",
        per: Per::Operation,
        floor: 800.0,
        value: |cell| cell.metric("server_read_bytes"),
    },
    Entry {
        cause: Cause::Wal,
        rise: Rise::Work,
        what: "bytes of redo log",
        unit: "bytes",
        phrase: "writes {} bytes of redo log",
        per: Per::Operation,
        floor: 16.0,
        value: |cell| cell.metric("server_wal_bytes"),
    },
    Entry {
        cause: Cause::Wal,
        rise: Rise::Work,
        what: "writes to the redo log",
        unit: "writes",
        phrase: "writes to the redo log {} times",
        per: Per::Operation,
        floor: 0.05,
        value: |cell| status(cell, "innodb_log_writes"),
    },
    Entry {
        cause: Cause::Wal,
        rise: Rise::Waiting,
        what: "times that the log buffer was full",
        unit: "times",
        phrase: "finds the log buffer full {} times",
        per: Per::Operation,
        floor: 0.001,
        value: |cell| status(cell, "innodb_log_waits"),
    },
    Entry {
        cause: Cause::BinaryLog,
        rise: Rise::Work,
        what: "bytes of binary log",
        unit: "bytes",
        phrase: "writes {} bytes to the binary log",
        per: Per::Operation,
        floor: 1.0,
        value: |cell| {
            let written = status(cell, "binlog_bytes_written");
            written.or_else(|| of_binary_log(cell, "bytes_write"))
        },
    },
    Entry {
        cause: Cause::Fsync,
        rise: Rise::Waiting,
        what: "fsyncs of redo log and data",
        unit: "fsyncs",
        phrase: "makes {} fsyncs",
        per: Per::Operation,
        floor: 0.01,
        value: |cell| cell.metric("server_fsyncs"),
    },
    Entry {
        cause: Cause::Fsync,
        rise: Rise::Waiting,
        what: "fsyncs of the redo log",
        unit: "fsyncs",
        phrase: "makes {} fsyncs of the redo log",
        per: Per::Operation,
        floor: 0.01,
        value: |cell| status(cell, "innodb_os_log_fsyncs"),
    },
    Entry {
        cause: Cause::Fsync,
        rise: Rise::Waiting,
        what: "syncs of the binary log, and other calls on it",
        unit: "calls",
        phrase: "syncs the binary log or asks for its state {} times",
        per: Per::Operation,
        floor: 0.01,
        value: |cell| of_binary_log(cell, "count_misc"),
    },
    Entry {
        cause: Cause::Checkpoint,
        rise: Rise::Work,
        what: "dirty pages flushed",
        unit: "pages",
        phrase: "flushes {} dirty pages",
        per: Per::Operation,
        floor: 0.02,
        value: |cell| status(cell, "innodb_buffer_pool_pages_flushed"),
    },
    Entry {
        cause: Cause::Checkpoint,
        rise: Rise::Work,
        what: "CPU time of the page cleaners",
        unit: "us",
        phrase: "spends {} us of CPU in page cleaners",
        per: Per::Operation,
        floor: 0.2,
        value: |cell| of_roles(cell, &["page_cleaner"]),
    },
    Entry {
        cause: Cause::Doublewrite,
        rise: Rise::Work,
        what: "pages written through the doublewrite buffer",
        unit: "pages",
        phrase: "writes {} pages through the doublewrite buffer",
        per: Per::Operation,
        floor: 0.02,
        value: |cell| status(cell, "innodb_dblwr_pages_written"),
    },
    Entry {
        cause: Cause::BackendWrites,
        rise: Rise::Waiting,
        what: "times that no page of the buffer pool was free",
        unit: "times",
        phrase: "waits for a free page of the buffer pool {} times",
        per: Per::Operation,
        floor: 0.001,
        value: |cell| status(cell, "innodb_buffer_pool_wait_free"),
    },
    Entry {
        cause: Cause::Purge,
        rise: Rise::Work,
        what: "CPU time of the purge threads",
        unit: "us",
        phrase: "spends {} us of CPU in purge threads",
        per: Per::Operation,
        floor: 0.2,
        value: |cell| of_roles(cell, &["purge", "purge_worker"]),
    },
    Entry {
        cause: Cause::TempFiles,
        rise: Rise::Work,
        what: "temporary tables on disk",
        unit: "tables",
        phrase: "makes {} temporary tables on disk",
        per: Per::Operation,
        floor: 0.01,
        value: |cell| status(cell, "created_tmp_disk_tables"),
    },
    Entry {
        cause: Cause::TempFiles,
        rise: Rise::Work,
        what: "passes over sorted runs on disk",
        unit: "passes",
        phrase: "merges sorted runs on disk {} times",
        per: Per::Operation,
        floor: 0.001,
        value: |cell| status(cell, "sort_merge_passes"),
    },
    Entry {
        cause: Cause::Locks,
        rise: Rise::Waiting,
        what: "time in waits for row locks",
        unit: "us",
        phrase: "waits {} us for row locks",
        per: Per::Operation,
        floor: 1.0,
        value: |cell| Some(status(cell, "innodb_row_lock_time")? * US_PER_MS),
    },
    Entry {
        cause: Cause::Locks,
        rise: Rise::Waiting,
        what: "deadlocks",
        unit: "deadlocks",
        phrase: "runs into {} deadlocks",
        per: Per::Operation,
        floor: 1e-5,
        value: |cell| metric(cell, "lock_deadlocks").or_else(|| status(cell, "innodb_deadlocks")),
    },
    Entry {
        cause: Cause::Planning,
        rise: Rise::Work,
        what: "statements prepared, and prepared again",
        unit: "statements",
        phrase: "prepares {} statements",
        per: Per::Operation,
        floor: 0.01,
        value: |cell| Some(status(cell, "com_stmt_prepare")? + status(cell, "com_stmt_reprepare")?),
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
