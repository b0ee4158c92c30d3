//! Writes and their syncs, as the field publishes sync latency.
//!
//! | column | means |
//! | --- | --- |
//! | `w/s` | writes per second, of all jobs |
//! | `MB/s` | 10^6 bytes written per second |
//! | `write` | mean latency of a write without its sync, microseconds |
//! | `sync` | mean latency of a sync, over all jobs, microseconds; empty without syncs |
//! | `p50`, `p95`, `p99`, `max` | of syncs, microseconds; of writes in tests without syncs. Empty where too few were measured to know it |
//! | `jobs` | jobs that write at the same time, all to one file |
//! | `dbms`, `test` | the variant and the test |

use hdrhistogram::Histogram;
use rqps_explain::{Difference, directory_differences};
use rqps_model::counted;

use crate::comparison::{ComparedArm, Comparison, StepKind, TestStep};
use crate::document::{Block, Cell, Column, Figure, Table};
use crate::error::Result;
use crate::histograms::{QUANTILES, is_known, merged};

/// Rows that are named for having few latencies.
const NAMED_MAX: usize = 4;
const LEGEND: &str = "write, sync: means; p50 to max: of syncs, in tests without syncs of writes";
/// Statement of the histogram that has what a test is about.
const EVENT: &str = "event";

struct Row<'a> {
    arm: ComparedArm<'a>,
    test: String,
    jobs: u32,
    position: u32,
    totals: Totals,
    /// Nanoseconds, of all windows.
    latencies: Option<Histogram<u64>>,
}

#[derive(Default)]
struct Totals {
    seconds: f64,
    writes: f64,
    written_mb: f64,
    write_us: f64,
    syncs: f64,
    sync_us: f64,
}

/// The table; nothing for runs without such figures.
pub(crate) fn blocks(comparison: &Comparison<'_>, which: StepKind) -> Result<Vec<Block>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for step in comparison.steps(which) {
        for arm in comparison.base_first() {
            rows.extend(row(arm, &step)?);
        }
    }
    // The order of the plan.
    rows.sort_by_key(|row| row.position);
    let per = |total: f64, count: f64| (count > 0.0).then(|| total / count);
    let percentile = |row: &Row<'_>, share: f64| {
        let known = row.latencies.as_ref().filter(|all| share == 1.0 || is_known(share, all.len()));
        Cell::rate(known.map(|all| all.value_at_quantile(share) as f64 / 1e3))
    };
    let too_few = too_few(&rows);
    let figures: [Figure<'_, Row<'_>>; 11] = [
        (Column::number("w/s", "writes_per_s"), &|row| {
            Cell::rate(per(row.totals.writes, row.totals.seconds))
        }),
        (Column::number("MB/s", "mb_per_s"), &|row| {
            Cell::fixed(per(row.totals.written_mb, row.totals.seconds), 1)
        }),
        (Column::number("write", "write_us"), &|row| {
            Cell::fixed(per(row.totals.write_us, row.totals.writes), 1)
        }),
        (Column::number("sync", "sync_us"), &|row| Cell::fixed(per(row.totals.sync_us, row.totals.syncs), 1)),
        (Column::number("p50", "p50_us"), &|row| percentile(row, 0.5)),
        (Column::number("p95", "p95_us"), &|row| percentile(row, 0.95)),
        (Column::number("p99", "p99_us"), &|row| percentile(row, 0.99)),
        (Column::number("max", "max_us"), &|row| percentile(row, 1.0)),
        (Column::number("jobs", "jobs"), &|row| Cell::count(row.jobs.into())),
        (Column::words("dbms"), &|row| Cell::words(row.arm.label())),
        (Column::words("test"), &|row| Cell::words(&*row.test)),
    ];
    let title = "Sync latency, microseconds";
    let mut table = Table::of_figures("syncs", title, &figures, 2, rows);
    table.footnotes.push(LEGEND.to_owned());
    table.footnotes.extend(comparison.others().filter_map(|arm| differences(&comparison.base, arm)));
    table.footnotes.extend(too_few);
    Ok(table.block().into_iter().collect())
}

/// In what another directory differs from base's: `mount_options (noatime, base relatime)`.
fn differences(base: &ComparedArm<'_>, other: &ComparedArm<'_>) -> Option<String> {
    let value = |value: Option<String>| value.unwrap_or_else(|| "none".to_owned());
    let named = |one: Difference| format!("{} ({}, base {})", one.name, value(one.arm), value(one.base));
    let found: Vec<String> = directory_differences(base.arm, other.arm).into_iter().map(named).collect();
    let [base, other] = [base, other].map(|arm| arm.label());
    (!found.is_empty()).then(|| format!("{other} differs from {base} in {}", found.join(", ")))
}

/// Rows whose percentiles are not all known, the fewest latencies first, with what helps.
fn too_few(rows: &[Row<'_>]) -> Option<String> {
    let count = |row: &&Row<'_>| row.latencies.as_ref().map_or(u64::MAX, Histogram::len);
    let mut few: Vec<&Row<'_>> =
        rows.iter().filter(|row| QUANTILES.iter().any(|share| !is_known(*share, count(row)))).collect();
    few.sort_by_key(count);
    let named = few.iter().take(NAMED_MAX).map(|row| {
        let what = if row.totals.syncs > 0.0 { "sync" } else { "write" };
        format!("{} in {} on {}", counted(count(row) as usize, what), row.test, row.arm.label())
    });
    let named: Vec<String> = named.collect();
    let more = match few.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let needed = QUANTILES.map(|share| {
        let count = (1..).find(|count| is_known(share, *count)).unwrap_or(u64::MAX);
        format!("p{:.0} {count}", 100.0 * share)
    });
    (!few.is_empty()).then(|| {
        format!(
            "few latencies: {}{more}. Percentiles that so few don't show are left out (fewest: {}); measure longer, by `seconds` \
             of a plan, or `window_seconds` of one of blocks",
            named.join(", "),
            needed.join(", ")
        )
    })
}

fn row<'a>(arm: ComparedArm<'a>, step: &TestStep) -> Result<Option<Row<'a>>> {
    let mut totals = Totals::default();
    for window in arm.all_windows(&step.name) {
        let metric = |name: &str| window.metric(name).unwrap_or(0.0);
        totals.seconds += window.result.elapsed_s();
        totals.writes += window.result.operations;
        totals.written_mb += metric("fio_written_mb");
        totals.write_us += metric("fio_write_us");
        totals.syncs += metric("fio_syncs");
        totals.sync_us += metric("fio_sync_us");
    }
    let Some(first) = arm.first_window(&step.name).filter(|_| totals.written_mb > 0.0) else {
        return Ok(None);
    };
    let latencies = merged(arm.run, arm.all_windows(&step.name))?.remove(EVENT);
    let (jobs, position) = (first.result.clients, first.result.position);
    Ok(Some(Row { arm, test: step.name.clone(), jobs, position, totals, latencies }))
}
