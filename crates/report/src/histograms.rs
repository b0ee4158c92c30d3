//! Latencies by kind of statement, merged over windows.

use std::collections::BTreeMap;
use std::io::Cursor;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use rqps_store::{Recorded, Run, Window};

use crate::error::{Error, Result};

/// Latencies in ns by kind of statement.
pub(crate) type ByStatement = BTreeMap<String, Histogram<u64>>;

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
