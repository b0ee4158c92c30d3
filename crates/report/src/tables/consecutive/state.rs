//! State before and after each step: sizes, dead rows, and what planning a DELETE reads.
//!
//! | column | means |
//! | --- | --- |
//! | `table MB`, `index MB` | size of tables, and of their indexes, at the end of the step |
//! | `+MB` | by how much that grew in the step |
//! | `dead`, `after` | dead rows before the step and after it, as the server estimates them |
//! | `history`, `after` | length of InnoDB's history list before the step and after it |
//! | `plan buf`, `after` | buffers that planning the DELETE of the step reads, before it and after it: the index entries of deleted rows at the tail are included. Not reported by Postgres before 13 |
//! | `plan us`, `after` | microseconds that planning it takes |
//! | `lookups`, `lookup us` | how often the smallest key was looked up, and how long one lookup took |
//! | `dbms`, `step` | the system and the step |

use rqps_store::{Recorded, Window};

use super::by_step;
use crate::document::{Block, Cell, Column, Table};
use crate::sides::{Sides, StepKind};

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

/// Both tables; nothing of what no system tells.
pub(crate) fn blocks(sides: &Sides<'_>, which: StepKind) -> Vec<Block> {
    let tables = [
        ("debt", "Sizes and dead rows", &DEBT[..]),
        ("planning", "Planning the DELETE, and finding the smallest key", &PLANNING[..]),
    ];
    let tables = tables.map(|(id, title, figures)| table(sides, which, id, title, figures));
    tables.into_iter().flatten().map(Block::Table).collect()
}

fn table(
    sides: &Sides<'_>,
    which: StepKind,
    id: &'static str,
    title: &str,
    figures: &[Figure],
) -> Option<Table> {
    let steps = sides.steps(which);
    let is_told = |(.., value, _): &&Figure| {
        let mut windows = sides.all.iter().flat_map(|side| steps.iter().map(|step| side.window(&step.name)));
        windows.any(|window| window.is_ok_and(|window| value(window).is_some()))
    };
    let figures: Vec<&Figure> = figures.iter().filter(is_told).collect();
    if figures.is_empty() {
        return None;
    }
    let own = figures.iter().map(|(name, key, ..)| Column::number(*name, *key));
    let columns = own.chain(["dbms", "step"].map(Column::words)).collect();
    let mut table = Table::new(id, title, columns, 2);
    by_step(sides, which, &mut table, |_, _, window| {
        figures.iter().map(|(.., value, decimals)| Cell::fixed(value(window), *decimals)).collect()
    });
    (!table.rows.is_empty()).then_some(table)
}
