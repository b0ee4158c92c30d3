//! The state of each server just before a test.
//!
//! | column | means |
//! | --- | --- |
//! | `col-N` | the value for the variant that the line `col-N : …` names |
//! | `state` | dead and live rows, sizes, WAL since the last checkpoint; settings that differ |

use std::collections::BTreeMap;

use crate::comparison::{Comparison, StepKind, TestStep, numbered};
use crate::document::{Align, Block, Cell, Column, Table};
use crate::error::Result;

/// Prefix of the names of settings. Only those that differ are shown: most are the same on all variants.
const SETTING: &str = "setting.";

/// One table per test that has fingerprints.
pub(crate) fn blocks(comparison: &Comparison<'_>, which: StepKind) -> Result<Vec<Block>> {
    super::for_each_test(comparison, which, table)
}

fn table(comparison: &Comparison<'_>, step: &TestStep) -> Result<Option<Table>> {
    let all = comparison.base_first();
    let mut by_key: BTreeMap<String, Vec<Cell>> = BTreeMap::new();
    for (column, arm) in all.iter().enumerate() {
        let Some(window) = arm.first_window(&step.name) else {
            continue;
        };
        for (key, value) in arm.run.fingerprint(window.action.seq)? {
            by_key.entry(key).or_insert_with(|| vec![Cell::missing(); all.len()])[column] =
                Cell::words(value);
        }
    }
    if by_key.is_empty() {
        return Ok(None);
    }
    // A window's state has only settings that are no defaults of their version.
    for (key, cells) in &mut by_key {
        let Some(name) = key.strip_prefix(SETTING) else { continue };
        for (cell, arm) in cells.iter_mut().zip(&all) {
            if let Some(known) = arm.arm.settings.iter().find(|setting| setting.name == name) {
                *cell = Cell::words(&*known.value);
            }
        }
    }
    let mut columns = numbered(&all);
    columns.iter_mut().for_each(|column| column.align = Align::Left);
    columns.push(Column::words("state"));
    let title = format!("State before {}", step.name);
    let mut table = Table::new("fingerprints", title, columns, 1).about("test", &step.name);
    by_key.retain(|key, cells| {
        !key.starts_with(SETTING) || cells.iter().any(|cell| cell.text != cells[0].text)
    });
    for (key, cells) in by_key {
        table.row(cells.into_iter().chain([Cell::words(key)]).collect());
    }
    Ok(Some(table))
}
