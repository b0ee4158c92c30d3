//! What the counters of a stretch of work come to: figures that repeat exactly when the same work is done the same way.

use super::counters::{ALL, CounterDelta, WAL};

/// Columns of `pg_stat_all_tables` that count rows read or changed, each row by one way only.
const ROW_COLUMNS: [&str; 5] = ["seq_tup_read", "idx_tup_fetch", "n_tup_ins", "n_tup_upd", "n_tup_del"];

/// Totals over a stretch of work; none where the server does not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Work {
    /// Write-ahead log, from the positions of its end: everything that anybody wrote, headers and padding included.
    pub wal_bytes: Option<f64>,
    /// Rows of user tables read by a scan or through an index, inserted, updated and deleted.
    pub rows_touched: Option<f64>,
    /// Blocks of user tables and their indexes, TOAST included, asked for: found in shared buffers or read.
    pub blocks_touched: Option<f64>,
    /// Files flushed to disk. From 16 on write-ahead log and data, without new files of the log being made; for 14 and
    /// 15 write-ahead log alone.
    pub fsyncs: Option<f64>,
}

impl Work {
    /// The figures that are known, as metrics of a window.
    pub fn metrics(&self) -> Vec<(String, f64)> {
        let figures = [
            ("server_wal_bytes", self.wal_bytes),
            ("server_rows_touched", self.rows_touched),
            ("server_blocks_touched", self.blocks_touched),
            ("server_fsyncs", self.fsyncs),
        ];
        figures.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

/// Sums up the differences of two snapshots.
pub fn work(deltas: &[CounterDelta]) -> Work {
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
    }
}

/// From 18 on `pg_stat_io` has the write-ahead log too, as object `wal`, which ends `pg_stat_wal.wal_sync`. New files
/// of the log (context `init`) were never in the latter, so they are left out.
fn fsyncs(deltas: &[CounterDelta]) -> Option<f64> {
    let by_io = sum(deltas, |delta| {
        delta.view == "pg_stat_io" && delta.column == "fsyncs" && !delta.object.ends_with("/wal/init")
    });
    let of_wal = sum(deltas, |delta| delta.view == "pg_stat_wal" && delta.column == "wal_sync");
    match (by_io, of_wal) {
        (None, None) => None,
        (by_io, of_wal) => Some(by_io.unwrap_or(0.0) + of_wal.unwrap_or(0.0)),
    }
}

/// The changes of the counters wanted; none when there is no such counter.
fn sum(deltas: &[CounterDelta], wanted: impl Fn(&CounterDelta) -> bool) -> Option<f64> {
    deltas.iter().filter(|delta| wanted(delta)).map(CounterDelta::change).reduce(|sum, change| sum + change)
}
