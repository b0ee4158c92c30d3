//! Cost per operation, test by test: the values, then each relative to the first (the base).
//!
//! The columns (`cpu/o`, `cpu_us/o`, `cs/o`, `r/o`, `rKB/o`, `w/o`, `wKB/o`, `dw/o`, `fsync/o`, `o/s`, `instr/o`), and
//! their formulas and the rule for ratios on small values, are in `per_op.rs`. `dbms` is the variant. The load comes
//! first (an operation is a row), then tests by what an operation is, in the order in which units appear.

use crate::document::{Block, Cell, Column, Table};
use crate::per_op::{self, Cost, LEGEND};
use crate::sides::{Side, Sides, StepKind, TestStep};
use crate::tables::footnotes;

/// Two tables for the load and for each test.
pub(crate) fn blocks(sides: &Sides<'_>, which: StepKind) -> Vec<Block> {
    let steps = sides.steps(which);
    let units = sides.units(&steps);
    let mut steps: Vec<&TestStep> = steps.iter().collect();
    steps.sort_by_key(|step| units.iter().position(|(_, tests)| tests.contains(&step.name.as_str())));
    let mut blocks = Vec::new();
    if which == StepKind::Tests && sides.all.iter().any(|side| side.load().is_some()) && sides.shows_all() {
        blocks.extend(of_test(sides, "load", Vec::new(), |side| side.load().map(Cost::from)));
    }
    for step in steps {
        let this = std::slice::from_ref(step);
        let mut notes = footnotes::of_steps(sides, this);
        notes.extend(footnotes::of_rates(sides, this));
        notes.extend(footnotes::of_background(sides, this));
        blocks.extend(of_test(sides, &step.name, notes, |side| side.window(&step.name).ok().map(Cost::from)));
    }
    blocks
}

fn of_test<'a>(
    sides: &Sides<'a>,
    test: &str,
    notes: Vec<String>,
    cost: impl Fn(&Side<'a>) -> Option<Cost<'a>>,
) -> [Block; 2] {
    let known = per_op::columns(&sides.all.iter().filter_map(&cost).collect::<Vec<_>>());
    let columns = || known.iter().map(|column| column.column()).chain([Column::words("dbms")]).collect();
    let mut absolute = Table::new("per_op", format!("{test} --- absolute"), columns(), 1).about("test", test);
    let title = format!("{test} --- relative to the first row");
    let mut relative = Table::new("per_op_relative", title, columns(), 1).about("test", test);
    let base = cost(&sides.base);
    for side in sides.base_first() {
        let this = cost(&side);
        let cells = known.iter().map(|column| column.absolute(this.as_ref()));
        absolute.row(cells.chain([Cell::words(side.label())]).collect());
    }
    for side in sides.others() {
        let this = cost(side);
        let cells = known.iter().map(|column| column.relative(base.as_ref(), this.as_ref()));
        relative.row(cells.chain([Cell::words(side.label())]).collect());
    }
    if relative.rows.iter().flat_map(|row| &row.cells).any(|cell| cell.text.starts_with(['~', '>'])) {
        relative.footnotes.push(LEGEND.to_owned());
    }
    absolute.footnotes = notes;
    [Block::Table(absolute), Block::Table(relative)]
}
