//! Tables computed from a window's full histograms: percentiles that the database does not store, and the
//! distribution.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use rqps_store::{Cell, Run};

use super::{Sink, places};
use crate::error::{Error, Result};

const NS_PER_US: f64 = 1e3;

pub(super) fn percentiles(run: &Run, sink: &mut Sink<'_>) -> Result<()> {
    for_each_histogram(run, |mut row, stored, histogram| {
        let us = |quantile: f64| histogram.value_at_quantile(quantile) as f64 / NS_PER_US;
        let min_us = histogram.min() as f64 / NS_PER_US;
        row.push((stored.count as i64).into());
        let lower = [stored.mean_us, min_us, stored.p50_us, us(0.9), stored.p95_us];
        let upper = [stored.p99_us, us(0.999), us(0.9999), stored.max_us];
        let null_if_empty = |value: f64| Cell::from((stored.count > 0).then_some(value));
        row.extend(lower.into_iter().chain(upper).map(null_if_empty));
        sink(row)
    })
}

pub(super) fn buckets(run: &Run, sink: &mut Sink<'_>) -> Result<()> {
    for_each_histogram(run, |row, _, histogram| {
        for bucket in histogram.iter_recorded() {
            let highest = bucket.value_iterated_to();
            let from_us = histogram.lowest_equivalent(highest) as f64 / NS_PER_US;
            let below_us = histogram.next_non_equivalent(highest) as f64 / NS_PER_US;
            let count = bucket.count_since_last_iteration() as i64;
            sink(row.iter().cloned().chain([from_us.into(), below_us.into(), count.into()]).collect())?;
        }
        Ok(())
    })
}

/// Calls `visit` with each histogram of each window, preceded by the first cells of its rows.
fn for_each_histogram(
    run: &Run,
    mut visit: impl FnMut(Vec<Cell>, &rqps_store::Histogram, &Histogram<u64>) -> Result<()>,
) -> Result<()> {
    let places = places(run)?;
    for seq in run.windows.iter().map(|window| window.action.seq) {
        let Some(place) = places.get(&seq) else { continue };
        for stored in run.histograms(seq)? {
            let histogram: Histogram<u64> =
                Deserializer::new().deserialize(&mut &*stored.v2).map_err(|_| Error::Histogram {
                    run: run.folder.name(),
                    seq,
                    statement: stored.statement.clone(),
                })?;
            let kind = [stored.statement.clone(), stored.from.key().to_owned()].map(Cell::from);
            visit(place.iter().cloned().chain(kind).collect(), &stored, &histogram)?;
        }
    }
    Ok(())
}
