//! The rate of background writes of the query steps: target and achieved.
//!
//! | column | means |
//! | --- | --- |
//! | a step | rows per second that were inserted, over all clients, from the common start to the last commit. As many were deleted |
//! | `dbms` | the system; the last row is the target rate |
//!
//! The second table has the share of full seconds with less than 0.95 of the target rows committed.

use super::rates::by_system;
use super::{marked, names, notes};
use crate::background::KEPT_MIN;
use crate::document::{Block, Cell, Table, Tint};
use crate::sides::{Side, Sides, StepKind, TestStep};

/// Label of the row of target rates.
const TARGET: &str = "target";

/// Both tables; nothing where no step writes in the background.
pub(crate) fn blocks(sides: &Sides<'_>) -> Vec<Block> {
    let (all, mut steps) = (sides.base_first(), sides.steps(StepKind::Tests));
    steps.retain(|step| all.iter().any(|side| side.background(&step.name).is_some()));
    if steps.is_empty() {
        return Vec::new();
    }
    vec![Block::Table(rates(sides, &all, &steps)), Block::Table(seconds(sides, &all, &steps))]
}

fn rates(sides: &Sides<'_>, all: &[Side<'_>], steps: &[TestStep]) -> Table {
    let cell = |side: &Side<'_>, step: &TestStep| {
        let tint = if side.missed(&step.name) { Tint::Worst } else { Tint::None };
        let rate = side.background(&step.name).map(|background| background.rows_per_s);
        Cell { tint, ..marked(Cell::rate(rate), side.missed(&step.name)) }
    };
    let columns = steps.iter().map(|step| all.iter().map(|side| cell(side, step)).collect()).collect();
    let title = "Background inserts/s (deletes/s are the same)";
    let mut table = by_system("background_rate", title, all, steps, columns);
    let target = |step: &TestStep| {
        let target = all.iter().find_map(|side| side.background(&step.name)).map(|one| one.target_rows_per_s);
        Cell { tint: Tint::Unranked, ..Cell::rate(target) }
    };
    let targets = steps.iter().map(target);
    let targets: Vec<Cell> = targets.chain([Cell::words(TARGET)]).collect();
    table.row(targets);
    table.preamble = names(sides);
    table.footnotes = vec![format!("met: at least {KEPT_MIN} of the target")];
    table.footnotes.extend(notes(sides, steps));
    table
}

fn seconds(sides: &Sides<'_>, all: &[Side<'_>], steps: &[TestStep]) -> Table {
    let cell = |side: &Side<'_>, step: &TestStep| {
        let background = side.background(&step.name);
        let share = background.and_then(|background| background.percent_below());
        marked(Cell::fixed(share, 1), side.missed(&step.name))
    };
    let columns = steps.iter().map(|step| all.iter().map(|side| cell(side, step)).collect()).collect();
    let title = format!("Seconds below {KEPT_MIN} of the target, percent");
    let mut table = by_system("background_seconds_below", &title, all, steps, columns);
    table.preamble = names(sides);
    table
}
