//! Variation within tests: rates per second, stalls and latencies, which a mean hides.
//!
//! | column | means |
//! | --- | --- |
//! | `cv %` | standard deviation of the rate per second, percent of the window's mean |
//! | `slow %` | seconds below half of their window's median, percent |
//! | `gap s` | longest run of seconds below a tenth of the median |
//! | `stalls` | events that took more than 20 times base's median and more than 20 ms |
//! | `lost %` | time beyond that limit, percent of all |
//! | `p50`, `p95`, `p99`, `max` | latency of events of all windows, microseconds; `max` is the longest stall |
//! | `p50/b`, `p95/b`, `p99/b`, `max/b` | these over base's |
//! | `verdict` | verdict on the time in stalls, for runs with blocks |
//! | `dbms`, `test` | the variant and the test |

use std::rc::Rc;

use rqps_stats::Detector;
use rqps_store::Run;
use rqps_verdicts::{EventLatency, VarianceRow, variance};

use crate::comparison::{ComparedArm, Comparison, StepKind, TestStep};
use crate::document::{Block, Cell, Column, Table};
use crate::error::Result;
use crate::number;
use crate::tables::footnotes;
use crate::verdict_lines::Judged;
use crate::words;

const NUMBERS: [(&str, &str); 13] = [
    ("cv %", "rate_cv_percent"),
    ("slow %", "slow_seconds_percent"),
    ("gap s", "longest_gap_s"),
    ("stalls", "stalls"),
    ("lost %", "stalled_percent"),
    ("p50", "p50_us"),
    ("p95", "p95_us"),
    ("p99", "p99_us"),
    ("max", "max_us"),
    ("p50/b", "p50_ratio"),
    ("p95/b", "p95_ratio"),
    ("p99/b", "p99_ratio"),
    ("max/b", "max_ratio"),
];

/// Fewer blocks do not show the noise between restarts.
const BLOCKS_MIN: usize = 3;
/// Fewer events have fewer than ten beyond their 99th percentile.
const EVENTS_MIN: u64 = 1000;

/// A run's figures and verdicts.
struct Figures<'a> {
    base: usize,
    rows: Vec<VarianceRow>,
    judged: Option<Rc<Judged<'a>>>,
}

/// One row per test and arm.
pub(crate) fn blocks(comparison: &Comparison<'_>, which: StepKind) -> Result<Vec<Block>> {
    let judged = Judged::all(comparison)?;
    let mut by_run = Vec::new();
    for run in comparison.runs() {
        let base = comparison.base_in(run);
        let judged = judged.iter().find(|judged| std::ptr::eq(judged.run, run)).cloned();
        by_run.push((run, Figures { base, rows: variance(run, base)?, judged }));
    }
    let columns = NUMBERS.iter().map(|(name, key)| Column::number(*name, *key));
    let verdict = Column::keyed_words("stalls' verdict", "stalls_verdict");
    let columns = columns.chain([verdict, Column::words("dbms"), Column::words("test")]).collect();
    let mut table = Table::new("variance", "Rate per second, stalls and latencies", columns, 2);
    table.preamble.push(format!("Relative to: {}", comparison.base.label()));
    let steps = comparison.steps(which);
    for step in &steps {
        for arm in comparison.base_first() {
            let Some((_, figures)) = by_run.iter().find(|(run, _)| std::ptr::eq(*run, arm.run)) else {
                continue;
            };
            table.row_in(&step.group.title, cells(figures, &arm, step));
        }
    }
    table.footnotes =
        notes(comparison.base.run, &by_run.iter().flat_map(|(_, figures)| &figures.rows).collect::<Vec<_>>());
    table.footnotes.extend(footnotes::of_steps(comparison, &steps));
    Ok(table.block().into_iter().collect())
}

fn cells(figures: &Figures<'_>, compared: &ComparedArm<'_>, step: &TestStep) -> Vec<Cell> {
    let arm = compared.run.arms.iter().position(|arm| std::ptr::eq(arm, compared.arm));
    let row =
        |arm: Option<usize>| figures.rows.iter().find(|row| Some(row.arm) == arm && row.test == step.name);
    let (own, base) = (row(arm), row(Some(figures.base)).filter(|_| arm != Some(figures.base)));
    let seconds = own.and_then(|row| row.per_second);
    let latency = own.and_then(|row| row.latency);
    let base_latency = base.and_then(|row| row.latency);
    let micros = |get: fn(&EventLatency) -> f64| Cell::fixed(latency.as_ref().map(get), 0);
    let over_base = |get: fn(&EventLatency) -> f64| {
        Cell::fixed(number::ratio(latency.as_ref().map(get), base_latency.as_ref().map(get)), 2)
    };
    vec![
        Cell::fixed(seconds.map(|second| second.cv * 100.0), 1),
        Cell::fixed(seconds.map(|second| second.slow_share * 100.0), 1),
        Cell::fixed(seconds.map(|second| second.longest_gap_s as f64), 0),
        Cell::fixed(latency.map(|latency| latency.stalls as f64), 0),
        Cell::fixed(latency.map(|latency| latency.stalled_share * 100.0), 2),
        micros(|latency| latency.p50_us),
        micros(|latency| latency.p95_us),
        micros(|latency| latency.p99_us),
        micros(|latency| latency.max_us),
        over_base(|latency| latency.p50_us),
        over_base(|latency| latency.p95_us),
        over_base(|latency| latency.p99_us),
        over_base(|latency| latency.max_us),
        verdict(figures, arm, &step.name),
        Cell::words(compared.label()),
        Cell::words(&*step.name),
    ]
}

fn verdict(figures: &Figures<'_>, arm: Option<usize>, test: &str) -> Cell {
    let judged = figures.judged.as_ref().zip(arm);
    let verdict = judged.and_then(|(judged, arm)| judged.verdicts.verdict(test, arm, Detector::Stalls));
    verdict.map_or_else(Cell::missing, words::verdict_cell)
}

fn notes(run: &Run, rows: &[&VarianceRow]) -> Vec<String> {
    let events = run.terms().events;
    let mut notes = vec![format!(
        "stalls: events that took more than 20 times base's median and 20 ms; lost: time beyond that. Latencies are of \
         {events} over all windows; their ratios have no interval"
    )];
    if rows.iter().any(|row| row.per_second.is_none()) {
        notes.push(format!("per-second rates need a window of at least {} s", rqps_verdicts::SECONDS_MIN));
    }
    if rows.iter().any(|row| row.blocks < BLOCKS_MIN) {
        notes.push(format!(
            "with fewer than {BLOCKS_MIN} server restarts, a difference of percentiles may just be one between restarts"
        ));
    }
    if rows.iter().filter_map(|row| row.latency).any(|latency| latency.events < EVENTS_MIN) {
        notes.push(format!("p99 of fewer than {EVENTS_MIN} events is based on fewer than ten of them"));
    }
    notes
}
