//! A run in one line: how many verdicts there are of each kind.

use rqps_stats::Detector;

use crate::judged::{RunVerdicts, Tally};

impl RunVerdicts {
    /// The verdicts on all candidates by what they are about, as reports count them in their first sentence: rate and
    /// cost, and stalls if any changed. What has no verdicts is left out.
    pub fn tallies(&self) -> Vec<(Detector, Tally)> {
        let of = |detector: Detector| {
            (detector, Tally::of(self.on_candidates().filter(|verdict| verdict.detector == detector)))
        };
        let is_told = |(detector, tally): &(Detector, Tally)| match detector {
            Detector::Stalls => tally.regressions + tally.improvements > 0,
            _ => *tally != Tally::default(),
        };
        Detector::HEADLINES.into_iter().map(of).filter(is_told).collect()
    }
}
