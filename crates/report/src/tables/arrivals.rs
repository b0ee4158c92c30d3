//! Changes across versions: which tests changed together, and between which versions.
//!
//! | column | means |
//! | --- | --- |
//! | `versions` | the two that differ significantly: neighbours; or, of a change relative to base that no neighbours show, since the last version that is the same as base |
//! | `what moved` | the figures, with the smallest and largest change over the tests |
//! | `why` | the most frequent first finding of the explanations of these tests |
//! | `tests` | the tests that changed; those with the same counters between the same versions, in like size, are one arrival |

use rqps_explain::{ExplainRequest, explain};
use rqps_model::Digits;
use rqps_stats::series::{Arrival, Step, TestSteps};
use rqps_stats::{Metric, Verdict};
use rqps_verdicts::{VersionRow, arrival_sizes, judge_run_relative_to};

use crate::comparison::Comparison;
use crate::document::{Block, Cell, Column, Table};
use crate::error::Result;
use crate::explain_summary::Summary;
use crate::verdict_lines::Judged;

/// What parts rows of the same counters and versions.
pub(crate) const APART: &str =
    "what changed more than three times as much as the next smaller change has a row of its own";

/// A table per series of versions; none if no run has three versions.
pub(crate) fn blocks(comparison: &Comparison<'_>) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    for judged in Judged::all(comparison)? {
        for row in judged.versions()? {
            blocks.push(block(&judged, row)?);
        }
    }
    Ok(blocks)
}

/// The changes along one series of versions.
///
/// # Errors
/// If the run cannot be read.
pub(crate) fn block(judged: &Judged<'_>, row: &VersionRow) -> Result<Block> {
    let version = |index: usize| judged.run.arms[row.arms[index]].build_version.as_str();
    let versions: Vec<&str> = (0..row.arms.len()).map(version).collect();
    if row.arrivals.is_empty() {
        let (done, least) = (judged.verdicts.blocks_done, judged.blocks_min());
        let found = match done < least {
            true => {
                let noun = if judged.run.meta.is_imported() { "repeats of every arm" } else { "blocks" };
                let are = if done == 1 { "is" } else { "are" };
                format!("no verdict, which takes {least} {noun}, and there {are} {done}.")
            }
            false => "no significant change, by the rules of the verdicts.".to_owned(),
        };
        return Ok(Block::Text(format!("Across versions ({}): {found}", versions.join(", "))));
    }
    let columns = vec![
        Column::words("versions"),
        Column::words("what moved"),
        Column::words("why").optional(1),
        Column::words("tests"),
    ];
    let mut table = Table::new("arrivals", "What changed from version to version", columns, 0);
    let base = &judged.run.arms[judged.base].build_version;
    table.preamble.push(format!(
        "Versions: {}; each against the one before it, while the verdicts are against {base}",
        versions.join(", ")
    ));
    let mut has_likely = false;
    for arrival in &row.arrivals {
        let is_likely = |metric| is_likely(judged, row, arrival, metric);
        has_likely |= arrival.signature.iter().any(|(metric, _)| is_likely(*metric));
        table.row(vec![
            Cell::words(row.span(judged.run, arrival)),
            Cell::words(moved(&row.steps, arrival, is_likely)),
            Cell::words(why(judged, row, arrival)?),
            Cell::words(arrival.tests.join(", ")),
        ]);
    }
    table.together = true;
    table.footnotes = vec![
        "each version is judged against the one before it, by the rules of the verdicts; changes that may be chance are left \
         out. A change relative to base that no neighbours show came after the last version that is the same as base; \
         if none is, versions further apart have a row"
            .to_owned(),
        format!("sizes are those between the two versions of the row, smallest to largest over the tests; {APART}"),
    ];
    table.footnotes.extend(
        has_likely.then(|| {
            format!("likely: shown between the two versions, but not established relative to {base}")
        }),
    );
    Ok(Block::Table(table))
}

/// Whether the verdicts relative to base call a change of an arrival likely and not established.
pub(crate) fn is_likely(judged: &Judged<'_>, row: &VersionRow, arrival: &Arrival, metric: Metric) -> bool {
    let (Some(first), Some(last)) = (arrival.versions.first(), arrival.versions.last()) else {
        return false;
    };
    let ends = [row.arms[*last], row.arms[first.saturating_sub(1)]];
    let Some(arm) = ends.into_iter().find(|arm| *arm != judged.base) else { return false };
    let is_its = |one: &&Verdict| one.metric == metric && arrival.tests.contains(&one.test);
    let verdicts: Vec<&Verdict> = judged.verdicts.of_arm(arm).filter(is_its).collect();
    verdicts.iter().any(|one| one.is_likely()) && !verdicts.iter().any(|one| one.class.is_change())
}

/// `less work (blocks touched)`: the most frequent cause of the change in its tests.
fn why(judged: &Judged<'_>, row: &VersionRow, arrival: &Arrival) -> Result<String> {
    let (Some(first), Some(last)) = (arrival.versions.first(), arrival.versions.last()) else {
        return Ok(String::new());
    };
    let (before, after) = (row.arms[first.saturating_sub(1)], row.arms[*last]);
    let verdicts = judge_run_relative_to(judged.run, &judged.verdicts.rules, before)?;
    let asked = ExplainRequest { tests: arrival.tests.clone(), arms: vec![after], base: Some(before) };
    Ok(Summary::of(&explain(judged.run, Some(&verdicts), &asked)?).main().unwrap_or_default())
}

/// `rate -5.0 to -3.1 % (likely), instructions +3.0 %`.
pub(crate) fn moved(steps: &[TestSteps], arrival: &Arrival, is_likely: impl Fn(Metric) -> bool) -> String {
    let part = |(metric, (low, high)): (&Metric, &(&Step, &Step))| {
        let (low, high) = (signed(low), signed(high));
        let size = if low == high { format!("{low} %") } else { format!("{low} to {high} %") };
        let likely = if is_likely(*metric) { " (likely)" } else { "" };
        format!("{} {size}{likely}", metric.measure().label)
    };
    arrival_sizes(steps, arrival).iter().map(part).collect::<Vec<_>>().join(", ")
}

/// In percent, with as many digits as its interval allows.
fn signed(step: &Step) -> String {
    Digits::of_percent(step.interval, 1).signed((step.ratio - 1.0) * 100.0)
}
