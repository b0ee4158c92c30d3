//! How the tables were filled.
//!
//! | column | means |
//! | --- | --- |
//! | `rows` | rows loaded, over all tables |
//! | `load s` | seconds to load the rows, tables in parallel |
//! | `index s` | seconds to build the indexes after them |
//! | `vacuum s` | seconds of the VACUUM ANALYZE that followed, if the plan has one |
//! | `rows/s` | rows per second over load and indexes |
//! | `relative` | `rows/s` relative to the base's |
//! | `dbms` | the variant |

use rqps_store::Load;

use crate::document::{Cell, Column, Figure, Table};
use crate::number;
use crate::sides::{Side, Sides};

/// One row for each arm; none where the steps fill the tables.
pub(crate) fn table(sides: &Sides<'_>) -> Option<Table> {
    if sides.all.iter().all(|side| side.load().is_none()) {
        return None;
    }
    let load = |side: &Side<'_>, of: fn(&Load) -> u64| side.load().map(|load| of(&load.result) as f64);
    let seconds = |side: &Side<'_>, of: fn(&Load) -> u64| Cell::fixed(load(side, of).map(|us| us / 1e6), 1);
    let rate = |side: &Side<'_>| side.load().and_then(|load| load.result.rows_per_s());
    let relative = |side: &Side<'_>| number::ratio(rate(side), rate(&sides.base));
    let figures: [Figure<'_, Side<'_>>; 7] = [
        (Column::number("rows", "rows"), &|side| Cell::fixed(load(side, |load| load.rows), 0)),
        (Column::number("load s", "load_s"), &|side| seconds(side, |load| load.load_us)),
        (Column::number("index s", "index_s"), &|side| seconds(side, |load| load.index_us)),
        (Column::number("vacuum s", "vacuum_s"), &|side| Cell::fixed(vacuum_s(side), 1)),
        (Column::number("rows/s", "rows_per_s"), &|side| Cell::rate(rate(side))),
        (Column::number("relative", "relative"), &|side| Cell::fixed(relative(side), 2)),
        (Column::words("dbms"), &|side| Cell::words(side.label())),
    ];
    Some(Table::of_figures("loads", "Load", &figures, 1, sides.base_first()))
}

fn vacuum_s(side: &Side<'_>) -> Option<f64> {
    let of_arm = |action: &&rqps_store::ActionRecord| action.arm == side.arm.name && action.kind == "vacuum";
    let action = side.run.actions.iter().find(of_arm)?;
    Some((action.finished_at_ms - action.started_at_ms) as f64 / 1e3)
}
