//! Rates of all steps, one row a system: absolute, and relative to base.
//!
//! | column | means |
//! | --- | --- |
//! | a step | what its unit counts, per second, over all clients: the footnotes say it |
//! | `dbms` | the system |
//!
//! Absolute rates are coloured by the range of their column (`ranges.rs`), relative ones red at 0.95 and below, green
//! at 1.05 and above. Neither holds a rate of queries whose step did not keep its rate of background writes.

use super::ranges::{Ranked, tints};
use super::{marked, names, notes};
use crate::document::{Cell, Column, Table, Tint};
use crate::sides::{Side, Sides, StepKind, TestStep};
use crate::tables::footnotes;
use crate::tables::relative::{Pair, cell_of};

pub(crate) fn absolute(sides: &Sides<'_>) -> Table {
    let (all, steps) = (sides.base_first(), sides.steps(StepKind::Tests));
    let mut columns: Vec<Vec<Cell>> = Vec::new();
    for step in &steps {
        let rates: Vec<(Option<f64>, bool)> =
            all.iter().map(|side| (side.rate(&step.name), side.missed(&step.name))).collect();
        let ranked: Vec<Ranked> = rates.iter().map(|rate| ranked(*rate)).collect();
        let cell = |((rate, missed), tint): (&(Option<f64>, bool), Tint)| Cell {
            tint,
            ..marked(Cell::rate(*rate), *missed)
        };
        columns.push(rates.iter().zip(tints(&ranked)).map(cell).collect());
    }
    let mut table = by_system("insert_rates", "Rates", &all, &steps, columns);
    table.preamble = names(sides);
    table.footnotes = vec![units(sides, &steps)];
    table.footnotes.extend(of_indexes(sides, &steps));
    table.footnotes.extend(notes(sides, &steps));
    table
}

pub(crate) fn relative(sides: &Sides<'_>) -> Table {
    let (all, steps) = (sides.base_first(), sides.steps(StepKind::Tests));
    let cell = |side: &Side<'_>, step: &TestStep| cell_of(&Pair { base: sides.base, side: *side }, step);
    let columns = steps.iter().map(|step| all.iter().map(|side| cell(side, step)).collect()).collect();
    let mut table = by_system("insert_relative", "Rates relative to the first arm", &all, &steps, columns);
    table.preamble = names(sides);
    table.footnotes = of_indexes(sides, &steps).into_iter().chain(notes(sides, &steps)).collect();
    table.footnotes.extend(footnotes::of_options(sides));
    table
}

/// DBMSs build the three indexes by other means: one by one, or all in one walk over the table.
fn of_indexes(sides: &Sides<'_>, steps: &[TestStep]) -> Option<String> {
    let base = sides.base.arm.dbms.as_str();
    let several = sides.all.iter().any(|side| !rqps_explain::of_one_kind(&side.arm.dbms, base));
    let builds = |step: &&TestStep| {
        let mut windows = sides.all.iter().filter_map(|side| side.window(&step.name).ok());
        windows.any(|window| window.metric("index_build_us").is_some())
    };
    let names: Vec<&str> = steps.iter().filter(builds).map(|step| step.name.as_str()).collect();
    (several && !names.is_empty())
        .then(|| format!("{}: compare only within one DBMS; index builds differ", names.join(", ")))
}

fn ranked((rate, missed): (Option<f64>, bool)) -> Ranked {
    match rate {
        Some(_) if missed => Ranked::Unranked,
        Some(rate) => Ranked::Value(rate),
        None => Ranked::Missing,
    }
}

/// A table with a row for each system and a column for each step; cells come column by column.
pub(super) fn by_system(
    id: &'static str,
    title: &str,
    all: &[Side<'_>],
    steps: &[TestStep],
    columns: Vec<Vec<Cell>>,
) -> Table {
    let heads = steps.iter().map(|step| Column::number(&*step.name, &*step.name));
    let mut table = Table::new(id, title, heads.chain([Column::words("dbms")]).collect(), 1);
    for (row, side) in all.iter().enumerate() {
        let cells = columns.iter().filter_map(|column| column.get(row).cloned());
        table.row(cells.chain([Cell::words(side.reference())]).collect());
    }
    table
}

/// What the rates of the steps count.
fn units(sides: &Sides<'_>, steps: &[TestStep]) -> String {
    let has_background = |step: &&str| sides.all.iter().any(|side| side.background(step).is_some());
    let said = sides.units(steps).into_iter().map(|(unit, steps)| {
        let beside = if steps.iter().all(has_background) { " during background writes" } else { "" };
        format!("{}: {} per second{beside}", steps.join(" "), unit.many)
    });
    format!("{}; all clients", said.collect::<Vec<_>>().join("; "))
}
