//! Detects the end of warm-up: the rate of the last stretch equals that of the stretch before.

use std::time::Duration;

/// How often the rate is sampled.
pub(crate) const SAMPLE: Duration = Duration::from_millis(250);
/// Samples in a stretch.
const STRETCH: usize = 4;
/// Maximum relative difference of two consecutive stretches.
const TOLERANCE: f64 = 0.02;

/// Fed with event counts, one per [`SAMPLE`].
#[derive(Debug, Default)]
pub(crate) struct Detector {
    counts: Vec<u64>,
}

impl Detector {
    /// Adds the events of the next sample; returns true once the rate has settled. A sample without events
    /// never counts as settled: such a warm-up runs into its time limit.
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
