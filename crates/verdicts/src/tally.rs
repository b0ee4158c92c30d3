//! A run in one line: of how many tests an arm is worse, better, the same.

use std::collections::BTreeMap;

use rqps_stats::{Class, Detector, Tag, Verdict};

use crate::judged::{RunVerdicts, Tally};

impl RunVerdicts {
    /// Counts tests of candidates, each once, by what is said of its rate, its cost and its stalls: a regression of any
    /// makes it one, then what is mixed does, then an improvement; it is the same when all say so that measured long
    /// enough to say anything.
    pub fn tally_of_tests(&self) -> Tally {
        let mut tests: BTreeMap<(&str, usize), Vec<&Verdict>> = BTreeMap::new();
        let was_asked = |verdict: &&Verdict| {
            Detector::HEADLINES.contains(&verdict.detector) && !verdict.tags.contains(&Tag::TooShort)
        };
        for verdict in self.on_candidates().filter(was_asked) {
            tests.entry((&verdict.test, verdict.arm)).or_default().push(verdict);
        }
        let mut tally = Tally::default();
        for verdicts in tests.values() {
            let any = |is: fn(&&Verdict) -> bool| verdicts.iter().any(is);
            *if any(|one| one.class.is_regression() && !one.is_mixed()) {
                &mut tally.regressions
            } else if any(|one| one.is_mixed()) {
                &mut tally.mixed
            } else if any(|one| one.class.is_change()) {
                &mut tally.improvements
            } else if any(|one| one.class == Class::Inconclusive) {
                &mut tally.inconclusive
            } else {
                &mut tally.same
            } += 1;
        }
        tally
    }
}
