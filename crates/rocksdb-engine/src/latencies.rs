//! Latencies of a client, counted in a few instructions each: HdrHistogram's general layout takes five times as many.

use hdrhistogram::Histogram;

use crate::error::{Error, Result};

/// Longest latency that is told apart, nanoseconds: an hour.
const NS_MAX: u64 = 3_600_000_000_000;
/// Significant digits of the sum.
const DIGITS: u8 = 3;
/// Values below `2^(PRECISION_BITS + 1)` are counted exactly, larger ones with this many bits after the first.
const PRECISION_BITS: u32 = 11;
/// Buckets up to the longest latency, whose highest bit is the 41st.
const BUCKETS: usize = ((42 - PRECISION_BITS as usize) + 1) << PRECISION_BITS;

pub(crate) struct Latencies(Box<[u32; BUCKETS]>);

impl Latencies {
    pub fn new() -> Self {
        Self(Box::new([0; BUCKETS]))
    }

    #[inline]
    pub fn record(&mut self, ns: u64) {
        let ns = ns.min(NS_MAX);
        let shift = (63 - (ns | 1).leading_zeros()).saturating_sub(PRECISION_BITS);
        // Below the first shift the value is its own bucket; each shift has `2^PRECISION_BITS` buckets.
        let bucket = ((shift as usize) << PRECISION_BITS) + (ns >> shift) as usize;
        self.0[bucket] += 1;
    }

    /// Adds them to a histogram: a bucket's values as its middle.
    fn add_to(&self, sum: &mut Histogram<u64>) -> Result<()> {
        let counted = self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        for (bucket, count) in counted {
            let shift = (bucket >> PRECISION_BITS).saturating_sub(1) as u32;
            let low = ((bucket - ((shift as usize) << PRECISION_BITS)) as u64) << shift;
            let middle = low + ((1_u64 << shift) >> 1);
            sum.record_n(middle.min(NS_MAX), (*count).into()).map_err(|error| failed(&error))?;
        }
        Ok(())
    }
}

fn failed(error: &dyn std::fmt::Display) -> Error {
    Error::Misuse(format!("cannot add up latencies: {error}"))
}

/// A histogram of nanoseconds.
pub(crate) fn empty() -> Result<Histogram<u64>> {
    Histogram::new_with_bounds(1, NS_MAX, DIGITS).map_err(|error| failed(&error))
}

/// The latencies of all clients in HdrHistogram's V2 encoding.
pub(crate) fn encoded<'a>(each: impl Iterator<Item = &'a Latencies>) -> Result<Vec<u8>> {
    let mut sum = empty()?;
    for latencies in each {
        latencies.add_to(&mut sum)?;
    }
    serialized(&sum)
}

/// A histogram in HdrHistogram's V2 encoding.
pub(crate) fn serialized(histogram: &Histogram<u64>) -> Result<Vec<u8>> {
    use hdrhistogram::serialization::{Serializer, V2Serializer};
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(histogram, &mut bytes).map_err(|error| failed(&error))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_is_counted_within_a_thousandth() {
        let mut value = 1_u64;
        while value < NS_MAX {
            for ns in [value - 1, value, value + 1, value + value / 3] {
                let mut one = Latencies::new();
                one.record(ns);
                let mut sum = empty().unwrap();
                one.add_to(&mut sum).unwrap();
                let (found, ns) = (sum.max() as f64, ns.min(NS_MAX) as f64);
                assert_eq!(sum.len(), 1);
                assert!((found - ns).abs() <= 1.0 + ns / 1000.0, "{ns} became {found}");
            }
            value *= 2;
        }
        let mut longest = Latencies::new();
        longest.record(u64::MAX);
        assert!(encoded([&longest].into_iter()).unwrap().len() > 10);
    }
}
