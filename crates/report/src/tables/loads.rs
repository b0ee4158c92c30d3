//! Loads of the tables.
//!
//! | column | means |
//! | --- | --- |
//! | `rows` | rows loaded, over all tables |
//! | `load s` | seconds to load the rows, tables in parallel |
//! | `index s` | seconds to build the indexes afterwards |
//! | `vacuum s` | seconds of VACUUM ANALYZE, if the plan has one |
//! | `rows/s` | rows per second over load and indexes |
//! | `relative` | `rows/s` relative to the base's |
//! | `dbms` | the variant |
//! | `step` | the load, if there are several; arms that share one have it once |

use std::collections::BTreeSet;

use rqps_store::{Load, Recorded};

use crate::comparison::{ComparedArm, Comparison};
use crate::document::{Cell, Column, Figure, Table};
use crate::number;

/// An arm, and one of its loads.
struct Row<'a> {
    arm: ComparedArm<'a>,
    load: Option<&'a Recorded<Load>>,
    step: &'a str,
}

/// One row per arm and load; None if the steps fill the tables.
pub(crate) fn table<'a>(comparison: &Comparison<'a>) -> Option<Table> {
    let steps = steps(comparison);
    let arms = comparison.base_first();
    let row = |arm: &ComparedArm<'a>, step: &'a str| Row { arm: *arm, load: first(arm, step), step };
    let all_rows = steps.iter().flat_map(|step| arms.iter().map(|arm| row(arm, step)));
    let rows: Vec<Row<'a>> = all_rows.filter(|row| steps.len() == 1 || row.load.is_some()).collect();
    if rows.is_empty() {
        return None;
    }
    let load = |row: &Row<'_>, get: fn(&Load) -> u64| row.load.map(|load| get(&load.result) as f64);
    let seconds = |row: &Row<'_>, us: fn(&Load) -> u64| Cell::fixed(load(row, us).map(|us| us / 1e6), 1);
    let rate = |load: Option<&Recorded<Load>>| load.and_then(|load| load.result.rows_per_s());
    let relative = |row: &Row<'_>| number::ratio(rate(row.load), rate(first(&comparison.base, row.step)));
    let figures: [Figure<'_, Row<'_>>; 8] = [
        (Column::number("rows", "rows").optional(3), &|row| Cell::fixed(load(row, |load| load.rows), 0)),
        (Column::number("load s", "load_s").optional(1), &|row| seconds(row, |load| load.load_us)),
        (Column::number("index s", "index_s").optional(2), &|row| seconds(row, |load| load.index_us)),
        (Column::number("vacuum s", "vacuum_s").optional(4), &|row| Cell::fixed(vacuum_s(row), 1)),
        (Column::number("rows/s", "rows_per_s"), &|row| Cell::rate(rate(row.load))),
        (Column::number("relative", "relative"), &|row| Cell::fixed(relative(row), 2)),
        (Column::words("dbms"), &|row| Cell::words(row.arm.label())),
        (Column::words("step"), &|row| Cell::words(row.step)),
    ];
    let (figures, labels) = if steps.len() > 1 { (&figures[..], 2) } else { (&figures[..7], 1) };
    let mut table = Table::of_figures("loads", "Load", figures, labels, rows);
    let repeated = arms.iter().flat_map(|arm| steps.iter().map(|step| all(arm, step).count())).max();
    table
        .footnotes
        .extend(repeated.filter(|count| *count > 1).map(|count| format!("the first of {count} loads")));
    Some(table)
}

/// Says which load a figure is of, if there are several: one for each test, or those that blocks rotate through.
pub(crate) fn first_of_several(comparison: &Comparison<'_>) -> Option<String> {
    match steps(comparison).len() {
        0 | 1 => None,
        count => Some(format!("the first of {count} loads; section loads has all")),
    }
}

/// The steps that load, in the order of the first arm that has them.
fn steps<'a>(comparison: &Comparison<'a>) -> Vec<&'a str> {
    let mut known = BTreeSet::new();
    let loads = comparison.base_first().into_iter().flat_map(|arm| {
        arm.run.loads.iter().filter(move |load| is_of(&arm, load)).map(|load| &*load.action.step)
    });
    loads.filter(|step| known.insert(*step)).collect()
}

/// An arm's loads of a step, in order.
fn all<'a>(arm: &ComparedArm<'a>, step: &str) -> impl Iterator<Item = &'a Recorded<Load>> {
    arm.run.loads.iter().filter(move |load| is_of(arm, load) && load.action.step == step)
}

fn first<'a>(arm: &ComparedArm<'a>, step: &str) -> Option<&'a Recorded<Load>> {
    all(arm, step).next()
}

fn is_of(arm: &ComparedArm<'_>, load: &Recorded<Load>) -> bool {
    load.action.arm == arm.arm.name && load.valid() && load.result.rows > 0
}

/// Seconds of the vacuum that follows a load.
fn vacuum_s(row: &Row<'_>) -> Option<f64> {
    let load = row.load?.action.seq;
    let mut later =
        row.arm.run.actions.iter().filter(|action| action.arm == row.arm.arm.name && action.seq > load);
    let action = later.find(|action| ["vacuum", "load"].contains(&&*action.kind))?;
    (action.kind == "vacuum").then(|| (action.finished_at_ms - action.started_at_ms) as f64 / 1e3)
}
