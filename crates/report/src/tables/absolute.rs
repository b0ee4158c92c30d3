//! Absolute rates (QPS, where at least one test counts queries).
//!
//! | column | means |
//! | --- | --- |
//! | `col-N` | rate of the variant that the line `col-N : …` names: queries per second as sysbench counts them (BEGIN and COMMIT are queries); thousand rows per second over all clients for tests that count rows; in blocks as the verdict gives it |
//! | `test` | the test; alphabetical within its group |

use crate::background::MARK;
use crate::comparison::{Comparison, StepKind, numbered};
use crate::document::{Cell, Column, Table};
use crate::number;
use crate::tables::footnotes;

/// The table of all arms, base first.
pub(crate) fn table(comparison: &Comparison<'_>, which: StepKind) -> Table {
    let all = comparison.base_first();
    let steps = comparison.steps(which);
    let mut columns = numbered(&all);
    columns.push(Column::words("test"));
    let counts_queries = comparison.units(&steps).iter().any(|(unit, _)| unit.is_queries());
    let (id, title) = match which {
        StepKind::Tests if !counts_queries => ("qps", "Rates"),
        StepKind::Tests => ("qps", "QPS"),
        StepKind::Pre => ("qps_pre", "QPS before any write (.pre)"),
    };
    let mut table = Table::new(id, title, columns, 1);
    for step in &steps {
        let cells = all.iter().map(|arm| {
            let mark = if arm.missed(&step.name) { MARK } else { "" };
            let text = |rate: f64| format!("{mark}{}", number::rate(rate));
            Cell::printed(arm.rate(&step.name), text)
        });
        table.row_in(&step.group.title, cells.chain([Cell::words(&*step.name)]).collect());
    }
    table.footnotes = footnotes::of_rate_table(comparison, &steps);
    table.footnotes.extend(footnotes::of_rates_in_blocks(comparison));
    table
}
