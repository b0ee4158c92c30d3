//! Sums up counters to figures common to all DBMSs, which repeat exactly if the same work is done in the same way.

use super::counters::WAL;
use crate::counters::ALL;
use crate::work::{Work, sum};
use rqps_model::Counter;

/// Columns of `pg_stat_all_tables` that count rows read or changed, each row once.
const ROW_COLUMNS: [&str; 5] = ["seq_tup_read", "idx_tup_fetch", "n_tup_ins", "n_tup_upd", "n_tup_del"];

/// Sums up the differences of two snapshots. WAL is the distance of its end positions, so it includes all writers,
/// headers and padding. Rows and blocks are those of user tables with TOAST and indexes. Flushes are those of WAL and
/// data without the creation of WAL files (16 and later), or of WAL only (14 and 15).
pub fn work(deltas: &[Counter]) -> Work {
    let total = |view: &'static str, selects: fn(&str) -> bool| {
        sum(deltas, move |delta| delta.view == view && delta.object == ALL && selects(&delta.column))
    };
    Work {
        wal_bytes: sum(deltas, |delta| delta.view == WAL),
        rows_touched: total("pg_stat_all_tables", |column| ROW_COLUMNS.contains(&column)),
        blocks_touched: total("pg_statio_all_tables", |column| {
            column.ends_with("blks_hit") || column.ends_with("blks_read")
        }),
        fsyncs: fsyncs(deltas),
        data_writes: None,
    }
}

/// Since 18 WAL is in `pg_stat_io`, as object `wal`, instead of `pg_stat_wal.wal_sync`. New WAL files (context `init`)
/// were never in the latter, so they are left out.
fn fsyncs(deltas: &[Counter]) -> Option<f64> {
    let by_io = sum(deltas, |delta| {
        delta.view == "pg_stat_io" && delta.column == "fsyncs" && !delta.object.ends_with("/wal/init")
    });
    let by_wal = sum(deltas, |delta| delta.view == "pg_stat_wal" && delta.column == "wal_sync");
    match (by_io, by_wal) {
        (None, None) => None,
        (by_io, by_wal) => Some(by_io.unwrap_or(0.0) + by_wal.unwrap_or(0.0)),
    }
}
