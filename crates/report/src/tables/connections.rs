//! CPU time of the server process behind each connection, in seconds over the window.
//!
//! | column | means |
//! | --- | --- |
//! | `conns` | connections |
//! | `min`, `median`, `max` | CPU seconds of the connection that used least, of the middle one, of the one that used most |
//! | `sum` | CPU seconds of all connections |
//! | `dbms`, `test` | the variant and the test |

use crate::document::{Cell, Column, Figure, Table};
use crate::number;
use crate::sides::{Side, Sides, StepKind};
use crate::tables::footnotes;

/// One row for each test and arm.
pub(crate) fn table(sides: &Sides<'_>, which: StepKind) -> Table {
    type OfSide<'a> = (Vec<f64>, Side<'a>, &'a str);
    let figures: [Figure<'_, OfSide<'_>>; 7] = [
        (Column::number("conns", "connections"), &|(all, ..)| some(all, |all| all.len() as f64, 0)),
        (Column::number("min", "min_s"), &|(all, ..)| Cell::fixed(number::min(all), 2)),
        (Column::number("median", "median_s"), &|(all, ..)| Cell::fixed(number::median(all), 2)),
        (Column::number("max", "max_s"), &|(all, ..)| Cell::fixed(number::max(all), 2)),
        (Column::number("sum", "sum_s"), &|(all, ..)| some(all, |all| all.iter().sum(), 2)),
        (Column::words("dbms"), &|(_, side, _)| Cell::words(side.label())),
        (Column::words("test"), &|(.., test)| Cell::words(*test)),
    ];
    let steps = sides.steps(which);
    let rows = steps.iter().flat_map(|step| {
        let seconds = |side: &Side<'_>| match side.window(&step.name) {
            Ok(window) => window.connections.iter().map(|one| one.cpu_us / 1e6).collect(),
            Err(_) => Vec::new(),
        };
        sides.base_first().into_iter().map(move |side| (seconds(&side), side, step.name.as_str()))
    });
    let mut table = Table::of_figures("connections", "CPU seconds per connection", &figures, 2, rows);
    table.footnotes = footnotes::of_steps(sides, &steps);
    table
}

fn some(all: &[f64], of: fn(&[f64]) -> f64, decimals: usize) -> Cell {
    Cell::fixed((!all.is_empty()).then(|| of(all)), decimals)
}
