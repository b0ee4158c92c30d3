//! Server counters that changed during a test, per operation.
//!
//! | column | means |
//! | --- | --- |
//! | `col-N` | after minus before, divided by the window's operations (queries; thousands of rows for tests that count rows), of the variant that the line `col-N : …` names |
//! | `counter` | view, column and object; `(all)` is the sum over objects. Shown if it is not zero for at least one variant |

use std::collections::BTreeMap;

use crate::comparison::{ComparedArm, Comparison, StepKind, TestStep, numbered};
use crate::document::{Block, Cell, Column, Table};
use crate::error::Result;
use crate::number;
use crate::tables::footnotes;

/// The object under which the store has a view's sum over all tables or indexes.
const SUM: &str = "all";

/// View, column and object; None: the sum over objects.
type Name = (String, String, Option<String>);

/// One table per test that has counters.
pub(crate) fn blocks(comparison: &Comparison<'_>, which: StepKind) -> Result<Vec<Block>> {
    super::for_each_test(comparison, which, table)
}

fn table(comparison: &Comparison<'_>, step: &TestStep) -> Result<Option<Table>> {
    let all = comparison.base_first();
    let mut by_name: BTreeMap<Name, Vec<Option<f64>>> = BTreeMap::new();
    for (column, arm) in all.iter().enumerate() {
        for (name, value) in per_operation(arm, step)? {
            by_name.entry(name).or_insert_with(|| vec![None; all.len()])[column] = Some(value);
        }
    }
    by_name.retain(|_, values| values.iter().flatten().any(|value| *value != 0.0));
    if by_name.is_empty() {
        return Ok(None);
    }
    let mut columns = numbered(&all);
    columns.push(Column::words("counter"));
    let is_first = all.iter().any(|arm| arm.all_windows(&step.name).nth(1).is_some());
    let of = if is_first { ", of each arm's first window" } else { "" };
    let title = format!("Counters per operation: {}{of}", step.name);
    let mut table = Table::new("counters", title, columns, 1).about("test", &step.name);
    for ((view, column, object), values) in by_name {
        let cells =
            values.into_iter().map(|value| Cell::printed(value, |value| number::significant(value, 6)));
        let object = object.unwrap_or_else(|| "(all)".to_owned());
        let label = format!("{view}.{column} {object}");
        table.row(cells.chain([Cell::words(label.trim_end())]).collect());
    }
    table.footnotes = footnotes::of_steps(comparison, std::slice::from_ref(step));
    table.footnotes.push("-: the version does not have this counter".to_owned());
    Ok(Some(table))
}

/// Differences per operation: of each object, and the sum if there are several.
fn per_operation(arm: &ComparedArm<'_>, step: &TestStep) -> Result<BTreeMap<Name, f64>> {
    let mut values = BTreeMap::new();
    let Some(window) = arm.first_window(&step.name) else {
        return Ok(values);
    };
    let operations = window.result.operations;
    if operations <= 0.0 {
        return Ok(values);
    }
    let mut objects: BTreeMap<(String, String), (u32, f64)> = BTreeMap::new();
    for counter in arm.run.counters(window.action.seq)? {
        let Some(delta) = counter.delta() else {
            continue;
        };
        if counter.object == SUM {
            values.insert((counter.view, counter.column, None), delta / operations);
            continue;
        }
        let sum = objects.entry((counter.view.clone(), counter.column.clone())).or_default();
        *sum = (sum.0 + 1, sum.1 + delta);
        values.insert((counter.view, counter.column, Some(counter.object)), delta / operations);
    }
    for ((view, column), (count, sum)) in objects {
        if count > 1 {
            values.entry((view, column, None)).or_insert(sum / operations);
        }
    }
    Ok(values)
}
