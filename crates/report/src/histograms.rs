//! Latencies by kind of statement, merged over windows.

use std::collections::BTreeMap;
use std::io::Cursor;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use rqps_store::{Histogram as Stored, Recorded, Run, Window};

use crate::error::{Error, Result};

const NS_PER_US: f64 = 1e3;

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
            let histogram = decoded(run, window, &stored)?;
            add(&mut all, stored.statement, histogram)?;
        }
    }
    Ok(all)
}

/// Latencies by kind of statement and start, pooled over windows. Those of a window without a stored histogram, as in
/// runs of older versions, stay as they are.
///
/// # Errors
/// If the run cannot be read, or a histogram is damaged.
pub(crate) fn pooled<'a>(
    run: &Run,
    windows: impl Iterator<Item = &'a Recorded<Window>>,
) -> Result<Vec<Stored>> {
    let mut all: Vec<(Stored, Option<Histogram<u64>>)> = Vec::new();
    for window in windows {
        for stored in run.histograms(window.action.seq)? {
            let decoded = if stored.v2.is_empty() { None } else { Some(decoded(run, window, &stored)?) };
            let is_same = |(known, _): &&mut (Stored, _)| {
                (&known.statement, known.from) == (&stored.statement, stored.from)
            };
            match (all.iter_mut().find(is_same), decoded) {
                (Some((_, Some(sum))), Some(more)) => sum.add(&more).map_err(Error::output)?,
                (Some(_), _) => {}
                (None, decoded) => all.push((stored, decoded)),
            }
        }
    }
    Ok(all.into_iter().map(|(stored, sum)| with_figures_of(stored, sum)).collect())
}

fn with_figures_of(stored: Stored, sum: Option<Histogram<u64>>) -> Stored {
    let Some(sum) = sum.filter(|sum| sum.len() > stored.count) else { return stored };
    let us = |quantile: f64| sum.value_at_quantile(quantile) as f64 / NS_PER_US;
    Stored {
        count: sum.len(),
        p50_us: us(0.5),
        p95_us: us(0.95),
        p99_us: us(0.99),
        max_us: sum.max() as f64 / NS_PER_US,
        mean_us: sum.mean() / NS_PER_US,
        ..stored
    }
}

fn decoded(run: &Run, window: &Recorded<Window>, stored: &Stored) -> Result<Histogram<u64>> {
    let decoded = Deserializer::new().deserialize(&mut Cursor::new(&stored.v2));
    decoded.map_err(|error| Error::Histogram {
        run: run.folder.name(),
        step: window.action.step.clone(),
        arm: window.action.arm.clone(),
        statement: stored.statement.clone(),
        source: error,
    })
}

/// Adds latencies of one kind.
pub(crate) fn add(all: &mut ByStatement, statement: String, histogram: Histogram<u64>) -> Result<()> {
    match all.get_mut(&statement) {
        Some(sum) => sum.add(&histogram).map_err(Error::output)?,
        None => drop(all.insert(statement, histogram)),
    }
    Ok(())
}
