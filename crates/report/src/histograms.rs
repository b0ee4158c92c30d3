//! Latencies by kind of statement, merged over windows.

use std::collections::BTreeMap;
use std::io::Cursor;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use rqps_store::{Recorded, Run, Window};

use crate::error::{Error, Result};

/// Latencies in ns by kind of statement.
pub(crate) type ByStatement = BTreeMap<String, Histogram<u64>>;

/// Quantiles in tables, besides the maximum.
pub(crate) const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];
/// How likely the largest of some latencies is not above a quantile that they are said to show.
const ERROR_MAX: f64 = 0.025;

/// Whether so many latencies show a quantile: the largest is above it with 97.5 % probability, so that they bound it.
pub(crate) fn is_known(quantile: f64, count: u64) -> bool {
    quantile.powf(count as f64) <= ERROR_MAX
}

/// Merges the latencies of windows. Omits kinds without a stored histogram, as in runs of older versions.
///
/// # Errors
/// If the run cannot be read, or a histogram is damaged.
pub(crate) fn merged<'a>(
    run: &Run,
    windows: impl Iterator<Item = &'a Recorded<Window>>,
) -> Result<ByStatement> {
    let mut all = ByStatement::new();
    for window in windows {
        for stored in run.histograms(window.action.seq)? {
            if stored.v2.is_empty() {
                continue;
            }
            let histogram: Histogram<u64> = Deserializer::new()
                .deserialize(&mut Cursor::new(&stored.v2))
                .map_err(|error| Error::Histogram {
                    run: run.folder.name(),
                    step: window.action.step.clone(),
                    arm: window.action.arm.clone(),
                    statement: stored.statement.clone(),
                    source: error,
                })?;
            add(&mut all, stored.statement, histogram)?;
        }
    }
    Ok(all)
}

/// Adds latencies of one kind.
pub(crate) fn add(all: &mut ByStatement, statement: String, histogram: Histogram<u64>) -> Result<()> {
    match all.get_mut(&statement) {
        Some(sum) => sum.add(&histogram).map_err(Error::output)?,
        None => drop(all.insert(statement, histogram)),
    }
    Ok(())
}
