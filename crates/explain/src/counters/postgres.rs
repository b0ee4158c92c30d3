//! Counters of Postgres that findings are made of.

use super::{ALL, Entry, Per, Rise, WORK_PER_OPERATION};
use crate::figures::Cell;
use crate::model::{Cause, Shows};

const TABLES: &str = "pg_stat_all_tables";
const TABLES_IO: &str = "pg_statio_all_tables";
const INDEXES: &str = "pg_stat_all_indexes";

/// Versions count some of them in other places: what both arms have is compared.
pub(super) static ENTRIES: [Entry; 22] = [
    Entry {
        cause: Cause::DeadRows,
        what: "index entries read for each row fetched",
        unit: "entries/row",
        phrase: "reads {} index entries for each row that it fetches",
        per: Per::Itself,
        floor: 0.5,
        value: entries_per_row,
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Rows,
        what: "rows fetched through indexes",
        unit: "rows",
        phrase: "fetches {} rows through indexes",
        floor: 0.05,
        value: |cell| cell.counter(TABLES, ALL, "idx_tup_fetch"),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Rows,
        what: "rows read by sequential scans",
        unit: "rows",
        phrase: "reads {} rows by sequential scans",
        floor: 0.05,
        value: |cell| cell.counter(TABLES, ALL, "seq_tup_read"),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::HeapBlocks,
        what: "table blocks touched",
        unit: "blocks",
        phrase: "touches {} blocks of tables",
        floor: 0.1,
        value: |cell| sum(cell, TABLES_IO, ["heap_blks_hit", "heap_blks_read"]),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::HeapBlocks,
        what: "index blocks touched",
        unit: "blocks",
        phrase: "touches {} blocks of indexes",
        floor: 0.1,
        value: |cell| sum(cell, TABLES_IO, ["idx_blks_hit", "idx_blks_read"]),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::HotUpdates,
        rise: Rise::LessWork,
        what: "share of updates that are HOT",
        unit: "%",
        phrase: "does {} % of its updates as HOT updates",
        per: Per::Itself,
        floor: 1.0,
        value: hot_percent,
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::BufferMisses,
        what: "blocks that were not in shared buffers",
        unit: "blocks",
        phrase: "reads {} blocks into shared buffers",
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
        what: "bytes of write-ahead log",
        unit: "bytes",
        phrase: "writes {} bytes of WAL",
        floor: 16.0,
        value: |cell| cell.metric("server_wal_bytes"),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Wal,
        what: "records of write-ahead log",
        unit: "records",
        phrase: "writes {} WAL records",
        floor: 0.05,
        value: |cell| cell.counter("pg_stat_wal", "", "wal_records"),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Wal,
        what: "full-page images in the log",
        unit: "images",
        phrase: "writes {} full-page images to the WAL",
        floor: 0.002,
        value: |cell| cell.counter("pg_stat_wal", "", "wal_fpi"),
        shows: &Shows::FullPageImages,
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Wal,
        rise: Rise::Waiting,
        what: "times that WAL buffers were full",
        unit: "times",
        phrase: "finds the WAL buffers full {} times",
        floor: 0.001,
        value: |cell| cell.counter("pg_stat_wal", "", "wal_buffers_full"),
        shows: &Shows::LogBufferFull,
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Fsync,
        rise: Rise::Waiting,
        what: "fsyncs of log and data",
        unit: "fsyncs",
        phrase: "makes {} fsyncs",
        floor: 0.01,
        value: |cell| cell.counter_sum("pg_stat_io", "fsyncs", |_| true).and(cell.metric("server_fsyncs")),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Fsync,
        rise: Rise::Waiting,
        what: "fsyncs of the log",
        unit: "fsyncs",
        phrase: "makes {} fsyncs of the WAL",
        floor: 0.01,
        value: |cell| cell.counter("pg_stat_wal", "", "wal_sync"),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::BackendWrites,
        what: "pages written by backends themselves",
        unit: "pages",
        phrase: "lets its backends write {} pages themselves",
        floor: 0.005,
        value: |cell| {
            cell.counter_sum("pg_stat_io", "writes", |object| object.starts_with("client backend/relation/"))
        },
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::BackendWrites,
        what: "pages written or added by backends themselves",
        unit: "pages",
        phrase: "lets its backends write or add {} pages themselves",
        floor: 0.005,
        value: |cell| cell.counter("pg_stat_bgwriter", "", "buffers_backend"),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::TempFiles,
        what: "bytes of temporary files",
        unit: "bytes",
        phrase: "writes {} bytes of temporary files",
        floor: 10.0,
        value: |cell| cell.counter_sum("pg_stat_database", "temp_bytes", |_| true),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Locks,
        rise: Rise::Waiting,
        what: "deadlocks",
        unit: "deadlocks",
        phrase: "runs into {} deadlocks",
        floor: 1e-5,
        value: |cell| cell.counter_sum("pg_stat_database", "deadlocks", |_| true),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Checkpoint,
        what: "checkpoints in the windows",
        unit: "checkpoints",
        phrase: "checkpoints in the windows: {}",
        per: Per::Windows,
        floor: 0.0,
        value: checkpoints,
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Autovacuum,
        what: "tables that autovacuum finished in the windows",
        unit: "tables",
        phrase: "tables that autovacuum went through in the windows: {}",
        per: Per::Windows,
        floor: 0.0,
        value: autovacuumed,
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Autovacuum,
        what: "CPU time of autovacuum workers",
        unit: "us",
        phrase: "spends {} us of CPU in autovacuum workers",
        floor: 0.2,
        value: |cell| cell.roles().map(|_| cell.metric(VACUUM_ROLE).unwrap_or(0.0)),
        ..WORK_PER_OPERATION
    },
    Entry {
        cause: Cause::Checkpoint,
        what: "CPU time of the checkpointer",
        unit: "us",
        phrase: "spends {} us of CPU in the checkpointer",
        floor: 0.2,
        value: |cell| cell.roles().map(|_| cell.metric(CHECKPOINT_ROLE).unwrap_or(0.0)),
        ..WORK_PER_OPERATION
    },
];

const VACUUM_ROLE: &str = "server_role.autovacuum_worker_us";
const CHECKPOINT_ROLE: &str = "server_role.checkpointer_us";

fn sum(cell: Cell<'_>, view: &str, columns: [&str; 2]) -> Option<f64> {
    columns.iter().try_fold(0.0, |sum, column| Some(sum + cell.counter(view, ALL, column)?))
}

/// Blocks read into shared buffers.
pub(super) fn misses(cell: Cell<'_>) -> Option<f64> {
    sum(cell, TABLES_IO, ["heap_blks_read", "idx_blks_read"])
}

pub(crate) fn autovacuumed(cell: Cell<'_>) -> Option<f64> {
    cell.counter(TABLES, ALL, "autovacuum_count")
}

/// Blocks of tables and indexes touched.
pub(super) fn blocks_touched(cell: Cell<'_>) -> Option<f64> {
    let heap = sum(cell, TABLES_IO, ["heap_blks_hit", "heap_blks_read"])?;
    Some(heap + sum(cell, TABLES_IO, ["idx_blks_hit", "idx_blks_read"])?)
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
    let both = |view: &str, columns: [&str; 2]| {
        columns.iter().try_fold(0.0, |sum, column| Some(sum + cell.counter(view, "", column)?))
    };
    both("pg_stat_checkpointer", ["num_timed", "num_requested"])
        .or_else(|| both("pg_stat_bgwriter", ["checkpoints_timed", "checkpoints_req"]))
}
