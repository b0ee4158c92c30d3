//! Latency by kind of statement, in microseconds, over all windows of a test.
//!
//! | column | means |
//! | --- | --- |
//! | `count` | measured statements |
//! | `p50`, `p95`, `p99`, `max`, `mean` | percentiles, maximum and mean, microseconds; empty where so few don't show it |
//! | `timed from` | start of the interval: when the statement was sent, or (open loop) when it was due |
//! | `dbms`, `statement` | the variant and the kind of statement |

use rqps_store::Histogram;

use crate::comparison::{ComparedArm, Comparison, StepKind, TestStep};
use crate::document::{Block, Cell, Column, Figure, Table};
use crate::error::Result;
use crate::histograms;
use crate::histograms::{QUANTILES, is_known};
use crate::tables::footnotes;

/// Footnote of tables that lack percentiles.
const TOO_FEW: &str = "no percentile where so few latencies do not show it";

/// One table per test that has latencies.
pub(crate) fn blocks(comparison: &Comparison<'_>, which: StepKind) -> Result<Vec<Block>> {
    super::for_each_test(comparison, which, table)
}

fn table(comparison: &Comparison<'_>, step: &TestStep) -> Result<Option<Table>> {
    type Latencies<'a> = (Histogram, ComparedArm<'a>);
    let mut rows: Vec<Latencies<'_>> = Vec::new();
    for arm in comparison.base_first() {
        let pooled = histograms::pooled(arm.run, arm.all_windows(&step.name))?;
        rows.extend(pooled.into_iter().map(|stored| (stored, arm)));
    }
    // Stable: base first.
    rows.sort_by(|(a, _), (b, _)| (&a.statement, a.from.key()).cmp(&(&b.statement, b.from.key())));
    let micros = |us: f64| Cell::fixed(Some(us), 0);
    let quantile =
        |stored: &Histogram, share: f64, us: f64| Cell::fixed(is_known(share, stored.count).then_some(us), 0);
    let figures: [Figure<'_, Latencies<'_>>; 9] = [
        (Column::number("count", "count"), &|(stored, _)| Cell::count(stored.count)),
        (Column::number("p50", "p50_us"), &|(stored, _)| quantile(stored, 0.5, stored.p50_us)),
        (Column::number("p95", "p95_us"), &|(stored, _)| quantile(stored, 0.95, stored.p95_us)),
        (Column::number("p99", "p99_us"), &|(stored, _)| quantile(stored, 0.99, stored.p99_us)),
        (Column::number("max", "max_us"), &|(stored, _)| micros(stored.max_us)),
        (Column::number("mean", "mean_us"), &|(stored, _)| micros(stored.mean_us)),
        (Column::keyed_words("timed from", "from"), &|(stored, _)| Cell::words(stored.from.key())),
        (Column::words("dbms"), &|(_, arm)| Cell::words(arm.label())),
        (Column::words("statement"), &|(stored, _)| Cell::words(&*stored.statement)),
    ];
    let is_known = |(stored, _): &Latencies<'_>| QUANTILES.iter().all(|share| is_known(*share, stored.count));
    let left_out = (!rows.iter().all(is_known)).then(|| TOO_FEW.to_owned());
    let title = format!("Latency in microseconds: {}", step.name);
    let mut table = Table::of_figures("latency", title, &figures, 3, rows).about("test", &step.name);
    table.footnotes = footnotes::of_steps(comparison, std::slice::from_ref(step));
    table.footnotes.extend(left_out);
    Ok((!table.rows.is_empty()).then_some(table))
}
