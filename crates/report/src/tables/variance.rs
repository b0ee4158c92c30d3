//! How evenly tests ran: a mean hides a second without a response.
//!
//! | column | means |
//! | --- | --- |
//! | `cv %` | standard deviation of the rate from second to second, percent of the window's mean |
//! | `slow %` | seconds under half of their window's median, percent |
//! | `gap s` | longest run of seconds under a tenth of it |
//! | `stalls` | events that took longer than a stall takes at least: 20 times base's median, and 20 ms |
//! | `lost %` | time beyond that, percent of all |
//! | `p50`, `p95`, `p99`, `max` | latency of events of all windows, microseconds; `max` is the longest stall |
//! | `p50/b`, `p95/b`, `p99/b`, `max/b` | the same over base's |
//! | `verdict` | on the time that stalls take: runs with blocks |
//! | `dbms`, `test` | the variant and the test |

use rqps_stats::Detector;
use rqps_verdicts::{EventLatency, VarianceRow, variance};

use crate::document::{Block, Cell, Column, Table};
use crate::error::Result;
use crate::number;
use crate::sides::{Side, Sides, StepKind, TestStep};
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

/// Fewer blocks say nothing about noise.
const BLOCKS_MIN: usize = 3;
/// Fewer events have fewer than ten beyond their 99th percentile.
const EVENTS_MIN: u64 = 1000;

/// One run's figures with its verdicts.
struct OfRun<'a> {
    base: usize,
    rows: Vec<VarianceRow>,
    judged: Option<Judged<'a>>,
}

/// One row for each test and arm.
pub(crate) fn blocks(sides: &Sides<'_>, which: StepKind) -> Result<Vec<Block>> {
    let mut of_runs = Vec::new();
    for run in sides.runs() {
        let base = sides.base_in(run);
        of_runs.push((run, OfRun { base, rows: variance(run, base)?, judged: Judged::from_run(run, base)? }));
    }
    let columns = NUMBERS.iter().map(|(name, key)| Column::number(*name, *key));
    let verdict = Column::keyed_words("verdict", "stalls_verdict");
    let columns = columns.chain([verdict, Column::words("dbms"), Column::words("test")]).collect();
    let mut table = Table::new("variance", "Rate per second, stalls and latencies", columns, 2);
    table.preamble.push(format!("Relative to: {}", sides.base.label()));
    let steps = sides.steps(which);
    for step in &steps {
        for side in sides.base_first() {
            let Some((_, of_run)) = of_runs.iter().find(|(run, _)| std::ptr::eq(*run, side.run)) else {
                continue;
            };
            table.row_in(&step.group.title, cells(of_run, &side, step));
        }
    }
    table.footnotes = notes(&of_runs.iter().flat_map(|(_, of_run)| &of_run.rows).collect::<Vec<_>>());
    table.footnotes.extend(footnotes::of_steps(sides, &steps));
    Ok(table.block().into_iter().collect())
}

fn cells(of_run: &OfRun<'_>, side: &Side<'_>, step: &TestStep) -> Vec<Cell> {
    let arm = side.run.arms.iter().position(|arm| std::ptr::eq(arm, side.arm));
    let row =
        |arm: Option<usize>| of_run.rows.iter().find(|row| Some(row.arm) == arm && row.test == step.name);
    let (own, base) = (row(arm), row(Some(of_run.base)).filter(|_| arm != Some(of_run.base)));
    let seconds = own.and_then(|row| row.per_second);
    let latency = own.and_then(|row| row.latency);
    let of_base = base.and_then(|row| row.latency);
    let micros = |of: fn(&EventLatency) -> f64| Cell::fixed(latency.as_ref().map(of), 0);
    let over_base = |of: fn(&EventLatency) -> f64| {
        Cell::fixed(number::ratio(latency.as_ref().map(of), of_base.as_ref().map(of)), 2)
    };
    vec![
        Cell::fixed(seconds.map(|of| of.cv * 100.0), 1),
        Cell::fixed(seconds.map(|of| of.slow_share * 100.0), 1),
        Cell::fixed(seconds.map(|of| of.longest_gap_s as f64), 0),
        Cell::fixed(latency.map(|of| of.stalls as f64), 0),
        Cell::fixed(latency.map(|of| of.stalled_share * 100.0), 2),
        micros(|of| of.p50_us),
        micros(|of| of.p95_us),
        micros(|of| of.p99_us),
        micros(|of| of.max_us),
        over_base(|of| of.p50_us),
        over_base(|of| of.p95_us),
        over_base(|of| of.p99_us),
        over_base(|of| of.max_us),
        verdict(of_run, arm, &step.name),
        Cell::words(side.label()),
        Cell::words(&*step.name),
    ]
}

fn verdict(of_run: &OfRun<'_>, arm: Option<usize>, test: &str) -> Cell {
    let judged = of_run.judged.as_ref().zip(arm);
    let of_arm = judged.and_then(|(judged, arm)| judged.verdicts.verdict(test, arm, Detector::Stalls));
    let Some(verdict) = of_arm else {
        return Cell::missing();
    };
    words::verdict_cell(verdict)
}

fn notes(rows: &[&VarianceRow]) -> Vec<String> {
    let mut notes = vec![
        "stalls: events that took more than 20 times base's median and 20 ms; lost: time beyond that. Latencies are of \
         events, from sending to the complete response, over all windows; their ratios have no interval"
            .to_owned(),
    ];
    if rows.iter().any(|row| row.per_second.is_none()) {
        notes.push(format!("per-second rates need a window of at least {} s", rqps_verdicts::SECONDS_MIN));
    }
    if rows.iter().any(|row| row.blocks < BLOCKS_MIN) {
        notes.push(format!(
            "with fewer than {BLOCKS_MIN} server restarts, a difference of percentiles may just be one between restarts"
        ));
    }
    if rows.iter().filter_map(|row| row.latency).any(|of| of.events < EVENTS_MIN) {
        notes.push(format!("p99 of fewer than {EVENTS_MIN} events is based on fewer than ten of them"));
    }
    notes
}
