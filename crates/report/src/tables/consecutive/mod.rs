//! Tables of consecutive steps: systems as rows and steps as columns if there is one figure per step, else a row for
//! each step of a system. [`MARK`] precedes the figures of a step that missed its target rate of background writes, in
//! addition to the warning in every table of such a run.

pub(crate) mod background;
pub(crate) mod cpu;
pub(crate) mod ends;
pub(crate) mod headline;
mod ranges;
pub(crate) mod rates;
pub(crate) mod responses;
pub(crate) mod sessions;
pub(crate) mod state;

use rqps_store::{Recorded, Window};

use crate::background::MARK;
use crate::document::{Cell, Table};
use crate::sides::{Side, Sides, StepKind, TestStep};
use crate::tables::footnotes;

/// Lines above a table that explain its short names of systems.
fn names(sides: &Sides<'_>) -> Vec<String> {
    let line = |side: &Side<'_>| {
        let (name, variant) = (side.reference(), side.arm.variant());
        (name != variant).then(|| format!("{name} : {variant}"))
    };
    sides.base_first().iter().filter_map(line).collect()
}

/// Footnotes of a table of steps: empty cells, repeated steps, missed targets of background writes.
fn notes(sides: &Sides<'_>, steps: &[TestStep]) -> Vec<String> {
    let mut notes = footnotes::of_steps(sides, steps);
    notes.extend(footnotes::of_background(sides, steps));
    notes
}

/// A number with [`MARK`] before it where `missed`.
fn marked(cell: Cell, missed: bool) -> Cell {
    match missed && !cell.is_missing() {
        true => Cell { text: format!("{MARK}{}", cell.text), ..cell },
        false => cell,
    }
}

/// One row for each arm that measured a step, step by step. The labels, arm and step, are added.
fn by_step(
    sides: &Sides<'_>,
    which: StepKind,
    table: &mut Table,
    cells: impl Fn(&Side<'_>, &TestStep, &Recorded<Window>) -> Vec<Cell>,
) {
    let steps = sides.steps(which);
    for step in &steps {
        for side in sides.base_first() {
            let Ok(window) = side.window(&step.name) else { continue };
            let mut row = marked_row(&side, step, cells(&side, step, window));
            row.extend([Cell::words(side.reference()), Cell::words(&*step.name)]);
            table.row(row);
        }
    }
    table.preamble.extend(names(sides));
    table.footnotes.extend(notes(sides, &steps));
}

/// The figures of a step, the first of them marked if it missed its target. Names are not marked, because programs look
/// for them.
fn marked_row(side: &Side<'_>, step: &TestStep, mut cells: Vec<Cell>) -> Vec<Cell> {
    if let Some(first) = cells.iter_mut().find(|cell| cell.value.is_some()) {
        *first = marked(first.clone(), side.missed(&step.name));
    }
    cells
}
