//! The headline: what to check first, disturbances, each variant's median per group, and the tests at 0.95 or below,
//! or 1.05 or above.
//!
//! | column | means |
//! | --- | --- |
//! | `rQPS` | rate relative to the base |
//! | `points` | its change in points of 0.01 |
//! | `cpu/o`, `cpu_us/o` | the host's and the server's CPU per operation, relative to the base's; see `per_op.rs`. In blocks, `cpu_us/o` is that of the verdict, as rQPS |
//! | `dbms` | the variant |
//! | `test` | the test; listed if its rounded rQPS is 0.95 or less, or 1.05 or more |

use rqps_model::part_of;
use rqps_store::Run;

use crate::comparison::{ComparedArm, Comparison, Pair, StepKind, TestStep};
use crate::document::{Block, Cell, Column, Figure, Table};
use crate::number;
use crate::per_op::{CPU, PerOp, SERVER_CPU};
use crate::tables::{conditions, disturbed, doubts, relative};
use crate::words;

/// Maximum rows of the table of far tests.
const ROWS_MAX: usize = 40;

const SINGLE_PASS: &str =
    "A single pass has no error bars: noise may be all of a difference. `passes = 3` in the plan repeats it.";

/// A sentence per variant, and the table of far tests.
pub(crate) fn blocks(comparison: &Comparison<'_>) -> Vec<Block> {
    let steps = comparison.steps(StepKind::Tests);
    let mut blocks: Vec<Block> = comparison.runs().into_iter().flat_map(doubts::blocks).collect();
    if comparison.others().next().is_none() {
        blocks.push(Block::Text(comparison.nothing_to_compare()));
        blocks.extend(conditions::warnings(comparison.base.run).map(Block::Text));
        return blocks;
    }
    blocks.extend(disturbed::sentences(comparison, &steps).into_iter().map(Block::Alarm));
    blocks.push(Block::Items(comparison.pairs().map(|pair| sentence(comparison, &pair, &steps)).collect()));
    let is_single_pass =
        |run: &&Run| run.meta.protocol != "isolated" && !run.meta.is_imported() && run.blocks.len() < 2;
    if comparison.runs().iter().any(is_single_pass) {
        blocks.push(Block::Text(SINGLE_PASS.to_owned()));
    }
    blocks.extend(measured_with(comparison));
    blocks.extend(far_tests(comparison, &steps).block());
    blocks
}

/// What the runs were measured with, that of base first.
pub(crate) fn measured_with(comparison: &Comparison<'_>) -> Vec<Block> {
    let of_base = comparison.base.run;
    let others = comparison.runs().into_iter().filter(|run| !std::ptr::eq(*run, of_base));
    let runs = std::iter::once(of_base).chain(others);
    conditions::blocks(&runs.map(|run| (run, comparison.base_in(run))).collect::<Vec<_>>())
}

/// A variant's medians, and how many tests are far from base.
pub(crate) fn sentence(comparison: &Comparison<'_>, pair: &Pair<'_>, steps: &[TestStep]) -> String {
    let ratios: Vec<f64> = steps.iter().filter_map(|step| pair.ranked_ratio(&step.name)).collect();
    if ratios.is_empty() && steps.iter().any(|step| pair.was_set(&step.name)) {
        return format!("{}: no rQPS, since an option set the rates", pair.arm.label());
    }
    if ratios.is_empty() {
        return format!(
            "{}: no rQPS, since no test has a valid rate both on it and on base",
            pair.arm.label()
        );
    }
    let far = ratios.iter().filter(|ratio| number::side_of_band(**ratio) != 0).count();
    format!(
        "{}: median rQPS {}. {} tests at 0.95 or below, or 1.05 or above",
        pair.arm.label(),
        medians(comparison, pair, steps),
        words::capitalized(&part_of(far, ratios.len()))
    )
}

/// The median of each group: `point 0.97 (-3 points), range 1.01 (+1)`.
fn medians(comparison: &Comparison<'_>, pair: &Pair<'_>, steps: &[TestStep]) -> String {
    let mut parts = Vec::new();
    for of_group in steps.chunk_by(|a, b| a.group == b.group) {
        let ratio = |step: &TestStep| {
            Some((pair.ranked_ratio(&step.name)?, relative::cell_of(comparison, pair, step).text))
        };
        // Imported tests may have no groups but one of all.
        let group = match &*of_group[0].group.short {
            "" => String::new(),
            short => format!("{short} "),
        };
        parts.push(match number::median(of_group.iter().filter_map(ratio).collect()) {
            Some((median, text)) => {
                let unit = match (parts.is_empty(), (number::points(median) - 100).abs()) {
                    (true, 1) => " point",
                    (true, _) => " points",
                    (false, _) => "",
                };
                format!("{group}{text} ({}{unit})", number::points_change(median))
            }
            None => format!("{group}-"),
        });
    }
    parts.join(", ")
}

fn far_tests<'a>(comparison: &Comparison<'a>, steps: &[TestStep]) -> Table {
    let mut far: Vec<(f64, ComparedArm<'a>, &TestStep)> = Vec::new();
    for step in steps {
        far.extend(comparison.pairs().filter_map(|pair| {
            let ratio = pair.ranked_ratio(&step.name).filter(|ratio| number::side_of_band(*ratio) != 0);
            Some((ratio?, pair.arm, step))
        }));
    }
    let all = far.len();
    if all > ROWS_MAX {
        let mut distances: Vec<f64> = far.iter().map(|(ratio, ..)| distance(*ratio)).collect();
        distances.sort_by(|a, b| b.total_cmp(a));
        far.retain(|(ratio, ..)| distance(*ratio) >= distances[ROWS_MAX - 1]);
        far.truncate(ROWS_MAX);
    }
    let cost_ratio = |column: &PerOp, arm: &ComparedArm<'_>, step: &TestStep| {
        column.relative(comparison.base.cost(&step.name).as_ref(), arm.cost(&step.name).as_ref())
    };
    let figures: [Figure<'_, (f64, ComparedArm<'a>, &TestStep)>; 6] = [
        (Column::number("rQPS", "rqps"), &|(ratio, ..)| Cell::fixed(Some(*ratio), 2)),
        (Column::number("points", "points"), &|(ratio, ..)| {
            Cell::number((number::points(*ratio) - 100) as f64, number::points_change(*ratio))
        }),
        (Column::number("cpu/o", "cpu_per_op_ratio"), &|(_, arm, step)| cost_ratio(&CPU, arm, step)),
        (Column::number("cpu_us/o", "cpu_us_per_op_ratio"), &|(_, arm, step)| {
            cost_ratio(&SERVER_CPU, arm, step)
        }),
        (Column::words("dbms"), &|(_, arm, _)| Cell::words(arm.label())),
        (Column::words("test"), &|(.., step)| Cell::words(&*step.name)),
    ];
    let title = "Tests at 0.95 or below, or at 1.05 or above";
    let mut table = Table::of_figures("outside", title, &figures, 2, far);
    table.preamble.push(format!("Relative to: {}", comparison.base.label()));
    let run = comparison.base.run;
    if run.terms().has_program {
        let program = run.terms().program;
        table.footnotes.push(format!(
            "cpu/o: CPU time per operation of the whole host, clients and others included; cpu_us/o: of the {program} alone. \
             Both relative to base's"
        ));
    }
    if all > ROWS_MAX {
        let note = format!("the {ROWS_MAX} farthest from 1 of {all}; the table of relative rates has all");
        table.footnotes.push(note);
    }
    table
}

/// Logarithmic distance of a ratio from 1: 0.5 and 2 are equally far.
fn distance(ratio: f64) -> f64 {
    ratio.ln().abs()
}
