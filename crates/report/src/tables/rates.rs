//! What was done each second, beyond the queries of sysbench's count.
//!
//! | column | means |
//! | --- | --- |
//! | `clients` | clients of the step |
//! | `events/s` | transactions of the test per second |
//! | `queries/s` | queries as sysbench counts them, BEGIN and COMMIT included |
//! | `working/s` | statements that did work, without BEGIN and COMMIT |
//! | `no-op %` | share of all statements (without BEGIN and COMMIT) that found or changed no row though that was their aim |
//! | `rows/s` | rows returned, changed or scanned |
//! | `retries` | transactions that were retried; the footnotes name their SQLSTATEs |
//! | `errors` | errors that were not retried |
//! | `seconds` | length of the window, warm-up excluded |
//! | `dbms`, `test` | the variant and the test |

use crate::document::{Cell, Column, Row, RowKind, Table};
use crate::number;
use crate::sides::{Side, Sides, TestStep, Which};
use crate::tables::footnotes;

const NUMBERS: [(&str, &str); 9] = [
    ("clients", "clients"),
    ("events/s", "events_per_s"),
    ("queries/s", "queries_per_s"),
    ("working/s", "working_statements_per_s"),
    ("no-op %", "noop_percent"),
    ("rows/s", "rows_per_s"),
    ("retries", "retries"),
    ("errors", "errors"),
    ("seconds", "seconds"),
];

/// One row for each test and arm.
pub(crate) fn table(sides: &Sides<'_>, which: Which) -> Table {
    let columns = NUMBERS.iter().map(|(name, key)| Column::number(*name, *key));
    let columns = columns.chain([Column::words("dbms"), Column::words("test")]).collect();
    let mut table = Table::new("rates", "Events and statements", columns, 2);
    let steps = sides.steps(which);
    for step in &steps {
        for side in sides.base_first() {
            let group = Some(step.group.title.to_string());
            table.rows.push(Row { group, kind: RowKind::Body, cells: cells(&side, step) });
            table.footnotes.extend(retries(&side, step));
        }
    }
    table.footnotes.extend(footnotes::of_steps(sides, &steps));
    table
}

fn cells(side: &Side<'_>, step: &TestStep) -> Vec<Cell> {
    let labels = [Cell::words(side.label()), Cell::words(&*step.name)];
    let Ok(window) = side.window(&step.name) else {
        return vec![Cell::missing(); NUMBERS.len()].into_iter().chain(labels).collect();
    };
    let window = &window.result;
    let count = |value: u64| Cell::number(value as f64, value.to_string());
    let per_second = |value: u64| {
        let rate = window.per_second(value);
        rate.map_or_else(Cell::missing, |rate| Cell::number(rate, number::rate(rate)))
    };
    let noop =
        (window.statements > 0).then(|| 100.0 * window.noop_statements as f64 / window.statements as f64);
    let numbers: [Cell; NUMBERS.len()] = [
        count(u64::from(window.clients)),
        per_second(window.events),
        per_second(window.queries),
        per_second(window.statements_working),
        Cell::fixed(noop, 1),
        per_second(window.rows),
        count(window.retries.values().sum()),
        count(window.errors),
        Cell::fixed(Some(window.elapsed_s()), 1),
    ];
    numbers.into_iter().chain(labels).collect()
}

fn retries(side: &Side<'_>, step: &TestStep) -> Option<String> {
    let window = side.window(&step.name).ok()?;
    let states: Vec<String> =
        window.result.retries.iter().map(|(sqlstate, count)| format!("{sqlstate} {count} times")).collect();
    (!states.is_empty())
        .then(|| format!("{} on {} was retried: {}", step.name, side.label(), states.join(", ")))
}
