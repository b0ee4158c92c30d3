//! State before and after each step: sizes, dead rows, and buffers read by planning a DELETE.
//!
//! | column | means |
//! | --- | --- |
//! | `table MB`, `index MB` | size of tables and of their indexes at the end of the step |
//! | `+MB` | their growth during the step |
//! | `dead`, `after` | dead rows before and after the step, by the server's estimate |
//! | `history`, `after` | length of InnoDB's history list before and after the step |
//! | `plan buf`, `after` | buffers that planning the step's DELETE reads, before and after the step; includes index entries of deleted rows at the tail. Not reported by Postgres before 13 |
//! | `plan us`, `after` | microseconds to plan it |
//! | `lookups`, `lookup us` | number of lookups of the smallest key, and microseconds per lookup |
//! | `dbms`, `step` | the system and the step |

use rqps_store::{Recorded, Window};

use super::by_step;
use crate::comparison::{Comparison, StepKind};
use crate::document::{Block, Cell, Column, Table};

/// A column: heading, key, value, decimals.
type Figure = (&'static str, &'static str, fn(&Recorded<Window>) -> Option<f64>, usize);

/// Bytes in a MB of tables.
const MB: f64 = 1e6;

const DEBT: [Figure; 8] = [
    ("table MB", "table_mb_after", |w| Some(w.metric("table_bytes_after")? / MB), 1),
    ("+MB", "table_mb_grown", |w| grown(w, "table_bytes"), 1),
    ("index MB", "index_mb_after", |w| Some(w.metric("index_bytes_after")? / MB), 1),
    ("+MB", "index_mb_grown", |w| grown(w, "index_bytes"), 1),
    ("dead", "dead_rows_before", |w| w.metric("dead_rows_before"), 0),
    ("after", "dead_rows_after", |w| w.metric("dead_rows_after"), 0),
    ("history", "history_list_length_before", |w| w.metric("history_list_length_before"), 0),
    ("after", "history_list_length_after", |w| w.metric("history_list_length_after"), 0),
];

const PLANNING: [Figure; 6] = [
    ("plan buf", "planning_buffers_before", |w| w.metric("planning_buffers_before"), 0),
    ("after", "planning_buffers_after", |w| w.metric("planning_buffers_after"), 0),
    ("plan us", "planning_us_before", |w| w.metric("planning_us_before"), 0),
    ("after", "planning_us_after", |w| w.metric("planning_us_after"), 0),
    ("lookups", "min_lookups", |w| w.metric("min_lookups"), 0),
    ("lookup us", "min_lookup_us_each", |w| Some(w.metric("min_lookup_us")? / w.metric("min_lookups")?), 0),
];

fn grown(window: &Recorded<Window>, what: &str) -> Option<f64> {
    let at = |moment: &str| window.metric(&format!("{what}_{moment}"));
    Some((at("after")? - at("before")?) / MB)
}

/// Both tables, without columns that no system reports.
pub(crate) fn blocks(comparison: &Comparison<'_>, which: StepKind) -> Vec<Block> {
    let tables = [
        ("debt", "Sizes and dead rows", &DEBT[..]),
        ("planning", "Planning the DELETE, and finding the smallest key", &PLANNING[..]),
    ];
    let tables = tables.map(|(id, title, figures)| table(comparison, which, id, title, figures));
    tables.into_iter().flatten().map(Block::Table).collect()
}

fn table(
    comparison: &Comparison<'_>,
    which: StepKind,
    id: &'static str,
    title: &str,
    figures: &[Figure],
) -> Option<Table> {
    let steps = comparison.steps(which);
    let is_reported = |(.., value, _): &&Figure| {
        let mut windows =
            comparison.arms.iter().flat_map(|arm| steps.iter().map(|step| arm.window(&step.name)));
        windows.any(|window| window.is_ok_and(|window| value(window).is_some()))
    };
    let figures: Vec<&Figure> = figures.iter().filter(is_reported).collect();
    if figures.is_empty() {
        return None;
    }
    let own = figures.iter().map(|(name, key, ..)| Column::number(*name, *key));
    let columns = own.chain(["dbms", "step"].map(Column::words)).collect();
    let mut table = Table::new(id, title, columns, 2);
    by_step(comparison, which, &mut table, |_, _, window| {
        figures.iter().map(|(.., value, decimals)| Cell::fixed(value(window), *decimals)).collect()
    });
    (!table.rows.is_empty()).then_some(table)
}
