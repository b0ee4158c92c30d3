//! CPU seconds of the server process behind each connection, over the window.
//!
//! | column | means |
//! | --- | --- |
//! | `conns` | connections |
//! | `min`, `median`, `max` | smallest, median and largest CPU seconds of a connection |
//! | `sum` | CPU seconds of all connections |
//! | `dbms`, `test` | the variant and the test |

use rqps_model::sample;

use crate::comparison::{ComparedArm, Comparison, StepKind};
use crate::document::{Cell, Column, Figure, Table};
use crate::number;
use crate::tables::footnotes;

/// One row per test and arm.
pub(crate) fn table(comparison: &Comparison<'_>, which: StepKind) -> Table {
    type CpuSeconds<'a> = (Vec<f64>, ComparedArm<'a>, &'a str);
    let figures: [Figure<'_, CpuSeconds<'_>>; 7] = [
        (Column::number("conns", "connections"), &|(all, ..)| some(all, |all| all.len() as f64, 0)),
        (Column::number("min", "min_s"), &|(all, ..)| Cell::fixed(number::min(all), 2)),
        (Column::number("median", "median_s"), &|(all, ..)| Cell::fixed(sample::median(all), 2)),
        (Column::number("max", "max_s"), &|(all, ..)| Cell::fixed(number::max(all), 2)),
        (Column::number("sum", "sum_s"), &|(all, ..)| some(all, |all| all.iter().sum(), 2)),
        (Column::words("dbms"), &|(_, arm, _)| Cell::words(arm.label())),
        (Column::words("test"), &|(.., test)| Cell::words(*test)),
    ];
    let steps = comparison.steps(which);
    let rows = steps.iter().flat_map(|step| {
        let seconds = |arm: &ComparedArm<'_>| match arm.window(&step.name) {
            Ok(window) => window.connections.iter().map(|one| one.cpu_us / 1e6).collect(),
            Err(_) => Vec::new(),
        };
        comparison.base_first().into_iter().map(move |arm| (seconds(&arm), arm, step.name.as_str()))
    });
    let mut table = Table::of_figures("connections", "CPU seconds per connection", &figures, 2, rows);
    table.footnotes = footnotes::of_steps(comparison, &steps);
    table
}

/// A figure over all connections; missing if there are none.
fn some(all: &[f64], figure: fn(&[f64]) -> f64, decimals: usize) -> Cell {
    Cell::fixed((!all.is_empty()).then(|| figure(all)), decimals)
}
