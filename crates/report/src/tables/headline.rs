//! What to read first: disturbances, each variant's median per group, and the tests at 0.95 or below, or 1.05 or above.
//!
//! | column | means |
//! | --- | --- |
//! | `rQPS` | rate relative to the base |
//! | `points` | its change in points of 0.01 |
//! | `cpu/o`, `cpu_us/o` | the host's and the server's CPU per operation, relative to the base's; see `per_op.rs` |
//! | `dbms` | the variant |
//! | `test` | the test; listed when its rQPS, as printed, is 0.95 or less, or 1.05 or more |

use crate::document::{Block, Cell, Column, Figure, Table};
use crate::number;
use crate::per_op::{CPU, Cost, PerOp, SERVER_CPU};
use crate::sides::{Side, Sides, StepKind, TestStep};
use crate::tables::disturbed;
use crate::tables::relative::{self, Pair};

/// Rows of the table of far tests.
const ROWS_MAX: usize = 40;

/// The headline's blocks: a sentence for each variant and the table of far tests.
pub(crate) fn blocks(sides: &Sides<'_>) -> Vec<Block> {
    let steps = sides.steps(StepKind::Tests);
    if sides.others().next().is_none() {
        return vec![Block::Text(format!("There is no other arm to compare {} with.", sides.base.label()))];
    }
    let sentences =
        sides.others().map(|side| sentence(&Pair { base: sides.base, side: *side }, &steps)).collect();
    let mut blocks: Vec<Block> = disturbed::sentences(sides, &steps).into_iter().map(Block::Alarm).collect();
    blocks.push(Block::Items(sentences));
    let outside = outside(sides, &steps);
    if !outside.rows.is_empty() {
        blocks.push(Block::Table(outside));
    }
    blocks
}

fn sentence(pair: &Pair<'_>, steps: &[TestStep]) -> String {
    let ratios: Vec<f64> = steps.iter().filter_map(|step| ranked(pair, step)).collect();
    let outside = ratios.iter().filter(|ratio| number::side_of_band(**ratio) != 0).count();
    format!(
        "{}: median rQPS {}. {outside} of {} tests at 0.95 or below, or 1.05 or above",
        pair.side.label(),
        medians(pair, steps),
        ratios.len()
    )
}

/// `point 0.97 (-3 points), range 1.01 (+1)`: the median of each group.
fn medians(pair: &Pair<'_>, steps: &[TestStep]) -> String {
    let mut parts = Vec::new();
    for of_group in steps.chunk_by(|a, b| a.group == b.group) {
        let ratios: Vec<f64> = of_group.iter().filter_map(|step| ranked(pair, step)).collect();
        let (group, unit) = (&*of_group[0].group.short, if parts.is_empty() { " points" } else { "" });
        parts.push(match number::median(&ratios) {
            Some(median) => format!("{group} {median:.2} ({}{unit})", number::points_change(median)),
            None => format!("{group} -"),
        });
    }
    parts.join(", ")
}

/// The ratio of a step; none if one of the two missed its target rate of background writes.
fn ranked(pair: &Pair<'_>, step: &TestStep) -> Option<f64> {
    relative::ratio(pair, &step.name).filter(|_| !pair.missed(step))
}

fn outside(sides: &Sides<'_>, steps: &[TestStep]) -> Table {
    let mut far: Vec<(f64, Side<'_>, &TestStep)> = Vec::new();
    for step in steps {
        for side in sides.others() {
            let pair = Pair { base: sides.base, side: *side };
            let ratio = ranked(&pair, step).filter(|ratio| number::side_of_band(*ratio) != 0);
            far.extend(ratio.map(|ratio| (ratio, *side, step)));
        }
    }
    let all = far.len();
    if let Some(limit) = distance_of_last_row(&far) {
        far.retain(|(ratio, ..)| distance(*ratio) >= limit);
        far.truncate(ROWS_MAX);
    }
    let cost_ratio = |column: &PerOp, side: &Side<'_>, step: &TestStep| {
        column.relative(cost(&sides.base, &step.name).as_ref(), cost(side, &step.name).as_ref())
    };
    let figures: [Figure<'_, (f64, Side<'_>, &TestStep)>; 6] = [
        (Column::number("rQPS", "rqps"), &|(ratio, ..)| Cell::fixed(Some(*ratio), 2)),
        (Column::number("points", "points"), &|(ratio, ..)| {
            Cell::number((number::points(*ratio) - 100) as f64, number::points_change(*ratio))
        }),
        (Column::number("cpu/o", "cpu_per_op_ratio"), &|(_, side, step)| cost_ratio(&CPU, side, step)),
        (Column::number("cpu_us/o", "cpu_us_per_op_ratio"), &|(_, side, step)| {
            cost_ratio(&SERVER_CPU, side, step)
        }),
        (Column::words("dbms"), &|(_, side, _)| Cell::words(side.label())),
        (Column::words("test"), &|(.., step)| Cell::words(&*step.name)),
    ];
    let title = "Tests at 0.95 or below, or at 1.05 or above";
    let mut table = Table::of_figures("outside", title, &figures, 2, far);
    table.preamble.push(format!("Relative to: {}", sides.base.label()));
    if all > ROWS_MAX {
        let note = format!("the {ROWS_MAX} farthest from 1 of {all}; the table of relative rates has all");
        table.footnotes.push(note);
    }
    table
}

/// How far a ratio is from 1, alike for halves and doubles.
fn distance(ratio: f64) -> f64 {
    ratio.ln().abs()
}

/// The distance of the last row that has room; none when all have.
fn distance_of_last_row(far: &[(f64, Side<'_>, &TestStep)]) -> Option<f64> {
    let mut distances: Vec<f64> = far.iter().map(|(ratio, ..)| distance(*ratio)).collect();
    distances.sort_by(|a, b| b.total_cmp(a));
    (far.len() > ROWS_MAX).then(|| distances[ROWS_MAX - 1])
}

fn cost<'a>(side: &Side<'a>, step: &str) -> Option<Cost<'a>> {
    side.window(step).ok().map(Cost::from)
}
