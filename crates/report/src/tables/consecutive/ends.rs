//! Outcome of each step: what ended it, how writes were paced, and whether all work was done.
//!
//! | column | means |
//! | --- | --- |
//! | `seconds` | from the common start of all connections to the last commit |
//! | `ended by` | `work`: all rows were written; `time`: its time limit was reached |
//! | `pacer` | distribution of background writes over a second: `even` or `burst` |
//! | `rows in`, `rows out` | rows inserted and deleted, over all clients |
//! | `short` | DELETE statements that removed a different number of rows than requested |
//! | `rows/query` | rows returned per query on average; 10 are requested |
//! | `dbms`, `step` | the system and the step |

use super::by_step;
use crate::comparison::{Comparison, StepKind};
use crate::document::{Cell, Column, Table};

/// One row per step and arm.
pub(crate) fn table(comparison: &Comparison<'_>, which: StepKind) -> Table {
    let columns = vec![
        Column::number("seconds", "seconds"),
        Column::keyed_words("ended by", "ended_by"),
        Column::keyed_words("pacer", "pacer"),
        Column::number("rows in", "inserted_rows"),
        Column::number("rows out", "deleted_rows"),
        Column::number("short", "short_deletes"),
        Column::number("rows/query", "rows_per_query"),
        Column::words("dbms"),
        Column::words("step"),
    ];
    let mut table = Table::new("ends", "Outcome of each step", columns, 2);
    by_step(comparison, which, &mut table, |_, _, window| {
        let result = &window.result;
        vec![
            Cell::fixed(result.known_s(), 1),
            result.known_s().map_or_else(Cell::missing, |_| Cell::words(result.ended_by.key())),
            result.pacer.map_or_else(Cell::missing, |pacer| Cell::words(pacer.key())),
            Cell::fixed(window.metric("inserted_rows"), 0),
            Cell::fixed(window.metric("deleted_rows"), 0),
            Cell::fixed(window.metric("short_deletes"), 0),
            Cell::fixed(window.metric("rows_per_query"), 2),
        ]
    });
    table
}
