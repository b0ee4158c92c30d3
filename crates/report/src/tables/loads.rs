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

use rqps_store::Load;

use crate::comparison::{ComparedArm, Comparison};
use crate::document::{Cell, Column, Figure, Table};
use crate::number;

/// One row per arm; None if the steps fill the tables.
pub(crate) fn table(comparison: &Comparison<'_>) -> Option<Table> {
    if comparison.arms.iter().all(|arm| arm.load().is_none()) {
        return None;
    }
    let load = |arm: &ComparedArm<'_>, get: fn(&Load) -> u64| arm.load().map(|load| get(&load.result) as f64);
    let seconds =
        |arm: &ComparedArm<'_>, us: fn(&Load) -> u64| Cell::fixed(load(arm, us).map(|us| us / 1e6), 1);
    let rate = |arm: &ComparedArm<'_>| arm.load().and_then(|load| load.result.rows_per_s());
    let relative = |arm: &ComparedArm<'_>| number::ratio(rate(arm), rate(&comparison.base));
    let figures: [Figure<'_, ComparedArm<'_>>; 7] = [
        (Column::number("rows", "rows"), &|arm| Cell::fixed(load(arm, |load| load.rows), 0)),
        (Column::number("load s", "load_s"), &|arm| seconds(arm, |load| load.load_us)),
        (Column::number("index s", "index_s"), &|arm| seconds(arm, |load| load.index_us)),
        (Column::number("vacuum s", "vacuum_s"), &|arm| Cell::fixed(vacuum_s(arm), 1)),
        (Column::number("rows/s", "rows_per_s"), &|arm| Cell::rate(rate(arm))),
        (Column::number("relative", "relative"), &|arm| Cell::fixed(relative(arm), 2)),
        (Column::words("dbms"), &|arm| Cell::words(arm.label())),
    ];
    Some(Table::of_figures("loads", "Load", &figures, 1, comparison.base_first()))
}

fn vacuum_s(compared: &ComparedArm<'_>) -> Option<f64> {
    let mut actions = compared.run.actions.iter();
    let action = actions.find(|action| action.arm == compared.arm.name && action.kind == "vacuum")?;
    Some((action.finished_at_ms - action.started_at_ms) as f64 / 1e3)
}
