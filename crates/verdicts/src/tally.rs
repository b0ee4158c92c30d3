//! A run in one line: the number of tests that are worse, better, the same.

use std::collections::BTreeMap;

use rqps_stats::{Class, Detector, Tag, Verdict};

use crate::judged::{RunVerdicts, Tally};

impl RunVerdicts {
    /// Counts each test of each candidate once, by the verdicts on its rate, cost and stalls: as regression
    /// if any is one, else as mixed, improvement or inconclusive in this order if any is, else as same.
    /// Stalls of tests that were measured too briefly are ignored; changes that may be chance are inconclusive.
    pub fn tally_of_tests(&self) -> Tally {
        let mut tests: BTreeMap<(&str, usize), Vec<&Verdict>> = BTreeMap::new();
        let is_counted = |verdict: &&Verdict| {
            Detector::HEADLINES.contains(&verdict.detector) && !verdict.tags.contains(&Tag::TooShort)
        };
        for verdict in self.on_candidates().filter(is_counted) {
            tests.entry((&verdict.test, verdict.arm)).or_default().push(verdict);
        }
        let mut tally = Tally::default();
        for verdicts in tests.values() {
            let any = |is: fn(&&Verdict) -> bool| verdicts.iter().any(is);
            *if any(|one| one.significant && one.class.is_regression() && !one.is_mixed()) {
                &mut tally.regressions
            } else if any(|one| one.significant && one.is_mixed()) {
                &mut tally.mixed
            } else if any(|one| one.significant) {
                &mut tally.improvements
            } else if any(|one| one.class == Class::Inconclusive || one.may_be_chance()) {
                &mut tally.inconclusive
            } else {
                &mut tally.same
            } += 1;
        }
        tally
    }
}
