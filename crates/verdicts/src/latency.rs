//! Latencies of events, from the run's histograms.

use hdrhistogram::serialization::Deserializer;
use rqps_store::{Histogram, LatencyFrom, Recorded, Run, Window};

use crate::error::{Error, Result};

/// Statement name of the histogram of whole events.
const EVENT: &str = "event";
const NS_PER_US: f64 = 1e3;

/// The latencies of a window's events, from sending to the complete answer; `None` if they were not measured.
pub(crate) fn of_events(run: &Run, window: &Recorded<Window>) -> Result<Option<Histogram>> {
    let is_of_events = |one: &Histogram| {
        one.statement == EVENT && one.from == LatencyFrom::Sent && !one.v2.is_empty() && one.count > 0
    };
    Ok(run.histograms(window.action.seq)?.into_iter().find(is_of_events))
}

/// Decodes the histogram, whose values are nanoseconds.
pub(crate) fn decode(run: &Run, seq: u32, histogram: &Histogram) -> Result<hdrhistogram::Histogram<u64>> {
    let decoded = Deserializer::new().deserialize(&mut histogram.v2.as_slice());
    decoded.map_err(|error| Error::Latency { run: run.folder.name(), seq, why: error.to_string() })
}

/// The sum over events of the microseconds beyond `threshold_us`, and the number of such events.
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

/// A quantile in microseconds; `share` is from 0 to 1.
pub(crate) fn quantile_us(histogram: &hdrhistogram::Histogram<u64>, share: f64) -> f64 {
    histogram.value_at_quantile(share) as f64 / NS_PER_US
}
