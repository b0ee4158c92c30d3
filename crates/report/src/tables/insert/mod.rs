//! Tables of the Insert Benchmark: systems as rows and steps as columns where a figure is one for each step, else a
//! group of rows for each step. A step that did not keep its rate of background writes has [`MARK`] before its figures
//! in every one of them, beside the warning that every table of such a run has.

pub(crate) mod background;
pub(crate) mod cpu;
pub(crate) mod ends;
mod ranges;
pub(crate) mod rates;
pub(crate) mod responses;
pub(crate) mod sessions;
pub(crate) mod state;

use rqps_store::{Recorded, Window};

use crate::background::MARK;
use crate::document::{Cell, Row, RowKind, Table};
use crate::sides::{Side, Sides, TestStep, Which};
use crate::tables::footnotes;

/// The step that builds the indexes.
const INDEXES: &str = "l.x";

/// Lines above a table that say which systems its short names stand for.
fn names(sides: &Sides<'_>) -> Vec<String> {
    let line = |side: &Side<'_>| {
        let (name, variant) = (side.reference(), side.arm.variant());
        (name != variant).then(|| format!("{name} : {variant}"))
    };
    sides.base_first().iter().filter_map(line).collect()
}

/// What stands below a table of steps: empty cells, repeated steps, steps that did not keep their rate.
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

/// One row for each arm that measured a step, grouped by step. The labels, arm and step, are added.
fn by_step(
    sides: &Sides<'_>,
    which: Which,
    table: &mut Table,
    cells: impl Fn(&Side<'_>, &TestStep, &Recorded<Window>) -> Vec<Cell>,
) {
    let steps = sides.steps(which);
    for step in &steps {
        for side in sides.base_first() {
            let Ok(window) = side.window(&step.name) else { continue };
            let mut row = cells(&side, step, window);
            row.extend([Cell::words(side.reference()), step_cell(&side, step)]);
            table.rows.push(Row { group: Some(step.name.clone()), kind: RowKind::Body, cells: row });
        }
    }
    table.preamble.extend(names(sides));
    table.footnotes.extend(notes(sides, &steps));
}

/// The step's name as a row of an arm has it.
fn step_cell(side: &Side<'_>, step: &TestStep) -> Cell {
    match side.missed(&step.name) {
        true => Cell::words(format!("{MARK}{}", step.name)),
        false => Cell::words(&*step.name),
    }
}
