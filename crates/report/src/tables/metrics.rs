//! Cost per operation, test by test: values, then ratios to the first row (the base).
//!
//! `per_op.rs` has the columns (`cpu/o`, `cpu_us/o`, `cs/o`, `r/o`, `rKB/o`, `w/o`, `wKB/o`, `dw/o`,
//! `fsync/o`, `o/s`, `instr/o`), their formulas, and the rule for ratios of small values. `dbms` is the
//! variant. The load comes first (an operation is a row), then the tests, by unit in order of appearance.

use crate::comparison::{ComparedArm, Comparison, StepKind, TestStep};
use crate::document::{Block, Cell, Column, Table, keep_footnotes_once};
use crate::error::Result;
use crate::per_op::{self, Cost, LEGEND};
use crate::tables::{footnotes, loads};

/// Two tables each for the load and every test.
pub(crate) fn blocks(comparison: &Comparison<'_>, which: StepKind) -> Result<Vec<Block>> {
    let with_rate = !comparison.leaves_out_rates()?;
    let steps = comparison.steps(which);
    let units = comparison.units(&steps);
    let mut steps: Vec<&TestStep> = steps.iter().collect();
    steps.sort_by_key(|step| units.iter().position(|(_, tests)| tests.contains(&step.name.as_str())));
    // Once, not below each table.
    let note = footnotes::of_costs_in_blocks(comparison).filter(|_| !steps.is_empty());
    let mut blocks: Vec<Block> = note.into_iter().map(Block::Text).collect();
    if which == StepKind::Tests
        && comparison.arms.iter().any(|arm| arm.load().is_some())
        && comparison.shows_all()
    {
        let notes = loads::first_of_several(comparison).into_iter().collect();
        blocks.extend(tables(comparison, ("load", true), notes, |arm| arm.load().map(Cost::from)));
    }
    for step in steps {
        let step_only = std::slice::from_ref(step);
        let mut notes = footnotes::of_steps(comparison, step_only);
        notes.extend(footnotes::of_rates(comparison, step_only));
        notes.extend(footnotes::of_background(comparison, step_only));
        let named = (step.name.as_str(), with_rate);
        blocks.extend(tables(comparison, named, notes, |arm| arm.cost(&step.name)));
    }
    keep_footnotes_once(&mut blocks);
    Ok(blocks)
}

fn tables<'a>(
    comparison: &Comparison<'a>,
    (test, with_rate): (&str, bool),
    notes: Vec<String>,
    cost: impl Fn(&ComparedArm<'a>) -> Option<Cost<'a>>,
) -> [Block; 2] {
    let columns = per_op::columns(&comparison.arms.iter().filter_map(&cost).collect::<Vec<_>>(), with_rate);
    let headings = || columns.iter().map(|column| column.column()).chain([Column::words("dbms")]).collect();
    let title = format!("{test}: absolute");
    let mut absolute = Table::new("per_op", title, headings(), 1).about("test", test);
    let title = format!("{test}: relative to the first row");
    let mut relative = Table::new("per_op_relative", title, headings(), 1).about("test", test);
    let base = cost(&comparison.base);
    for arm in comparison.base_first() {
        let cost = cost(&arm);
        let cells = columns.iter().map(|column| column.absolute(cost.as_ref()));
        absolute.row(cells.chain([Cell::words(arm.label())]).collect());
    }
    for arm in comparison.others() {
        let cost = cost(arm);
        let cells = columns.iter().map(|column| column.relative(base.as_ref(), cost.as_ref()));
        relative.row(cells.chain([Cell::words(arm.label())]).collect());
    }
    if relative.rows.iter().flat_map(|row| &row.cells).any(|cell| cell.text.starts_with(['~', '>'])) {
        relative.footnotes.push(LEGEND.to_owned());
    }
    absolute.footnotes = notes;
    [Block::Table(absolute), Block::Table(relative)]
}
