//! Counters of MySQL and MariaDB that findings use. `SHOW GLOBAL STATUS` itself increments some, and server
//! threads flush pages and write log without any client: floors are above that.

use crate::entry::{Entry, waiting, work};
use crate::figures::{ALL, Cell};
use crate::model::{Cause, Shows};
use rqps_stats::Metric;

const STATUS: &str = "global_status";
const METRICS: &str = "innodb_metrics";
const FILES: &str = "file_io";
const BINARY_LOG: &str = "sql/binlog";

/// Name of a figure.
pub(crate) const LOG_FSYNCS: &str = "fsyncs of the redo log";

pub(crate) const PAGES_TOUCHED: Entry = work(Cause::BlocksTouched, "buffer pool page requests", "pages", 0.1)
    .phrase("requests {} buffer pool pages")
    .judged(Metric::Blocks, pages_touched);
pub(crate) const PAGES_FLUSHED: Entry = work(Cause::Checkpoint, "dirty pages flushed", "pages", 0.02)
    .phrase("flushes {} dirty pages")
    .value(|cell| status(cell, "innodb_buffer_pool_pages_flushed"));

/// Versions keep some counters in different places; only those that both arms have are compared.
pub(super) static ENTRIES: [Entry; 23] = [
    work(Cause::Rows, "rows read by InnoDB", "rows", 0.05).phrase("reads {} rows").value(rows_read),
    work(Cause::Rows, "index key lookups", "lookups", 0.05)
        .phrase("looks up {} keys in indexes")
        .value(|cell| status(cell, "handler_read_key")),
    PAGES_TOUCHED,
    work(Cause::BlocksTouched, "B-tree searches from the root", "searches", 0.05)
        .phrase("searches B-trees from their root {} times")
        // MariaDB does not count them while the adaptive hash index is off.
        .value(|cell| metric(cell, "adaptive_hash_searches_btree").filter(|searches| *searches > 0.0)),
    work(Cause::BufferMisses, "buffer pool misses", "pages", 0.05)
        .phrase("reads {} pages into the buffer pool")
        .value(misses),
    waiting(Cause::Reads, "bytes read from storage by the server", "bytes", 800.0)
        .phrase("reads {} bytes from storage")
        .showing(&Shows::StorageReads)
        .value(|cell| cell.metric("server_read_bytes")),
    work(Cause::Wal, "bytes of redo log", "bytes", 16.0)
        .phrase("writes {} bytes of redo log")
        .showing(&Shows::LogBytes)
        .judged(Metric::WalBytes, |cell| cell.metric("server_wal_bytes")),
    work(Cause::Wal, "writes to the redo log", "writes", 0.05)
        .phrase("writes to the redo log {} times")
        .value(|cell| status(cell, "innodb_log_writes")),
    waiting(Cause::Wal, "times the log buffer was full", "times", 0.001)
        .phrase("finds the log buffer full {} times")
        .showing(&Shows::LogBufferFull)
        .value(|cell| status(cell, "innodb_log_waits")),
    work(Cause::BinaryLog, "bytes of binary log", "bytes", 1.0)
        .phrase("writes {} bytes to the binary log")
        .value(|cell| {
            let written = status(cell, "binlog_bytes_written");
            written.or_else(|| of_binary_log(cell, "bytes_write"))
        }),
    waiting(Cause::Fsync, "fsyncs of redo log and data", "fsyncs", 0.01)
        .phrase("makes {} fsyncs")
        .judged(Metric::Fsyncs, |cell| cell.metric("server_fsyncs")),
    waiting(Cause::Fsync, LOG_FSYNCS, "fsyncs", 0.01)
        .phrase("makes {} fsyncs of the redo log")
        .value(|cell| status(cell, "innodb_os_log_fsyncs")),
    waiting(Cause::Fsync, "syncs of the binary log and other calls on its file", "calls", 0.01)
        .phrase("syncs the binary log or asks for its state {} times")
        .value(|cell| of_binary_log(cell, "count_misc")),
    PAGES_FLUSHED,
    work(Cause::Checkpoint, "CPU time of the page cleaners", "us", 0.2)
        .phrase("spends {} us of CPU in page cleaners")
        .value(|cell| cell.roles_us(&["page_cleaner"])),
    work(Cause::Doublewrite, "pages written through the doublewrite buffer", "pages", 0.02)
        .phrase("writes {} pages through the doublewrite buffer")
        .value(|cell| status(cell, "innodb_dblwr_pages_written")),
    waiting(Cause::BackendWrites, "waits for a free buffer pool page", "times", 0.001)
        .phrase("waits for a free buffer pool page {} times")
        .value(|cell| status(cell, "innodb_buffer_pool_wait_free")),
    work(Cause::Purge, "CPU time of the purge threads", "us", 0.2)
        .phrase("spends {} us of CPU in purge threads")
        .value(|cell| cell.roles_us(&["purge", "purge_worker"])),
    work(Cause::TempFiles, "temporary tables on disk", "tables", 0.01)
        .phrase("makes {} temporary tables on disk")
        .value(|cell| status(cell, "created_tmp_disk_tables")),
    work(Cause::TempFiles, "merge passes over sorted runs on disk", "passes", 0.001)
        .phrase("merges sorted runs on disk {} times")
        .value(|cell| status(cell, "sort_merge_passes")),
    waiting(Cause::Locks, "time spent waiting for row locks", "us", 1.0)
        .phrase("waits {} us for row locks")
        .value(|cell| Some(status(cell, "innodb_row_lock_time")? * US_PER_MS)),
    waiting(Cause::Locks, "deadlocks", "deadlocks", 1e-5)
        .phrase("runs into {} deadlocks")
        .value(|cell| metric(cell, "lock_deadlocks").or_else(|| status(cell, "innodb_deadlocks"))),
    work(Cause::Planning, "statements prepared or re-prepared", "statements", 0.01)
        .phrase("prepares {} statements")
        .value(|cell| cell.sum(STATUS, "", ["com_stmt_prepare", "com_stmt_reprepare"])),
];

/// A figure of the binary log's file; 0 if the server lists files but has not written a binary log.
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

/// MariaDB 10.6 and later count rows by table only.
fn rows_read(cell: Cell<'_>) -> Option<f64> {
    status(cell, "innodb_rows_read").or_else(|| cell.counter("table_io", ALL, "rows_read"))
}

/// Buffer pool page requests. The status variable is 0 in some versions of MariaDB.
pub(super) fn pages_touched(cell: Cell<'_>) -> Option<f64> {
    let of_metrics = metric(cell, "buffer_pool_read_requests");
    of_metrics.or_else(|| status(cell, "innodb_buffer_pool_read_requests"))
}
