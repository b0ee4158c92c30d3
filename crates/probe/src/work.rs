//! Totals of a stretch of work, common to all DBMSs: figures that repeat exactly if the same work is done in the same
//! way.

use rqps_model::Counter;

/// Totals over a stretch of work; `None` if the server does not report them. Each DBMS's folder defines them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Work {
    /// Log of changes (write-ahead log, redo) written, bytes.
    pub wal_bytes: Option<f64>,
    /// Rows of tables read by a scan or through an index, inserted, updated and deleted.
    pub rows_touched: Option<f64>,
    /// Blocks of tables and their indexes accessed: found in the server's memory or read.
    pub blocks_touched: Option<f64>,
    pub fsyncs: Option<f64>,
    pub data_writes: Option<f64>,
}

impl Work {
    /// The known figures, as metrics of a window.
    pub fn metrics(&self) -> Vec<(String, f64)> {
        let figures = [
            ("server_wal_bytes", self.wal_bytes),
            ("server_rows_touched", self.rows_touched),
            ("server_blocks_touched", self.blocks_touched),
            ("server_fsyncs", self.fsyncs),
            ("server_data_writes", self.data_writes),
        ];
        figures.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

/// The sum of the changes of the selected counters; `None` without such a counter.
pub(crate) fn sum(deltas: &[Counter], selects: impl Fn(&Counter) -> bool) -> Option<f64> {
    deltas
        .iter()
        .filter(|delta| selects(delta))
        .filter_map(Counter::change)
        .reduce(|sum, change| sum + change)
}
