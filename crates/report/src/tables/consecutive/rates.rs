//! Rates of all steps, one row per system: absolute, and relative to base.
//!
//! | column | means |
//! | --- | --- |
//! | a step | units per second over all clients; the footnotes name the unit |
//! | `dbms` | the system |
//!
//! Absolute rates are coloured by the range of their column (`ranges.rs`), relative ones red at 0.95 and
//! below, green at 1.05 and above. Rates of a step that missed its target rate of background writes are not
//! coloured so.

use super::ranges::{Ranked, tints};
use super::{marked, names, notes};
use crate::comparison::{ComparedArm, Comparison, StepKind, TestStep};
use crate::document::{Cell, Column, Table, Tint};
use crate::tables::footnotes;
use crate::tables::relative::cell_of;

pub(crate) fn absolute(comparison: &Comparison<'_>) -> Table {
    let (all, steps) = (comparison.base_first(), comparison.steps(StepKind::Tests));
    let mut columns: Vec<Vec<Cell>> = Vec::new();
    for step in &steps {
        let rates: Vec<(Option<f64>, bool)> =
            all.iter().map(|arm| (arm.rate(&step.name), arm.missed(&step.name))).collect();
        let ranked: Vec<Ranked> = rates.iter().map(|rate| ranked(*rate)).collect();
        let cell = |((rate, missed), tint): (&(Option<f64>, bool), Tint)| Cell {
            tint,
            ..marked(Cell::rate(*rate), *missed)
        };
        columns.push(rates.iter().zip(tints(&ranked)).map(cell).collect());
    }
    let mut table = by_system("insert_rates", "Rates", &all, &steps, columns);
    table.preamble = names(comparison);
    table.footnotes = vec![units(comparison, &steps)];
    table.footnotes.extend(index_note(comparison, &steps));
    table.footnotes.extend(notes(comparison, &steps));
    table
}

pub(crate) fn relative<'a>(comparison: &Comparison<'a>) -> Table {
    let (all, steps) = (comparison.base_first(), comparison.steps(StepKind::Tests));
    let cell =
        |compared: &ComparedArm<'a>, step: &TestStep| cell_of(comparison, &comparison.pair(*compared), step);
    let columns =
        steps.iter().map(|step| all.iter().map(|compared| cell(compared, step)).collect()).collect();
    let mut table = by_system("insert_relative", "Rates relative to the first arm", &all, &steps, columns);
    table.preamble = names(comparison);
    table.footnotes = index_note(comparison, &steps).into_iter().chain(notes(comparison, &steps)).collect();
    table.footnotes.extend(footnotes::of_options(comparison));
    table
}

/// A note if different DBMSs build indexes: some build the three one by one, some all in one scan of the
/// table.
fn index_note(comparison: &Comparison<'_>, steps: &[TestStep]) -> Option<String> {
    let base = comparison.base.arm.dbms.as_str();
    let several = comparison.arms.iter().any(|compared| !rqps_explain::of_one_kind(&compared.arm.dbms, base));
    let builds = |step: &&TestStep| {
        let mut windows = comparison.arms.iter().filter_map(|compared| compared.window(&step.name).ok());
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

/// A table with a row per system and a column per step; `columns` are the cells of each step.
pub(super) fn by_system(
    id: &'static str,
    title: &str,
    all: &[ComparedArm<'_>],
    steps: &[TestStep],
    columns: Vec<Vec<Cell>>,
) -> Table {
    let headings = steps.iter().map(|step| Column::number(&*step.name, &*step.name));
    let mut table = Table::new(id, title, headings.chain([Column::words("dbms")]).collect(), 1);
    for (row, arm) in all.iter().enumerate() {
        let cells = columns.iter().filter_map(|column| column.get(row).cloned());
        table.row(cells.chain([Cell::words(arm.reference())]).collect());
    }
    table
}

/// A footnote with the units of the rates.
fn units(comparison: &Comparison<'_>, steps: &[TestStep]) -> String {
    let has_background = |step: &&str| comparison.arms.iter().any(|arm| arm.background(step).is_some());
    let units = comparison.units(steps).into_iter().map(|(unit, steps)| {
        let condition = if steps.iter().all(has_background) { " during background writes" } else { "" };
        format!("{}: {} per second{condition}", steps.join(" "), unit.many)
    });
    format!("{}; all clients", units.collect::<Vec<_>>().join("; "))
}
