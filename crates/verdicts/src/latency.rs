//! Latencies of events, as the run keeps them: read without decoding where that is enough.

use hdrhistogram::serialization::Deserializer;
use rqps_store::{Histogram, LatencyFrom, Recorded, Run, Window};

use crate::error::{Error, Result};

/// What the histogram of whole events is called among those of statements.
const EVENT: &str = "event";
const NS_PER_US: f64 = 1e3;

/// The latencies of a window's events, from sending to the whole answer; none where they were not measured.
pub(crate) fn of_events(run: &Run, window: &Recorded<Window>) -> Result<Option<Histogram>> {
    let all = run.histograms(window.action.seq)?;
    let of_events =
        |one: &Histogram| one.statement == EVENT && one.from == LatencyFrom::Sent && !one.v2.is_empty();
    Ok(all.into_iter().find(|one| of_events(one) && one.count > 0))
}

/// The whole distribution, in nanoseconds.
pub(crate) fn decode(run: &Run, seq: u32, histogram: &Histogram) -> Result<hdrhistogram::Histogram<u64>> {
    let decoded = Deserializer::new().deserialize(&mut histogram.v2.as_slice());
    decoded.map_err(|error| Error::Latency { run: run.folder.name(), seq, why: error.to_string() })
}

/// Microseconds that events took beyond `threshold_us` each, and how many events took more.
pub(crate) fn beyond(histogram: &hdrhistogram::Histogram<u64>, threshold_us: f64) -> (f64, u64) {
    let (mut beyond_us, mut events) = (0.0, 0);
    for bucket in histogram.iter_recorded() {
        let over_us = bucket.value_iterated_to() as f64 / NS_PER_US - threshold_us;
        if over_us > 0.0 {
            beyond_us += over_us * bucket.count_at_value() as f64;
            events += bucket.count_at_value();
        }
    }
    (beyond_us, events)
}

/// The latency that a share of events does not exceed, in microseconds.
pub(crate) fn quantile_us(histogram: &hdrhistogram::Histogram<u64>, share: f64) -> f64 {
    histogram.value_at_quantile(share) as f64 / NS_PER_US
}
