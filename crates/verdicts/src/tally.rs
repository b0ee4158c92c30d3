//! A run in one line: of how many tests an arm is worse, better, the same.

use std::collections::BTreeMap;

use rqps_stats::{Class, Tag};

use crate::judged::{RunVerdicts, Tally};

impl RunVerdicts {
    /// Counts tests of candidates, each once, by all that is said about it: a regression of any detector makes it one,
    /// then an improvement does; it is the same when every detector says so that measured long enough to say anything.
    pub fn tally_of_tests(&self) -> Tally {
        let mut tests: BTreeMap<(&str, usize), Vec<Class>> = BTreeMap::new();
        let was_asked = |verdict: &&rqps_stats::Verdict| !verdict.tags.contains(&Tag::TooShort);
        for verdict in self.on_candidates().filter(was_asked) {
            tests.entry((&verdict.test, verdict.arm)).or_default().push(verdict.class);
        }
        let mut tally = Tally::default();
        for classes in tests.values() {
            let any = |is: fn(&Class) -> bool| classes.iter().any(is);
            *if any(|class| class.is_regression()) {
                &mut tally.regressions
            } else if any(|class| class.is_change()) {
                &mut tally.improvements
            } else if any(|class| *class == Class::Inconclusive) {
                &mut tally.inconclusive
            } else {
                &mut tally.same
            } += 1;
        }
        tally
    }
}
