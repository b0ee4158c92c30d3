//! Versions in a row: what changed together, and in which version it arrived.
//!
//! | column | means |
//! | --- | --- |
//! | `arrived in` | the first version that has the change; several where the data cannot tell which |
//! | `what moved` | the counters, with the smallest and largest change over the tests |
//! | `tests` | where it shows; tests that moved alike in the same version are one arrival, since they have one cause |

use rqps_stats::Metric;
use rqps_stats::series::Arrival;
use rqps_verdicts::{VersionRow, version_rows};

use crate::document::{Block, Cell, Column, Table};
use crate::error::Result;
use crate::sides::Sides;
use crate::verdict_lines::Judged;
use crate::words;

/// A table for each row of versions; nothing where no run has three versions.
pub(crate) fn blocks(sides: &Sides<'_>) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    for judged in Judged::of_all(sides)? {
        for row in version_rows(judged.run, &judged.verdicts) {
            blocks.push(block(&judged, &row));
        }
    }
    Ok(blocks)
}

/// What was found along one row.
pub(crate) fn block(judged: &Judged<'_>, row: &VersionRow) -> Block {
    let version = |place: usize| judged.run.arms[row.arms[place]].build_version.as_str();
    let versions: Vec<&str> = (0..row.arms.len()).map(version).collect();
    if row.arrivals.is_empty() {
        return Block::Text(format!(
            "Across versions ({}): no change arrived that is shown and matters.",
            versions.join(", ")
        ));
    }
    let columns = ["arrived in", "what moved", "tests"].map(Column::words).to_vec();
    let mut table = Table::new("arrivals", "What changed from version to version", columns, 0);
    table.preamble.push(format!("Versions: {}", versions.join(", ")));
    for arrival in &row.arrivals {
        let places: Vec<&str> = arrival.versions.iter().map(|place| version(*place)).collect();
        table.row(vec![
            Cell::words(places.join(" or ")),
            Cell::words(moved(row, arrival)),
            Cell::words(arrival.tests.join(", ")),
        ]);
    }
    table.footnotes = vec![
        format!(
            "a change is named in at most {} of tests in which nothing changed; the version it arrived in is among \
             those named with {:.0} % confidence",
            words::percent(row.rules.alpha),
            row.rules.confidence * 100.0
        ),
        "sizes are from the version before to the version it arrived in, smallest to largest over the tests"
            .to_owned(),
    ];
    Block::Table(table)
}

/// `rate -5.0 to -3.1 %, instructions +3.0 %`.
fn moved(row: &VersionRow, arrival: &Arrival) -> String {
    let part = |(metric, (low, high)): (&Metric, &(f64, f64))| {
        let (low, high) = (signed(*low), signed(*high));
        let size = if low == high { format!("{low} %") } else { format!("{low} to {high} %") };
        format!("{} {size}", metric.measure().label)
    };
    row.sizes(arrival).iter().map(part).collect::<Vec<_>>().join(", ")
}

fn signed(ratio: f64) -> String {
    format!("{:+.1}", (ratio - 1.0) * 100.0)
}
