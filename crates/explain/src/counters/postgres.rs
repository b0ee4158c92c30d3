//! Counters of Postgres that findings are made of.

use crate::entry::{Entry, Per, less_work, waiting, work};
use crate::figures::{ALL, Cell};
use crate::model::{Cause, Shows};

const TABLES: &str = "pg_stat_all_tables";
const TABLES_IO: &str = "pg_statio_all_tables";
const INDEXES: &str = "pg_stat_all_indexes";

pub(crate) const TABLE_BLOCKS: Entry = work(Cause::HeapBlocks, "table blocks touched", "blocks", 0.1)
    .says("touches {} blocks of tables")
    .is(table_blocks);
pub(crate) const INDEX_BLOCKS: Entry = work(Cause::HeapBlocks, "index blocks touched", "blocks", 0.1)
    .says("touches {} blocks of indexes")
    .is(index_blocks);
pub(crate) const PAGE_IMAGES: Entry = work(Cause::Wal, "full-page images in the log", "images", 0.002)
    .says("writes {} full-page images to the WAL")
    .showing(&Shows::FullPageImages)
    .is(|cell| cell.counter("pg_stat_wal", "", "wal_fpi"));

/// Versions count some of them in other places: what both arms have is compared.
pub(super) static ENTRIES: [Entry; 22] = [
    work(Cause::DeadRows, "index entries read for each row fetched", "entries/row", 0.5)
        .says("reads {} index entries for each row that it fetches")
        .per(Per::Itself)
        .is(entries_per_row),
    work(Cause::Rows, "rows fetched through indexes", "rows", 0.05)
        .says("fetches {} rows through indexes")
        .is(|cell| cell.counter(TABLES, ALL, "idx_tup_fetch")),
    work(Cause::Rows, "rows read by sequential scans", "rows", 0.05)
        .says("reads {} rows by sequential scans")
        .is(|cell| cell.counter(TABLES, ALL, "seq_tup_read")),
    TABLE_BLOCKS,
    INDEX_BLOCKS,
    less_work(Cause::HotUpdates, "HOT share of updates", "%", 1.0)
        .says("makes {} % of its updates HOT")
        .per(Per::Itself)
        .is(hot_percent),
    work(Cause::BufferMisses, "shared buffer misses", "blocks", 0.05)
        .says("reads {} blocks into shared buffers")
        .is(misses),
    waiting(Cause::Reads, "bytes read from storage by the server", "bytes", 800.0)
        .says("reads {} bytes from storage")
        .showing(&Shows::StorageReads)
        .is(|cell| cell.metric("server_read_bytes")),
    work(Cause::Wal, "bytes of write-ahead log", "bytes", 16.0)
        .says("writes {} bytes of WAL")
        .is(|cell| cell.metric("server_wal_bytes")),
    work(Cause::Wal, "records of write-ahead log", "records", 0.05)
        .says("writes {} WAL records")
        .is(|cell| cell.counter("pg_stat_wal", "", "wal_records")),
    PAGE_IMAGES,
    waiting(Cause::Wal, "times the WAL buffers were full", "times", 0.001)
        .says("finds the WAL buffers full {} times")
        .showing(&Shows::LogBufferFull)
        .is(|cell| cell.counter("pg_stat_wal", "", "wal_buffers_full")),
    waiting(Cause::Fsync, "fsyncs of log and data", "fsyncs", 0.01)
        .says("makes {} fsyncs")
        .is(|cell| cell.counter_sum("pg_stat_io", "fsyncs", |_| true).and(cell.metric("server_fsyncs"))),
    waiting(Cause::Fsync, "fsyncs of the log", "fsyncs", 0.01)
        .says("makes {} fsyncs of the WAL")
        .is(|cell| cell.counter("pg_stat_wal", "", "wal_sync")),
    work(Cause::BackendWrites, "pages written by client backends", "pages", 0.005)
        .says("writes {} pages in client backends")
        .is(|cell| {
            cell.counter_sum("pg_stat_io", "writes", |object| object.starts_with("client backend/relation/"))
        }),
    work(Cause::BackendWrites, "pages written or added by client backends", "pages", 0.005)
        .says("writes or adds {} pages in client backends")
        .is(|cell| cell.counter("pg_stat_bgwriter", "", "buffers_backend")),
    work(Cause::TempFiles, "bytes of temporary files", "bytes", 10.0)
        .says("writes {} bytes of temporary files")
        .is(|cell| cell.counter_sum("pg_stat_database", "temp_bytes", |_| true)),
    waiting(Cause::Locks, "deadlocks", "deadlocks", 1e-5)
        .says("runs into {} deadlocks")
        .is(|cell| cell.counter_sum("pg_stat_database", "deadlocks", |_| true)),
    work(Cause::Checkpoint, "checkpoints in the windows", "checkpoints", 0.0)
        .says("checkpoints in the windows: {}")
        .per(Per::Windows)
        .is(checkpoints),
    work(Cause::Autovacuum, "tables autovacuumed in the windows", "tables", 0.0)
        .says("tables autovacuumed in the windows: {}")
        .per(Per::Windows)
        .is(autovacuumed),
    work(Cause::Autovacuum, "CPU time of autovacuum workers", "us", 0.2)
        .says("spends {} us of CPU in autovacuum workers")
        .is(|cell| cell.roles_us(&["autovacuum_worker"])),
    work(Cause::Checkpoint, "CPU time of the checkpointer", "us", 0.2)
        .says("spends {} us of CPU in the checkpointer")
        .is(|cell| cell.roles_us(&["checkpointer"])),
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

/// Index entries that scans returned for each row that was then fetched: entries of dead rows are among the first only.
/// Only where rows are fetched at all: an index-only scan fetches none.
fn entries_per_row(cell: Cell<'_>) -> Option<f64> {
    let (entries, rows) =
        (cell.counter(INDEXES, ALL, "idx_tup_read")?, cell.counter(TABLES, ALL, "idx_tup_fetch")?);
    (rows >= 0.5 * cell.operations()).then_some(entries / rows)
}

fn hot_percent(cell: Cell<'_>) -> Option<f64> {
    let (hot, all) = (cell.counter(TABLES, ALL, "n_tup_hot_upd")?, cell.counter(TABLES, ALL, "n_tup_upd")?);
    (all >= 0.01 * cell.operations()).then_some(100.0 * hot / all)
}

/// Checkpoints that were begun, as each version counts them.
pub(crate) fn checkpoints(cell: Cell<'_>) -> Option<f64> {
    cell.sum("pg_stat_checkpointer", "", ["num_timed", "num_requested"])
        .or_else(|| cell.sum("pg_stat_bgwriter", "", ["checkpoints_timed", "checkpoints_req"]))
}
