//! Counters of MySQL and MariaDB that findings are made of. `SHOW GLOBAL STATUS` counts a little of its own, and
//! threads of the server flush pages and write to the log whatever clients do: floors are above that.

use crate::entry::{Entry, waiting, work};
use crate::figures::{ALL, Cell};
use crate::model::{Cause, Shows};

const STATUS: &str = "global_status";
const METRICS: &str = "innodb_metrics";
const FILES: &str = "file_io";
const BINARY_LOG: &str = "sql/binlog";

pub(crate) const PAGES_TOUCHED: Entry = work(Cause::HeapBlocks, "buffer pool page requests", "pages", 0.1)
    .says("requests {} buffer pool pages")
    .is(pages_touched);
pub(crate) const PAGES_FLUSHED: Entry = work(Cause::Checkpoint, "dirty pages flushed", "pages", 0.02)
    .says("flushes {} dirty pages")
    .is(|cell| status(cell, "innodb_buffer_pool_pages_flushed"));

/// Versions count some of them in other places: what both arms have is compared.
pub(super) static ENTRIES: [Entry; 23] = [
    work(Cause::Rows, "rows read by InnoDB", "rows", 0.05).says("reads {} rows").is(rows_read),
    work(Cause::Rows, "index key lookups", "lookups", 0.05)
        .says("looks up {} keys in indexes")
        .is(|cell| status(cell, "handler_read_key")),
    PAGES_TOUCHED,
    work(Cause::HeapBlocks, "B-tree searches from the root", "searches", 0.05)
        .says("searches B-trees from their root {} times")
        // MariaDB does not count them while the adaptive hash index is off.
        .is(|cell| metric(cell, "adaptive_hash_searches_btree").filter(|searches| *searches > 0.0)),
    work(Cause::BufferMisses, "buffer pool misses", "pages", 0.05)
        .says("reads {} pages into the buffer pool")
        .is(misses),
    waiting(Cause::Reads, "bytes read from storage by the server", "bytes", 800.0)
        .says("reads {} bytes from storage")
        .showing(&Shows::StorageReads)
        .is(|cell| cell.metric("server_read_bytes")),
    work(Cause::Wal, "bytes of redo log", "bytes", 16.0)
        .says("writes {} bytes of redo log")
        .is(|cell| cell.metric("server_wal_bytes")),
    work(Cause::Wal, "writes to the redo log", "writes", 0.05)
        .says("writes to the redo log {} times")
        .is(|cell| status(cell, "innodb_log_writes")),
    waiting(Cause::Wal, "times the log buffer was full", "times", 0.001)
        .says("finds the log buffer full {} times")
        .showing(&Shows::LogBufferFull)
        .is(|cell| status(cell, "innodb_log_waits")),
    work(Cause::BinaryLog, "bytes of binary log", "bytes", 1.0).says("writes {} bytes to the binary log").is(
        |cell| {
            let written = status(cell, "binlog_bytes_written");
            written.or_else(|| of_binary_log(cell, "bytes_write"))
        },
    ),
    waiting(Cause::Fsync, "fsyncs of redo log and data", "fsyncs", 0.01)
        .says("makes {} fsyncs")
        .is(|cell| cell.metric("server_fsyncs")),
    waiting(Cause::Fsync, "fsyncs of the redo log", "fsyncs", 0.01)
        .says("makes {} fsyncs of the redo log")
        .is(|cell| status(cell, "innodb_os_log_fsyncs")),
    waiting(Cause::Fsync, "syncs of the binary log and other calls on its file", "calls", 0.01)
        .says("syncs the binary log or asks for its state {} times")
        .is(|cell| of_binary_log(cell, "count_misc")),
    PAGES_FLUSHED,
    work(Cause::Checkpoint, "CPU time of the page cleaners", "us", 0.2)
        .says("spends {} us of CPU in page cleaners")
        .is(|cell| cell.roles_us(&["page_cleaner"])),
    work(Cause::Doublewrite, "pages written through the doublewrite buffer", "pages", 0.02)
        .says("writes {} pages through the doublewrite buffer")
        .is(|cell| status(cell, "innodb_dblwr_pages_written")),
    waiting(Cause::BackendWrites, "waits for a free buffer pool page", "times", 0.001)
        .says("waits for a free buffer pool page {} times")
        .is(|cell| status(cell, "innodb_buffer_pool_wait_free")),
    work(Cause::Purge, "CPU time of the purge threads", "us", 0.2)
        .says("spends {} us of CPU in purge threads")
        .is(|cell| cell.roles_us(&["purge", "purge_worker"])),
    work(Cause::TempFiles, "temporary tables on disk", "tables", 0.01)
        .says("makes {} temporary tables on disk")
        .is(|cell| status(cell, "created_tmp_disk_tables")),
    work(Cause::TempFiles, "merge passes over sorted runs on disk", "passes", 0.001)
        .says("merges sorted runs on disk {} times")
        .is(|cell| status(cell, "sort_merge_passes")),
    waiting(Cause::Locks, "time spent waiting for row locks", "us", 1.0)
        .says("waits {} us for row locks")
        .is(|cell| Some(status(cell, "innodb_row_lock_time")? * US_PER_MS)),
    waiting(Cause::Locks, "deadlocks", "deadlocks", 1e-5)
        .says("runs into {} deadlocks")
        .is(|cell| metric(cell, "lock_deadlocks").or_else(|| status(cell, "innodb_deadlocks"))),
    work(Cause::Planning, "statements prepared or re-prepared", "statements", 0.01)
        .says("prepares {} statements")
        .is(|cell| cell.sum(STATUS, "", ["com_stmt_prepare", "com_stmt_reprepare"])),
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
pub(super) fn pages_touched(cell: Cell<'_>) -> Option<f64> {
    let of_metrics = metric(cell, "buffer_pool_read_requests");
    of_metrics.or_else(|| status(cell, "innodb_buffer_pool_read_requests"))
}
