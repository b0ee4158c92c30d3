//! Latencies of made-up windows: all events alike, and on some arms one that something held up.

use hdrhistogram::serialization::{Serializer, V2Serializer};
use rqps_store::{Histogram, LatencyFrom};

/// The histogram of a window of `events` events that took `window_us` microseconds, one of them `stall_us` of it.
pub(super) fn of_events(events: u64, window_us: u64, stall_us: u64) -> Option<Histogram> {
    let stalls = u64::from(stall_us > 0);
    let event_us = window_us.saturating_sub(stall_us) / (events - stalls).max(1);
    let mut all = hdrhistogram::Histogram::<u64>::new(3).ok()?;
    all.record_n(event_us * 1000, events - stalls).ok()?;
    all.record_n(stall_us * 1000, stalls).ok()?;
    let mut v2 = Vec::new();
    V2Serializer::new().serialize(&all, &mut v2).ok()?;
    let us = |share| all.value_at_quantile(share) as f64 / 1e3;
    Some(Histogram {
        statement: "event".into(),
        from: LatencyFrom::Sent,
        count: all.len(),
        p50_us: us(0.5),
        p95_us: us(0.95),
        p99_us: us(0.99),
        max_us: us(1.0),
        mean_us: all.mean() / 1e3,
        v2,
    })
}
