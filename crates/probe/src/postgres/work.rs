//! What the counters of a stretch of work come to: figures that repeat exactly when the same work is done the same way.

use super::counters::WAL;
use crate::counters::ALL;
use crate::work::{Work, sum};
use rqps_model::Counter;

/// Columns of `pg_stat_all_tables` that count rows read or changed, each row by one way only.
const ROW_COLUMNS: [&str; 5] = ["seq_tup_read", "idx_tup_fetch", "n_tup_ins", "n_tup_upd", "n_tup_del"];

/// Sums up the differences of two snapshots. The log is measured by the positions of its end, so it has everything that
/// anybody wrote, headers and padding included. Rows and blocks are those of user tables, TOAST and indexes included;
/// flushes from 16 on those of log and data, without new files of the log being made, for 14 and 15 of the log alone.
pub fn work(deltas: &[Counter]) -> Work {
    let of_all = |view: &'static str, wanted: fn(&str) -> bool| {
        sum(deltas, move |delta| delta.view == view && delta.object == ALL && wanted(&delta.column))
    };
    Work {
        wal_bytes: sum(deltas, |delta| delta.view == WAL),
        rows_touched: of_all("pg_stat_all_tables", |column| ROW_COLUMNS.contains(&column)),
        blocks_touched: of_all("pg_statio_all_tables", |column| {
            column.ends_with("blks_hit") || column.ends_with("blks_read")
        }),
        fsyncs: fsyncs(deltas),
        data_writes: None,
    }
}

/// From 18 on `pg_stat_io` has the write-ahead log too, as object `wal`, which ends `pg_stat_wal.wal_sync`. New files
/// of the log (context `init`) were never in the latter, so they are left out.
fn fsyncs(deltas: &[Counter]) -> Option<f64> {
    let by_io = sum(deltas, |delta| {
        delta.view == "pg_stat_io" && delta.column == "fsyncs" && !delta.object.ends_with("/wal/init")
    });
    let of_wal = sum(deltas, |delta| delta.view == "pg_stat_wal" && delta.column == "wal_sync");
    match (by_io, of_wal) {
        (None, None) => None,
        (by_io, of_wal) => Some(by_io.unwrap_or(0.0) + of_wal.unwrap_or(0.0)),
    }
}
