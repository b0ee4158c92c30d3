//! Latencies of other programs as histograms.

use hdrhistogram::serialization::{Serializer, V2Serializer};
use rqps_store::{Histogram, LatencyFrom};

/// Longest latency, an hour, in nanoseconds.
const LONGEST_NS: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;

/// Latencies and how many there were of each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Buckets {
    histogram: Option<hdrhistogram::Histogram<u64>>,
}

impl Buckets {
    pub fn add(&mut self, us: f64, count: u64) {
        let made = || hdrhistogram::Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).ok();
        if self.histogram.is_none() {
            self.histogram = made();
        }
        if let Some(all) = &mut self.histogram {
            all.saturating_record_n((us * 1e3).round().clamp(1.0, LONGEST_NS as f64) as u64, count);
        }
    }

    /// The latencies of one kind of statement; `None` without any.
    pub fn histogram(&self, statement: &str) -> Option<Histogram> {
        let all = self.histogram.as_ref().filter(|all| !all.is_empty())?;
        let mut v2 = Vec::new();
        V2Serializer::new().serialize(all, &mut v2).ok()?;
        let us = |share| all.value_at_quantile(share) as f64 / 1e3;
        Some(Histogram {
            statement: statement.to_owned(),
            from: LatencyFrom::Sent,
            count: all.len(),
            p50_us: us(0.5),
            p95_us: us(0.95),
            p99_us: us(0.99),
            max_us: all.max() as f64 / 1e3,
            mean_us: all.mean() / 1e3,
            v2,
        })
    }
}
