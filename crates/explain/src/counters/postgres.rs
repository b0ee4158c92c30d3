//! Counters of Postgres that findings use.

use crate::entry::{Entry, Per, less_work, waiting, work};
use crate::figures::{ALL, Cell};
use crate::model::{Cause, Shows};
use rqps_stats::Metric;

const TABLES: &str = "pg_stat_all_tables";
const TABLES_IO: &str = "pg_statio_all_tables";
const INDEXES: &str = "pg_stat_all_indexes";

pub(crate) const TABLE_BLOCKS: Entry = work(Cause::BlocksTouched, "table blocks touched", "blocks", 0.1)
    .phrase("touches {} blocks of tables")
    .value(table_blocks);
pub(crate) const INDEX_BLOCKS: Entry = work(Cause::BlocksTouched, "index blocks touched", "blocks", 0.1)
    .phrase("touches {} blocks of indexes")
    .value(index_blocks);
pub(crate) const PAGE_IMAGES: Entry = work(Cause::Wal, "full-page images in the log", "images", 0.002)
    .phrase("writes {} full-page images to the WAL")
    .showing(&Shows::FullPageImages)
    .value(|cell| cell.counter("pg_stat_wal", "", "wal_fpi"));

/// Versions keep some counters in different places; only those that both arms have are compared.
pub(super) static ENTRIES: [Entry; 22] = [
    work(Cause::DeadRows, "index entries read for each row fetched", "entries/row", 0.5)
        .phrase("reads {} index entries for each row that it fetches")
        .per(Per::Itself)
        .value(entries_per_row),
    work(Cause::Rows, "rows fetched through indexes", "rows", 0.05)
        .phrase("fetches {} rows through indexes")
        .value(|cell| cell.counter(TABLES, ALL, "idx_tup_fetch")),
    work(Cause::Rows, "rows read by sequential scans", "rows", 0.05)
        .phrase("reads {} rows by sequential scans")
        .value(|cell| cell.counter(TABLES, ALL, "seq_tup_read")),
    TABLE_BLOCKS,
    INDEX_BLOCKS,
    less_work(Cause::HotUpdates, "HOT share of updates", "%", 1.0)
        .phrase("makes {} % of its updates HOT")
        .per(Per::Itself)
        .value(hot_percent),
    work(Cause::BufferMisses, "shared buffer misses", "blocks", 0.05)
        .phrase("reads {} blocks into shared buffers")
        .value(misses),
    waiting(Cause::Reads, "bytes read from storage by the server", "bytes", 800.0)
        .phrase("reads {} bytes from storage")
        .showing(&Shows::StorageReads)
        .value(|cell| cell.metric("server_read_bytes")),
    work(Cause::Wal, "bytes of write-ahead log", "bytes", 16.0)
        .phrase("writes {} bytes of WAL")
        .showing(&Shows::LogBytes)
        .judged(Metric::WalBytes, |cell| cell.metric("server_wal_bytes")),
    work(Cause::Wal, "records of write-ahead log", "records", 0.05)
        .phrase("writes {} WAL records")
        .value(|cell| cell.counter("pg_stat_wal", "", "wal_records")),
    PAGE_IMAGES,
    waiting(Cause::Wal, "times the WAL buffers were full", "times", 0.001)
        .phrase("finds the WAL buffers full {} times")
        .showing(&Shows::LogBufferFull)
        .value(|cell| cell.counter("pg_stat_wal", "", "wal_buffers_full")),
    waiting(Cause::Fsync, "fsyncs of log and data", "fsyncs", 0.01)
        .phrase("makes {} fsyncs")
        .judged(Metric::Fsyncs, |cell| {
            cell.counter_sum("pg_stat_io", "fsyncs", |_| true).and(cell.metric("server_fsyncs"))
        }),
    waiting(Cause::Fsync, "fsyncs of the log", "fsyncs", 0.01)
        .phrase("makes {} fsyncs of the WAL")
        .value(|cell| cell.counter("pg_stat_wal", "", "wal_sync")),
    work(Cause::BackendWrites, "pages written by client backends", "pages", 0.005)
        .phrase("writes {} pages in client backends")
        .value(|cell| {
            cell.counter_sum("pg_stat_io", "writes", |object| object.starts_with("client backend/relation/"))
        }),
    work(Cause::BackendWrites, "pages written or added by client backends", "pages", 0.005)
        .phrase("writes or adds {} pages in client backends")
        .value(|cell| cell.counter("pg_stat_bgwriter", "", "buffers_backend")),
    work(Cause::TempFiles, "bytes of temporary files", "bytes", 10.0)
        .phrase("writes {} bytes of temporary files")
        .value(|cell| cell.counter_sum("pg_stat_database", "temp_bytes", |_| true)),
    waiting(Cause::Locks, "deadlocks", "deadlocks", 1e-5)
        .phrase("runs into {} deadlocks")
        .value(|cell| cell.counter_sum("pg_stat_database", "deadlocks", |_| true)),
    work(Cause::Checkpoint, "checkpoints in the windows", "checkpoints", 0.0)
        .phrase("checkpoints in the windows: {}")
        .per(Per::Windows)
        .value(checkpoints),
    work(Cause::Autovacuum, "tables autovacuumed in the windows", "tables", 0.0)
        .phrase("tables autovacuumed in the windows: {}")
        .per(Per::Windows)
        .value(autovacuumed),
    work(Cause::Autovacuum, "CPU time of autovacuum workers", "us", 0.2)
        .phrase("spends {} us of CPU in autovacuum workers")
        .value(|cell| cell.roles_us(&["autovacuum_worker"])),
    work(Cause::Checkpoint, "CPU time of the checkpointer", "us", 0.2)
        .phrase("spends {} us of CPU in the checkpointer")
        .value(|cell| cell.roles_us(&["checkpointer"])),
];

fn table_blocks(cell: Cell<'_>) -> Option<f64> {
    cell.sum(TABLES_IO, ALL, ["heap_blks_hit", "heap_blks_read"])
}

fn index_blocks(cell: Cell<'_>) -> Option<f64> {
    cell.sum(TABLES_IO, ALL, ["idx_blks_hit", "idx_blks_read"])
}

/// Blocks read into shared buffers.
pub(super) fn misses(cell: Cell<'_>) -> Option<f64> {
    cell.sum(TABLES_IO, ALL, ["heap_blks_read", "idx_blks_read"])
}

pub(crate) fn autovacuumed(cell: Cell<'_>) -> Option<f64> {
    cell.counter(TABLES, ALL, "autovacuum_count")
}

/// Blocks of tables and indexes touched.
pub(super) fn blocks_touched(cell: Cell<'_>) -> Option<f64> {
    Some(table_blocks(cell)? + index_blocks(cell)?)
}

/// Index entries that scans returned per row fetched: dead rows have entries but are not fetched. None if few
/// rows are fetched, as in an index-only scan.
fn entries_per_row(cell: Cell<'_>) -> Option<f64> {
    let (entries, rows) =
        (cell.counter(INDEXES, ALL, "idx_tup_read")?, cell.counter(TABLES, ALL, "idx_tup_fetch")?);
    (rows >= 0.5 * cell.operations()).then_some(entries / rows)
}

fn hot_percent(cell: Cell<'_>) -> Option<f64> {
    let (hot, all) = (cell.counter(TABLES, ALL, "n_tup_hot_upd")?, cell.counter(TABLES, ALL, "n_tup_upd")?);
    (all >= 0.01 * cell.operations()).then_some(100.0 * hot / all)
}

/// Checkpoints started, under the names of each version.
pub(crate) fn checkpoints(cell: Cell<'_>) -> Option<f64> {
    cell.sum("pg_stat_checkpointer", "", ["num_timed", "num_requested"])
        .or_else(|| cell.sum("pg_stat_bgwriter", "", ["checkpoints_timed", "checkpoints_req"]))
}
