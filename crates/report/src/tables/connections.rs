//! CPU time of the server process behind each connection, in seconds over the window.
//!
//! | column | means |
//! | --- | --- |
//! | `conns` | connections |
//! | `min`, `median`, `max` | CPU seconds of the connection that used least, of the middle one, of the one that used most |
//! | `sum` | CPU seconds of all connections |
//! | `dbms`, `test` | the variant and the test |

use crate::document::{Cell, Column, Table};
use crate::number;
use crate::sides::{Sides, Which};
use crate::tables::footnotes;

/// One row for each test and arm.
pub(crate) fn table(sides: &Sides<'_>, which: Which) -> Table {
    let columns = [
        ("conns", "connections"),
        ("min", "min_s"),
        ("median", "median_s"),
        ("max", "max_s"),
        ("sum", "sum_s"),
    ]
    .map(|(name, key)| Column::number(name, key));
    let columns = columns.into_iter().chain([Column::words("dbms"), Column::words("test")]).collect();
    let mut table = Table::new("connections", "CPU seconds per connection", columns, 2);
    let steps = sides.steps(which);
    for step in &steps {
        for side in sides.base_first() {
            let seconds: Vec<f64> = match side.window(&step.name) {
                Ok(window) => window.connections.iter().map(|one| one.cpu_us / 1e6).collect(),
                Err(_) => Vec::new(),
            };
            let count = Some(seconds.len() as f64).filter(|count| *count > 0.0);
            let sum = count.map(|_| seconds.iter().sum());
            table.row(vec![
                Cell::fixed(count, 0),
                Cell::fixed(number::min(&seconds), 2),
                Cell::fixed(number::median(&seconds), 2),
                Cell::fixed(number::max(&seconds), 2),
                Cell::fixed(sum, 2),
                Cell::words(side.label()),
                Cell::words(&*step.name),
            ]);
        }
    }
    table.footnotes = footnotes::of_steps(sides, &steps);
    table
}
