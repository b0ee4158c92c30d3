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

use crate::document::{Cell, Column, Table};
use crate::number;
use crate::sides::{Side, Sides};

/// One row for each arm; none where the steps fill the tables.
pub(crate) fn table(sides: &Sides<'_>) -> Option<Table> {
    if sides.all.iter().all(|side| side.load().is_none()) {
        return None;
    }
    let numbers = [
        ("rows", "rows"),
        ("load s", "load_s"),
        ("index s", "index_s"),
        ("vacuum s", "vacuum_s"),
        ("rows/s", "rows_per_s"),
        ("relative", "relative"),
    ];
    let columns =
        numbers.map(|(name, key)| Column::number(name, key)).into_iter().chain([Column::words("dbms")]);
    let mut table = Table::new("loads", "Load", columns.collect(), 1);
    let rate = |side: &Side<'_>| side.load().and_then(|load| load.result.rows_per_s());
    let base = rate(&sides.base);
    for side in sides.base_first() {
        let load = side.load().map(|load| &load.result);
        let rate = rate(&side);
        table.row(vec![
            Cell::fixed(load.map(|load| load.rows as f64), 0),
            Cell::fixed(load.map(|load| load.load_us as f64 / 1e6), 1),
            Cell::fixed(load.map(|load| load.index_us as f64 / 1e6), 1),
            Cell::fixed(vacuum_s(&side), 1),
            Cell::rate(rate),
            Cell::fixed(number::ratio(rate, base), 2),
            Cell::words(side.label()),
        ]);
    }
    Some(table)
}

fn vacuum_s(side: &Side<'_>) -> Option<f64> {
    let of_arm = |action: &&rqps_store::ActionRecord| action.arm == side.arm.name && action.kind == "vacuum";
    let action = side.run.actions.iter().find(of_arm)?;
    Some((action.finished_at_ms - action.started_at_ms) as f64 / 1e3)
}
