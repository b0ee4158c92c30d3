//! The figures of a window that only an LSM tree has: its shape before and after, what was flushed and compacted,
//! stalls.

use std::collections::BTreeMap;

use rqps_model::{Counter, Metrics};
use rqps_rocksdb_engine::protocol::Shape;

pub(crate) const TICKERS: &str = "tickers";
const HISTOGRAMS: &str = "histograms";
const STATS: &str = "rocksdb.stats";

const GB: f64 = 1_073_741_824.0;

/// What counters changed by, by group and name.
pub(crate) struct Changes<'a>(BTreeMap<(&'a str, &'a str), f64>);

impl<'a> Changes<'a> {
    pub fn of(counters: &'a [Counter]) -> Self {
        let change = |counter: &'a Counter| {
            Some(((counter.view.as_str(), counter.column.as_str()), counter.change()?))
        };
        Self(counters.iter().filter_map(change).collect())
    }

    pub fn get(&self, group: &str, name: &str) -> Option<f64> {
        self.0.get(&(group, name)).copied()
    }

    /// The exact figure of a ticker or histogram, times `unit`; without statistics the rounded one of `rocksdb.stats`,
    /// times `rounded_unit`.
    fn exact_or(
        &self,
        (group, name, unit): (&str, &str, f64),
        (rounded, rounded_unit): (&str, f64),
    ) -> Option<f64> {
        let exact = self.get(group, name).map(|value| value * unit);
        exact.or_else(|| self.get(STATS, rounded).map(|value| value * rounded_unit))
    }

    /// The duration of compactions. Each is counted when it ends: unknown if all that wrote something still run.
    fn compaction_us(&self, compacted: Option<f64>) -> Option<f64> {
        let duration = self.get(HISTOGRAMS, "compaction.times.micros.sum")?;
        (duration > 0.0 || compacted == Some(0.0)).then_some(duration)
    }

    /// Figures of flushes, compactions and stalls in the window.
    pub fn metrics(&self) -> Metrics {
        let flushed = self.exact_or((TICKERS, "flush.write.bytes", 1.0), ("flush_gb", GB));
        let compacted = self.get(TICKERS, "compact.write.bytes").or_else(|| {
            // Flushes are part of it.
            Some((self.get(STATS, "compaction_write_gb")? - self.get(STATS, "flush_gb")?).max(0.0) * GB)
        });
        let ingested = self.exact_or((TICKERS, "bytes.written", 1.0), ("ingest_gb", GB));
        let figures = [
            ("flushed_bytes", flushed),
            ("compaction_written_bytes", compacted),
            (
                "compaction_read_bytes",
                self.exact_or((TICKERS, "compact.read.bytes", 1.0), ("compaction_read_gb", GB)),
            ),
            ("ingested_bytes", ingested),
            // Those of `rocksdb.stats` have flushes in them.
            ("compaction_us", self.compaction_us(compacted)),
            (
                "compaction_cpu_us",
                // The ticker counts while compactions run, as the one of bytes does; old releases lack it.
                self.get(TICKERS, "compaction.total.time.cpu_micros")
                    .or_else(|| self.get(HISTOGRAMS, "compaction.times.cpu_micros.sum")),
            ),
            ("engine_stall_us", self.exact_or((TICKERS, "stall.micros", 1.0), ("stall_s", 1e6))),
            ("engine_stalls", self.get(STATS, "stalls")),
        ];
        figures.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

/// Drops what a program of `fillseq` has not counted when it prints its figures: without a write-ahead log it flushes
/// when it closes the database, and what was flushed and compacted until then depends on when the last put came.
pub(crate) fn drop_unfinished(metrics: &mut Metrics) {
    metrics.retain(|name, _| name != "flushed_bytes" && !name.starts_with("compaction_"));
}

/// The shape of a tree as metrics whose names end with `when`.
pub(crate) fn of_shape(shape: &Shape, when: &str) -> Metrics {
    let mut metrics = Metrics::new();
    let mut add = |name: String, value: u64| metrics.insert(format!("{name}_{when}"), value as f64);
    // Level 0 also if it is empty: of several windows, each has its part in the mean.
    if shape.levels.is_empty() {
        add("lsm_level0_files".to_owned(), 0);
    }
    for (number, level) in
        shape.levels.iter().enumerate().filter(|(number, level)| *number == 0 || level.files > 0)
    {
        add(format!("lsm_level{number}_files"), level.files);
        add(format!("lsm_level{number}_bytes"), level.bytes);
    }
    add("lsm_files".to_owned(), shape.files());
    add("lsm_bytes".to_owned(), shape.bytes());
    add("memtable_bytes".to_owned(), shape.memtable_bytes);
    add("pending_compaction_bytes".to_owned(), shape.pending_compaction_bytes);
    add("block_cache_bytes".to_owned(), shape.block_cache_bytes);
    metrics
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(view: &str, column: &str, before: f64, after: f64) -> Counter {
        Counter {
            view: view.to_owned(),
            object: String::new(),
            column: column.to_owned(),
            before: Some(before),
            after: Some(after),
        }
    }

    #[test]
    fn exact_figures_come_before_rounded_ones() {
        let rounded = [
            counter(STATS, "flush_gb", 1.0, 2.0),
            counter(STATS, "compaction_write_gb", 1.0, 5.0),
            counter(STATS, "ingest_gb", 0.0, 2.0),
            counter(STATS, "stall_s", 0.0, 1.5),
        ];
        let metrics = Changes::of(&rounded).metrics();
        assert_eq!(metrics["compaction_written_bytes"], 3.0 * GB);
        assert_eq!((metrics["ingested_bytes"], metrics["engine_stall_us"]), (2.0 * GB, 1.5e6));
        let exact = [counter(TICKERS, "flush.write.bytes", 10.0, 30.0)];
        let both: Vec<Counter> = rounded.into_iter().chain(exact).collect();
        assert_eq!(Changes::of(&both).metrics()["flushed_bytes"], 20.0);
    }

    #[test]
    fn what_a_program_flushes_after_it_printed_is_not_half_told() {
        let counters = [
            counter(TICKERS, "flush.write.bytes", 0.0, 5.0),
            counter(TICKERS, "compact.write.bytes", 0.0, 5.0),
            counter(TICKERS, "compact.read.bytes", 0.0, 5.0),
            counter(TICKERS, "bytes.written", 0.0, 9.0),
            counter(TICKERS, "stall.micros", 0.0, 7.0),
        ];
        let mut metrics = Changes::of(&counters).metrics();
        drop_unfinished(&mut metrics);
        assert_eq!(metrics.keys().collect::<Vec<_>>(), ["engine_stall_us", "ingested_bytes"]);
    }

    #[test]
    fn times_of_compactions_are_without_flushes_and_not_zero_beside_bytes() {
        let rounded = [
            counter(STATS, "compaction_s", 0.0, 2.5),
            counter(STATS, "compaction_cpu_s", 0.0, 2.0),
            counter(STATS, "compaction_write_gb", 0.0, 1.0),
            counter(STATS, "flush_gb", 0.0, 1.0),
        ];
        let metrics = Changes::of(&rounded).metrics();
        assert_eq!((metrics.get("compaction_us"), metrics.get("compaction_cpu_us")), (None, None));
        let running = |bytes: f64| {
            let exact = [
                counter(TICKERS, "compact.write.bytes", 0.0, bytes),
                counter(TICKERS, "compaction.total.time.cpu_micros", 10.0, 10.0 + bytes / 100.0),
                counter(HISTOGRAMS, "compaction.times.micros.sum", 5.0, 5.0),
                counter(HISTOGRAMS, "compaction.times.cpu_micros.sum", 5.0, 5.0),
            ];
            Changes::of(&exact).metrics()
        };
        let metrics = running(1000.0);
        assert_eq!((metrics.get("compaction_us"), metrics["compaction_cpu_us"]), (None, 10.0));
        assert_eq!((running(0.0)["compaction_us"], running(0.0)["compaction_cpu_us"]), (0.0, 0.0));
    }
}
