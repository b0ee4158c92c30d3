//! The rate of background writes of the query steps: target and achieved.
//!
//! | column | means |
//! | --- | --- |
//! | a step | rows inserted per second over all clients, from the common start to the last commit. The same number was deleted |
//! | `dbms` | the system; the last row is the target rate |
//!
//! The second table has the share of full seconds with less than 0.95 of the target rows committed.

use super::rates::by_system;
use super::{marked, names, notes};
use crate::background::KEPT_MIN;
use crate::comparison::{ComparedArm, Comparison, StepKind, TestStep};
use crate::document::{Block, Cell, Table, Tint};

/// Label of the row of target rates.
const TARGET: &str = "target";

/// Both tables; empty if no step has background writes.
pub(crate) fn blocks(comparison: &Comparison<'_>) -> Vec<Block> {
    let (all, mut steps) = (comparison.base_first(), comparison.steps(StepKind::Tests));
    steps.retain(|step| all.iter().any(|arm| arm.background(&step.name).is_some()));
    if steps.is_empty() {
        return Vec::new();
    }
    vec![Block::Table(rates(comparison, &all, &steps)), Block::Table(seconds(comparison, &all, &steps))]
}

fn rates(comparison: &Comparison<'_>, all: &[ComparedArm<'_>], steps: &[TestStep]) -> Table {
    let cell = |arm: &ComparedArm<'_>, step: &TestStep| {
        let tint = if arm.missed(&step.name) { Tint::Worst } else { Tint::None };
        let rate = arm.background(&step.name).map(|background| background.per_s);
        Cell { tint, ..marked(Cell::rate(rate), arm.missed(&step.name)) }
    };
    let columns = steps.iter().map(|step| all.iter().map(|arm| cell(arm, step)).collect()).collect();
    let title = "Background inserts/s (deletes/s are the same)";
    let mut table = by_system("background_rate", title, all, steps, columns);
    let target = |step: &TestStep| {
        let target = all.iter().find_map(|arm| arm.background(&step.name)).map(|one| one.target_per_s);
        Cell { tint: Tint::Unranked, ..Cell::rate(target) }
    };
    let targets = steps.iter().map(target);
    let targets: Vec<Cell> = targets.chain([Cell::words(TARGET)]).collect();
    table.row(targets);
    table.preamble = names(comparison);
    table.footnotes = vec![format!("met: at least {KEPT_MIN} of the target")];
    table.footnotes.extend(notes(comparison, steps));
    table
}

fn seconds(comparison: &Comparison<'_>, all: &[ComparedArm<'_>], steps: &[TestStep]) -> Table {
    let cell = |arm: &ComparedArm<'_>, step: &TestStep| {
        let background = arm.background(&step.name);
        let share = background.and_then(|background| background.percent_below());
        marked(Cell::fixed(share, 1), arm.missed(&step.name))
    };
    let columns = steps.iter().map(|step| all.iter().map(|arm| cell(arm, step)).collect()).collect();
    let title = format!("Seconds below {KEPT_MIN} of the target, percent");
    let mut table = by_system("background_seconds_below", &title, all, steps, columns);
    table.preamble = names(comparison);
    table
}
