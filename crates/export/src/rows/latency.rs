//! What needs the whole histogram of a window: percentiles that the database does not have, and the distribution.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use rqps_store::{Cell, Run};

use super::{Sink, places};
use crate::error::{Error, Result};

const NS_PER_US: f64 = 1e3;

pub(super) fn percentiles(run: &Run, sink: &mut Sink<'_>) -> Result<()> {
    each(run, |mut row, one, histogram| {
        let us = |quantile: f64| histogram.value_at_quantile(quantile) as f64 / NS_PER_US;
        let min_us = histogram.min() as f64 / NS_PER_US;
        row.push((one.count as i64).into());
        let lower = [one.mean_us, min_us, one.p50_us, us(0.9), one.p95_us];
        let upper = [one.p99_us, us(0.999), us(0.9999), one.max_us];
        let of_some = |value: f64| Cell::from((one.count > 0).then_some(value));
        row.extend(lower.into_iter().chain(upper).map(of_some));
        sink(row)
    })
}

pub(super) fn buckets(run: &Run, sink: &mut Sink<'_>) -> Result<()> {
    each(run, |row, _, histogram| {
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

/// Each histogram of each window, and what its rows begin with.
fn each(
    run: &Run,
    mut take: impl FnMut(Vec<Cell>, &rqps_store::Histogram, &Histogram<u64>) -> Result<()>,
) -> Result<()> {
    let places = places(run)?;
    for seq in run.windows.iter().map(|window| window.action.seq) {
        let Some(place) = places.get(&seq) else { continue };
        for one in run.histograms(seq)? {
            let whole: Histogram<u64> = Deserializer::new().deserialize(&mut &*one.v2).map_err(|_| {
                Error::Histogram { run: run.folder.name(), seq, statement: one.statement.clone() }
            })?;
            let kind = [one.statement.clone(), one.from.key().to_owned()].map(Cell::from);
            take(place.iter().cloned().chain(kind).collect(), &one, &whole)?;
        }
    }
    Ok(())
}
