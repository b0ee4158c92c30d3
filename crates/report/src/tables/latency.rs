//! Latency by kind of statement, in microseconds.
//!
//! | column | means |
//! | --- | --- |
//! | `count` | statements measured |
//! | `p50`, `p95`, `p99`, `max`, `mean` | percentiles, maximum and mean, microseconds |
//! | `from` | counted from when the statement was sent, or (open loop) from when it was due |
//! | `dbms`, `statement` | the variant and the kind of statement |

use crate::document::{Block, Cell, Column, Table};
use crate::error::Result;
use crate::sides::{Sides, StepKind, TestStep};
use crate::tables::footnotes;

const NUMBERS: [(&str, &str); 6] = [
    ("count", "count"),
    ("p50", "p50_us"),
    ("p95", "p95_us"),
    ("p99", "p99_us"),
    ("max", "max_us"),
    ("mean", "mean_us"),
];

/// One table for each test that has latencies.
pub(crate) fn blocks(sides: &Sides<'_>, which: StepKind) -> Result<Vec<Block>> {
    super::of_each_test(sides, which, of_test)
}

fn of_test(sides: &Sides<'_>, step: &TestStep) -> Result<Option<Table>> {
    let mut rows = Vec::new();
    for (order, side) in sides.base_first().into_iter().enumerate() {
        let Some(window) = side.first_window(&step.name) else {
            continue;
        };
        for histogram in side.run.histograms(window.action.seq)? {
            let micros = |value: f64| Cell::fixed(Some(value), 0);
            let cells = vec![
                Cell::count(histogram.count),
                micros(histogram.p50_us),
                micros(histogram.p95_us),
                micros(histogram.p99_us),
                micros(histogram.max_us),
                micros(histogram.mean_us),
                Cell::words(histogram.from.key()),
                Cell::words(side.label()),
                Cell::words(&*histogram.statement),
            ];
            rows.push(((histogram.statement, histogram.from.key(), order), cells));
        }
    }
    if rows.is_empty() {
        return Ok(None);
    }
    rows.sort_by(|(a, _), (b, _)| a.cmp(b));
    let columns = NUMBERS.iter().map(|(name, key)| Column::number(*name, *key));
    let columns = columns.chain(["from", "dbms", "statement"].map(Column::words)).collect();
    let title = format!("Latency in microseconds: {}", step.name);
    let mut table = Table::new("latency", title, columns, 3).about("test", &step.name);
    rows.into_iter().for_each(|(_, cells)| table.row(cells));
    table.footnotes = footnotes::of_steps(sides, std::slice::from_ref(step));
    Ok(Some(table))
}
