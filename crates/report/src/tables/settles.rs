//! The settle steps: what was done to pay debt down, and whether it was enough.
//!
//! | column | means |
//! | --- | --- |
//! | `seconds` | how long it took |
//! | `cap` | after how many seconds it would have been given up |
//! | `reached` | `yes` when every exit condition held in the end, `capped` when the cap ended it |
//! | `condition` | an exit condition: |
//! | `before`, `after` | its value before the step, and at its end |
//! | `target` | the value it had to come down to |
//! | `dbms`, `step` | the variant and the step |

use crate::document::{Cell, Column, Table};
use crate::number;
use crate::sides::Sides;

/// One row for each exit condition of each settle, arm by arm.
pub(crate) fn table(sides: &Sides<'_>) -> Table {
    let columns = vec![
        Column::number("seconds", "seconds"),
        Column::number("cap", "cap_s"),
        Column::words("reached"),
        Column::number("before", "before"),
        Column::number("after", "after"),
        Column::number("target", "target"),
        Column::words("condition"),
        Column::words("dbms"),
        Column::words("step"),
    ];
    let mut table = Table::new("settles", "Settle", columns, 2);
    for side in sides.base_first() {
        for settle in side.settles() {
            let result = &settle.result;
            let number = |value: f64| Cell::number(value, number::significant(value, 6));
            for condition in &result.conditions {
                table.row(vec![
                    Cell::fixed(Some(result.elapsed_us as f64 / 1e6), 1),
                    Cell::fixed(Some(result.cap_us as f64 / 1e6), 0),
                    Cell::words(if result.reached { "yes" } else { "capped" }),
                    number(condition.before),
                    number(condition.after),
                    number(condition.target),
                    Cell::words(&*condition.name),
                    Cell::words(side.label()),
                    Cell::words(&*settle.action.step),
                ]);
            }
        }
    }
    table
}
