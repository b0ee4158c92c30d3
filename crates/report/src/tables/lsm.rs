//! What a step did to an LSM tree, for engines that have one: the columns of published comparisons of RocksDB. Of
//! several passes, totals are sums, and sizes and numbers of files are means.
//!
//! | column | means |
//! | --- | --- |
//! | `ops/s` | operations per second, all clients |
//! | `MB/s` | keys and values that clients read or wrote, per second |
//! | `bg MB/s` | keys and values that the background writer put, per second |
//! | `MB before`, `MB after` | size of the tree's files, when the window opens and at the end of the step |
//! | `L0 before`, `L0 after` | files of level 0 |
//! | `flush MB`, `comp MB` | written by flushes and by compactions |
//! | `comp MB/s` | the latter over the seconds of the step |
//! | `w-amp` | bytes written by both, over bytes that clients wrote |
//! | `comp s`, `comp cpu s` | duration of compactions that ended in the step, summed over jobs; CPU time of compactions |
//! | `debt MB` | estimated bytes that compactions still have to rewrite at the end |
//! | `stall %`, `stalls` | time that writes were stalled, as a share of the window; number of stalls |
//! | `p50` to `p99.99`, `max` | latency of operations, microseconds |
//! | `user s`, `system s` | CPU seconds of the process |
//! | `rss MB` | its memory at the end |
//! | `dbms` | the variant |

use rqps_store::{Recorded, Window};

use crate::comparison::{ComparedArm, Comparison, StepKind, TestStep};
use crate::document::{Block, Cell, Column, Figure, Table};
use crate::error::Result;
use crate::histograms;

/// Marks windows on an LSM tree.
const MARK: &str = "lsm_bytes_after";

/// Kind of the latencies of operations.
const OPERATION: &str = "event";

/// Percentiles, with their columns.
const PERCENTILES: [(&str, &str, f64); 4] = [
    ("p50", "p50_us", 0.5),
    ("p99", "p99_us", 0.99),
    ("p99.9", "p99_9_us", 0.999),
    ("p99.99", "p99_99_us", 0.9999),
];

struct Row<'a> {
    arm: ComparedArm<'a>,
    /// All passes.
    window: &'a Recorded<Window>,
    /// In the order of [`PERCENTILES`], then the maximum.
    latencies_us: Vec<f64>,
}

impl Row<'_> {
    fn metric(&self, name: &str) -> Option<f64> {
        self.window.metric(name)
    }

    fn seconds(&self) -> f64 {
        self.window.result.elapsed_s()
    }

    /// A total in millions.
    fn mega(&self, name: &str) -> Cell {
        Cell::fixed(self.metric(name).map(|value| value / 1e6), 1)
    }

    fn per_second(&self, name: &str) -> Cell {
        let seconds = self.seconds();
        let rate = self.metric(name).filter(|_| seconds > 0.0).map(|value| value / 1e6 / seconds);
        Cell::fixed(rate, 2)
    }

    /// Files of level 0; none if it had no files.
    fn level0(&self, when: &str) -> Cell {
        // A mean over passes.
        let files = self.metric(&format!("lsm_level0_files_{when}")).unwrap_or(0.0);
        Cell::fixed(Some(files), if files.fract() == 0.0 { 0 } else { 1 })
    }

    /// Bytes that flushes and compactions wrote, over those that clients did.
    fn write_amplification(&self) -> Option<f64> {
        let ingested = self.metric("ingested_bytes").filter(|bytes| *bytes > 0.0)?;
        Some((self.metric("flushed_bytes")? + self.metric("compaction_written_bytes")?) / ingested)
    }

    fn stalled_percent(&self) -> Option<f64> {
        let seconds = self.seconds();
        self.metric("engine_stall_us").filter(|_| seconds > 0.0).map(|us| us / 1e4 / seconds)
    }
}

/// One table per test on an LSM tree.
pub(crate) fn blocks(comparison: &Comparison<'_>, which: StepKind) -> Result<Vec<Block>> {
    super::for_each_test(comparison, which, table)
}

fn table(comparison: &Comparison<'_>, step: &TestStep) -> Result<Option<Table>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for arm in comparison.base_first() {
        let window = arm.window(&step.name).ok().filter(|window| window.metrics.contains_key(MARK));
        let Some(window) = window else { continue };
        let merged = histograms::merged(arm.run, arm.all_windows(&step.name))?;
        let latencies_us = merged.get(OPERATION).map(|latency| {
            let at = |quantile: f64| latency.value_at_quantile(quantile) as f64 / 1e3;
            let percentiles = PERCENTILES.iter().map(|(_, _, quantile)| at(*quantile));
            percentiles.chain([latency.max() as f64 / 1e3]).collect()
        });
        rows.push(Row { arm, window, latencies_us: latencies_us.unwrap_or_default() });
    }
    if rows.is_empty() {
        return Ok(None);
    }
    let passes = rows.iter().map(|row| row.arm.all_windows(&step.name).count()).max().unwrap_or(1);
    let title = match passes {
        0 | 1 => format!("LSM tree: {}", step.name),
        passes => format!("LSM tree: {}, {passes} passes", step.name),
    };
    let latency = |at: usize| move |row: &Row<'_>| Cell::fixed(row.latencies_us.get(at).copied(), 1);
    let (p50, p99, p999, p9999, max) = (latency(0), latency(1), latency(2), latency(3), latency(4));
    let percentile = |at: usize| Column::number(PERCENTILES[at].0, PERCENTILES[at].1);
    let figures: [Figure<'_, Row<'_>>; 24] = [
        (Column::number("ops/s", "ops_per_s"), &|row| Cell::fixed(row.window.result.rate(), 0)),
        (Column::number("MB/s", "mb_per_s"), &|row| row.per_second("engine_bytes")),
        (Column::number("bg MB/s", "background_mb_per_s"), &|row| row.mega("background_bytes_per_s")),
        (Column::number("MB before", "mb_before"), &|row| row.mega("lsm_bytes_before")),
        (Column::number("MB after", "mb_after"), &|row| row.mega(MARK)),
        (Column::number("L0 before", "level0_before"), &|row| row.level0("before")),
        (Column::number("L0 after", "level0_after"), &|row| row.level0("after")),
        (Column::number("flush MB", "flushed_mb"), &|row| row.mega("flushed_bytes")),
        (Column::number("comp MB", "compacted_mb"), &|row| row.mega("compaction_written_bytes")),
        (Column::number("comp MB/s", "compacted_mb_per_s"), &|row| {
            row.per_second("compaction_written_bytes")
        }),
        (Column::number("w-amp", "write_amplification"), &|row| Cell::fixed(row.write_amplification(), 2)),
        (Column::number("comp s", "compaction_s"), &|row| row.mega("compaction_us")),
        (Column::number("comp cpu s", "compaction_cpu_s"), &|row| row.mega("compaction_cpu_us")),
        (Column::number("debt MB", "debt_mb"), &|row| row.mega("pending_compaction_bytes_after")),
        (Column::number("stall %", "stall_percent"), &|row| Cell::fixed(row.stalled_percent(), 1)),
        (Column::number("stalls", "stalls"), &|row| Cell::fixed(row.metric("engine_stalls"), 0)),
        (percentile(0), &p50),
        (percentile(1), &p99),
        (percentile(2), &p999),
        (percentile(3), &p9999),
        (Column::number("max", "max_us"), &max),
        (Column::number("user s", "user_s"), &|row| row.mega("server_user_us")),
        (Column::number("system s", "system_s"), &|row| row.mega("server_system_us")),
        (Column::number("rss MB", "rss_mb"), &|row| {
            Cell::fixed(row.metric("server_proportional_kb").map(|kb| kb / 1e3), 0)
        }),
    ];
    let mut columns: Vec<Figure<'_, Row<'_>>> = figures.into_iter().collect();
    columns.push((Column::words("dbms"), &|row| Cell::words(row.arm.label())));
    Ok(Some(Table::of_figures("lsm", title, &columns, 1, rows).about("test", &step.name)))
}
