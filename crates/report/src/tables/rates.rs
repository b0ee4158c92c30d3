//! Events, statements, rows, retries and errors of each test.
//!
//! | column | means |
//! | --- | --- |
//! | `clients` | clients of the step |
//! | `events/s` | transactions of the test per second |
//! | `queries/s` | queries as sysbench counts them, BEGIN and COMMIT included |
//! | `working/s` | working statements, without BEGIN and COMMIT |
//! | `no-op %` | share of all statements (without BEGIN and COMMIT) that should have found or changed a row but did not |
//! | `rows/s` | rows returned, changed or scanned |
//! | `retries` | transactions that were retried; the footnotes name their SQLSTATEs; missing of HammerDB, which repeats none |
//! | `errors` | errors that were not retried |
//! | `seconds` | length of the window, warm-up excluded; missing if only its rate is known |
//! | `dbms`, `test` | the variant and the test |
//!
//! In blocks rates are as verdicts give them: totals are scaled to that, all counts of a test alike.

use rqps_store::{Run, Window};

use crate::comparison::{ComparedArm, Comparison, StepKind, TestStep};
use crate::document::{Cell, Column, Figure, Table, cells};
use crate::number;
use crate::tables::{footnotes, host};
use crate::words;

/// The unit of tests of TPROC-C.
pub(crate) const NEW_ORDERS: &str = "new_orders";

/// A step on an arm.
struct OfArm<'a> {
    window: Option<&'a Window>,
    /// Its rate over the total of its windows.
    scale: f64,
    run: &'a Run,
}

/// One row per test and arm.
pub(crate) fn table(comparison: &Comparison<'_>, which: StepKind) -> Table {
    let per_second = |one: &OfArm<'_>, count: fn(&Window) -> Option<u64>| {
        let total = |window: &Window| Some(one.scale * window.per_second(count(window)?)?);
        Cell::rate(one.window.and_then(total))
    };
    let number = |number: Option<u64>| number.map_or_else(Cell::missing, Cell::count);
    let count = |window: &Option<&Window>, count: fn(&Window) -> Option<u64>| number(window.and_then(count));
    let noop = |window: &Window| Some(100.0 * window.noop_statements? as f64 / window.statements? as f64);
    let figures: [Figure<'_, OfArm<'_>>; 9] = [
        (Column::number(format!("{}s", words::client_noun(comparison.base.run)), "clients"), &|one| {
            // An imported result may not tell.
            count(&one.window, |window| Some(u64::from(window.clients)).filter(|clients| *clients > 0))
        }),
        (Column::number("events/s", "events_per_s"), &|one| per_second(one, |window| window.events)),
        (Column::number("queries/s", "queries_per_s"), &|one| per_second(one, |window| window.queries)),
        (Column::number("working/s", "working_statements_per_s"), &|one| {
            per_second(one, |window| window.statements_working)
        }),
        (Column::number("no-op %", "noop_percent"), &|one| Cell::fixed(one.window.and_then(noop), 1)),
        (Column::number("rows/s", "rows_per_s"), &|one| per_second(one, |window| window.rows)),
        (Column::number("retries", "retries"), &|one| {
            number(one.window.and_then(|window| retried(one.run, window)))
        }),
        (Column::number("errors", "errors"), &|one| count(&one.window, |window| window.errors)),
        (Column::number("seconds", "seconds"), &|one| Cell::fixed(one.window.and_then(Window::known_s), 1)),
    ];
    let columns = figures.iter().map(|(column, _)| column.clone());
    let columns = columns.chain([Column::words("dbms"), Column::words("test")]).collect();
    let mut table = Table::new("rates", "Events and statements", columns, 2);
    let steps = comparison.steps(which);
    for step in &steps {
        for arm in comparison.base_first() {
            let window = arm.window(&step.name).ok().map(|window| &window.result);
            let scale = number::ratio(arm.rate(&step.name), window.and_then(Window::rate)).unwrap_or(1.0);
            let mut row = cells(&figures, &OfArm { window, scale, run: arm.run });
            row.extend([Cell::words(arm.label()), Cell::words(&*step.name)]);
            table.row_in(&step.group.title, row);
            table.footnotes.extend(retries(&arm, step));
        }
    }
    table.footnotes.extend(footnotes::of_steps(comparison, &steps));
    table.footnotes.extend(footnotes::of_rates_in_blocks(comparison));
    table
}

/// An imported result may not tell, and another driver of TPROC-C repeats no transaction.
pub(super) fn retried(run: &Run, window: &Window) -> Option<u64> {
    if window.unit.key == NEW_ORDERS && host::driver(run).is_some() {
        return None;
    }
    let is_known = window.errors.is_some() || !window.retries.is_empty();
    is_known.then(|| window.retries.values().sum())
}

fn retries(arm: &ComparedArm<'_>, step: &TestStep) -> Option<String> {
    let window = arm.window(&step.name).ok()?;
    let states: Vec<String> =
        window.result.retries.iter().map(|(sqlstate, count)| format!("{sqlstate} {count} times")).collect();
    (!states.is_empty())
        .then(|| format!("{} on {} was retried: {}", step.name, arm.label(), states.join(", ")))
}
