//! Latencies of made-up windows.

use hdrhistogram::serialization::{Serializer, V2Serializer};
use rqps_store::{Histogram, LatencyFrom};

/// A histogram of latencies (microseconds, number) of one kind of statement.
///
/// # Panics
/// If a latency is longer than an hour.
pub fn latencies(statement: &str, counts: &[(f64, u64)]) -> Histogram {
    let mut all = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3)
        .expect("bounds that are right");
    for (us, count) in counts {
        all.record_n((us * 1e3).round() as u64, *count).expect("a latency within the bounds");
    }
    let mut v2 = Vec::new();
    V2Serializer::new().serialize(&all, &mut v2).expect("room in memory");
    let us = |share| all.value_at_quantile(share) as f64 / 1e3;
    Histogram {
        statement: statement.into(),
        from: LatencyFrom::Sent,
        count: all.len(),
        p50_us: us(0.5),
        p95_us: us(0.95),
        p99_us: us(0.99),
        max_us: us(1.0),
        mean_us: all.mean() / 1e3,
        v2,
    }
}

/// The histogram of a window of `window_us` microseconds with `events` events, one of which took `stall_us`.
pub(super) fn of_events(events: u64, window_us: u64, stall_us: u64) -> Histogram {
    let stalls = u64::from(stall_us > 0);
    let event_us = window_us.saturating_sub(stall_us) / (events - stalls).max(1);
    latencies("event", &[(event_us as f64, events - stalls), (stall_us as f64, stalls)])
}
