//! When is a rate warm? When the last stretch of it runs as fast as the stretch before.

use std::time::Duration;

/// Length of a sample of the rate.
pub(crate) const SAMPLE: Duration = Duration::from_millis(250);
const STRETCH: usize = 4;
/// How much two neighbouring stretches may differ.
const TOLERANCE: f64 = 0.02;

/// Watches event counts, one per [`SAMPLE`].
#[derive(Debug, Default)]
pub(crate) struct Detector {
    counts: Vec<u64>,
}

impl Detector {
    /// Takes the events of the next sample; true when the rate has settled. A rate of less than one event per sample
    /// is never called settled: the cap ends such a warm-up.
    pub fn settled(&mut self, events: u64) -> bool {
        self.counts.push(events);
        let Some(start) = self.counts.len().checked_sub(2 * STRETCH) else {
            return false;
        };
        let recent = &self.counts[start..];
        let (before, after): (u64, u64) = (recent[..STRETCH].iter().sum(), recent[STRETCH..].iter().sum());
        recent.iter().all(|n| *n > 0) && (after as f64 / before as f64 - 1.0).abs() <= TOLERANCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_climbing_rate_is_not_settled_a_flat_one_is() {
        let mut detector = Detector::default();
        let climb = (1..40).map(|i| 1000 * i);
        assert!(!climb.into_iter().any(|n| detector.settled(n)));
        let mut flat = Detector::default();
        let when = (0..20).position(|i| flat.settled(1000 + i % 3));
        assert_eq!(when, Some(7));
        let mut idle = Detector::default();
        assert!(!(0..100).any(|_| idle.settled(0)));
    }
}
