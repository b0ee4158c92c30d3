//! Tables of consecutive steps: systems as rows and steps as columns if there is one figure per step, else
//! one row per step of a system. [`MARK`] precedes the figures of a step that missed its target rate of
//! background writes, in addition to the warning in every table of such a run.

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
use crate::comparison::{ComparedArm, Comparison, StepKind, TestStep};
use crate::document::{Cell, Table};
use crate::tables::footnotes;

/// Lines above a table that explain short names of systems.
fn names(comparison: &Comparison<'_>) -> Vec<String> {
    let line = |compared: &ComparedArm<'_>| {
        let (name, variant) = (compared.reference(), compared.arm.variant());
        (name != variant).then(|| format!("{name} : {variant}"))
    };
    comparison.base_first().iter().filter_map(line).collect()
}

/// Footnotes of a table of steps: empty cells, repeated steps, missed targets of background writes.
fn notes(comparison: &Comparison<'_>, steps: &[TestStep]) -> Vec<String> {
    let mut notes = footnotes::of_steps(comparison, steps);
    notes.extend(footnotes::of_background(comparison, steps));
    notes
}

/// Prefixes a number with [`MARK`] if `missed`.
fn marked(cell: Cell, missed: bool) -> Cell {
    match missed && !cell.is_missing() {
        true => Cell { text: format!("{MARK}{}", cell.text), ..cell },
        false => cell,
    }
}

/// Adds one row per step and arm that has it: `cells`, then the labels arm and step.
fn by_step(
    comparison: &Comparison<'_>,
    which: StepKind,
    table: &mut Table,
    cells: impl Fn(&ComparedArm<'_>, &TestStep, &Recorded<Window>) -> Vec<Cell>,
) {
    let steps = comparison.steps(which);
    for step in &steps {
        for arm in comparison.base_first() {
            let Ok(window) = arm.window(&step.name) else { continue };
            let mut row = marked_row(&arm, step, cells(&arm, step, window));
            row.extend([Cell::words(arm.reference()), Cell::words(&*step.name)]);
            table.row(row);
        }
    }
    table.preamble.extend(names(comparison));
    table.footnotes.extend(notes(comparison, &steps));
}

/// Marks the first figure of a row if the step missed its target. Names are not marked: programs search for
/// them.
fn marked_row(arm: &ComparedArm<'_>, step: &TestStep, mut cells: Vec<Cell>) -> Vec<Cell> {
    if let Some(first) = cells.iter_mut().find(|cell| cell.value.is_some()) {
        *first = marked(first.clone(), arm.missed(&step.name));
    }
    cells
}
