//! Changes across versions: which tests changed together, and in which version.
//!
//! | column | means |
//! | --- | --- |
//! | `arrived in` | the first version that has the change; several if the data cannot distinguish them; `between` two if those between them have no results |
//! | `what moved` | the counters, with the smallest and largest change over the tests |
//! | `tests` | the tests that changed; those with the same counters in the same version are one arrival |

use rqps_stats::Metric;
use rqps_stats::series::{Arrival, TestSteps};
use rqps_verdicts::{VersionRow, arrival_sizes, version_rows};

use crate::comparison::Comparison;
use crate::document::{Block, Cell, Column, Table};
use crate::error::Result;
use crate::verdict_lines::Judged;
use crate::words;

/// A table per series of versions; none if no run has three versions.
pub(crate) fn blocks(comparison: &Comparison<'_>) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    for judged in Judged::all(comparison)? {
        for row in version_rows(judged.run, &judged.verdicts) {
            blocks.push(block(&judged, &row));
        }
    }
    Ok(blocks)
}

/// The changes along one series of versions.
pub(crate) fn block(judged: &Judged<'_>, row: &VersionRow) -> Block {
    let version = |index: usize| judged.run.arms[row.arms[index]].build_version.as_str();
    let versions: Vec<&str> = (0..row.arms.len()).map(version).collect();
    if row.arrivals.is_empty() {
        return Block::Text(format!(
            "Across versions ({}): no change that matters was established.",
            versions.join(", ")
        ));
    }
    let columns = ["arrived in", "what moved", "tests"].map(Column::words).to_vec();
    let mut table = Table::new("arrivals", "What changed from version to version", columns, 0);
    table.preamble.push(format!("Versions: {}", versions.join(", ")));
    for arrival in &row.arrivals {
        table.row(vec![
            Cell::words(row.arrived(judged.run, arrival)),
            Cell::words(moved(&row.steps, arrival)),
            Cell::words(arrival.tests.join(", ")),
        ]);
    }
    table.footnotes = vec![
        format!(
            "at most {} of tests in which nothing changed are listed by mistake; the listed versions include the one that \
             brought the change with {:.0} % confidence",
            words::percent(row.rules.alpha),
            row.rules.confidence * 100.0
        ),
        "sizes compare the version that brought the change with the one before, smallest to largest over the tests"
            .to_owned(),
    ];
    Block::Table(table)
}

/// `rate -5.0 to -3.1 %, instructions +3.0 %`.
pub(crate) fn moved(steps: &[TestSteps], arrival: &Arrival) -> String {
    let part = |(metric, (low, high)): (&Metric, &(f64, f64))| {
        let (low, high) = (signed(*low), signed(*high));
        let size = if low == high { format!("{low} %") } else { format!("{low} to {high} %") };
        format!("{} {size}", metric.measure().label)
    };
    arrival_sizes(steps, arrival).iter().map(part).collect::<Vec<_>>().join(", ")
}

fn signed(ratio: f64) -> String {
    format!("{:+.1}", (ratio - 1.0) * 100.0)
}
