//! The settle steps: what was done to pay debt down, and whether it was enough.
//!
//! | column | means |
//! | --- | --- |
//! | `seconds` | how long it took |
//! | `cap` | after how many seconds it would have been given up |
//! | `reached` | `yes` when every exit condition held in the end, `capped` when the cap ended it |
//! | `conditions` | each exit condition: value before and after, and the target it had to come down to |
//! | `done` | what was done, in order |
//! | `dbms`, `step` | the variant and the step |

use crate::document::{Cell, Column, Table};
use crate::number;
use crate::sides::Sides;

/// One row for each settle, arm by arm.
pub(crate) fn table(sides: &Sides<'_>) -> Table {
    let columns = vec![
        Column::number("seconds", "seconds"),
        Column::number("cap", "cap_s"),
        Column::words("reached"),
        Column::words("conditions"),
        Column::words("done"),
        Column::words("dbms"),
        Column::words("step"),
    ];
    let mut table = Table::new("settles", "Settle", columns, 2);
    for side in sides.base_first() {
        for settle in side.settles() {
            let result = &settle.result;
            let text = |value: f64| number::significant(value, 6);
            let conditions: Vec<String> = result
                .conditions
                .iter()
                .map(|c| {
                    format!(
                        "{} {} to {} (target {})",
                        c.name,
                        text(c.before),
                        text(c.after),
                        text(c.target)
                    )
                })
                .collect();
            table.row(vec![
                Cell::fixed(Some(result.elapsed_us as f64 / 1e6), 1),
                Cell::fixed(Some(result.cap_us as f64 / 1e6), 0),
                Cell::words(if result.reached { "yes" } else { "capped" }),
                Cell::words(conditions.join("; ")),
                Cell::words(result.actions.join(", ")),
                Cell::words(side.label()),
                Cell::words(&*settle.action.step),
            ]);
        }
    }
    table.warnings.clone_from(&sides.warnings);
    table
}
