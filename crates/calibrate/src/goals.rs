//! The goals for verdicts, and whether they were met.

use crate::analysis::{Input, TestNoise, range};
use crate::confusion::Range;
use crate::pairing::{Look, Sample};
use crate::share::Share;
use rqps_stats::{Class, Detector};

/// Rates of tests whose blocks differ by less are held to goals: standard deviation of one block's logarithm.
const QUIET_SD: f64 = 0.015;

/// A goal, and which share of verdicts tells whether it is met.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    pub what: String,
    /// The share aimed at.
    pub aim: f64,
    /// Whether the share must be at least that large; else at most.
    pub at_least: bool,
    /// The share; none where nothing of the kind was measured.
    pub share: Option<Share>,
}

impl Goal {
    /// Whether it was met, in a phrase: a share that meets the aim proves little when it rests on few verdicts.
    pub fn stands(&self) -> String {
        let Some(share) = self.share else {
            return "not measured".to_owned();
        };
        let meets = |its: f64| if self.at_least { its >= self.aim } else { its <= self.aim };
        let off = (share.share() - self.aim).abs() * 100.0;
        match (meets(share.share()), meets(share.low), meets(share.high)) {
            (true, true, true) => "met".to_owned(),
            (true, ..) => "met, but too few verdicts to prove it".to_owned(),
            (false, false, false) => format!("missed by {off:.2} points"),
            (false, ..) => format!("missed by {off:.2} points, but too few verdicts to prove it"),
        }
    }
}

/// All goals. Unless they say otherwise they are about the verdicts after the most blocks.
pub(crate) fn goals(input: &Input<'_>, looks: &[Look], noise: &[TestNoise], blocks: usize) -> Vec<Goal> {
    let (Some(first), Some(last)) = (looks.first(), looks.last()) else {
        return Vec::new();
    };
    let tests = &input.experiment.tests;
    let of = |look: &Look, detector: Detector, range_wanted: Range, in_test: &dyn Fn(usize) -> bool| {
        let wanted = |sample: &Sample| {
            let its = || range(input, &tests[sample.test].name, sample.arm, detector);
            sample.detector == detector && in_test(sample.test) && its() == Some(range_wanted)
        };
        let is_null = range_wanted == Range::Null;
        let hit = |sample: &Sample| {
            if is_null { sample.class.is_change() } else { sample.class.is_regression() }
        };
        Share::count(look, blocks, wanted, hit)
    };
    // `same` where the change is as large as what is looked for.
    let wrongly_same = |detector: Detector, least: f64| {
        let wanted = |sample: &Sample| {
            let its = range(input, &tests[sample.test].name, sample.arm, detector);
            let large = |range: Range| range >= Range::holding(least) && range != Range::Null;
            sample.detector == detector && its.is_some_and(large)
        };
        Share::count(last, blocks, wanted, |sample| sample.class == Class::Same)
    };
    let any = |_: usize| true;
    // Those that write have starts of their own.
    let reads = |test: usize| tests[test].starts.is_empty();
    let quiet = |test: usize| {
        let sd = noise.iter().find(|one| one.test == tests[test].name).and_then(|one| one.rate);
        sd.is_some_and(|(sd, _)| sd < QUIET_SD)
    };
    let goal =
        |what: String, aim: f64, at_least: bool, share: Option<Share>| Goal { what, aim, at_least, share };
    let found = |what: &str, share: f64| format!("{what}, {} detected", Range::holding(share).words());
    let quiet_words = format!("rate, where blocks differ by less than {} %", QUIET_SD * 100.0);
    vec![
        goal("rate: false positives".to_owned(), 0.001, false, of(last, Detector::Rate, Range::Null, &any)),
        goal("cost: false positives".to_owned(), 0.001, false, of(last, Detector::Cost, Range::Null, &any)),
        goal(
            found(&format!("cost, reads, {} blocks", first.blocks), 0.01),
            0.99,
            true,
            of(first, Detector::Cost, Range::holding(0.01), &reads),
        ),
        goal(found("cost", 0.005), 0.95, true, of(last, Detector::Cost, Range::holding(0.005), &any)),
        goal(found(&quiet_words, 0.05), 0.99, true, of(last, Detector::Rate, Range::holding(0.05), &quiet)),
        goal(found(&quiet_words, 0.02), 0.95, true, of(last, Detector::Rate, Range::holding(0.02), &quiet)),
        goal(
            "rate: \"same\" despite a true change of 2 % or more".to_owned(),
            0.05,
            false,
            wrongly_same(Detector::Rate, 0.02),
        ),
        goal(
            "cost: \"same\" despite a true change of 0.5 % or more".to_owned(),
            0.05,
            false,
            wrongly_same(Detector::Cost, 0.005),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_goal_is_met_by_a_handful_of_verdicts() {
        let share = |hits, tries, low, high| {
            Some(Share { hits, tries, independent: tries, low, high, bootstrap: None })
        };
        let stands = |aim, at_least, share| Goal { what: String::new(), aim, at_least, share }.stands();
        assert_eq!(stands(0.001, false, share(0, 5000, 0.0, 0.0007)), "met");
        assert_eq!(stands(0.001, false, share(0, 100, 0.0, 0.036)), "met, but too few verdicts to prove it");
        assert_eq!(stands(0.99, true, share(20, 20, 0.83, 1.0)), "met, but too few verdicts to prove it");
        assert_eq!(
            stands(0.99, true, share(19, 20, 0.75, 0.999)),
            "missed by 4.00 points, but too few verdicts to prove it"
        );
        assert_eq!(stands(0.99, true, share(10, 20, 0.27, 0.73)), "missed by 49.00 points");
        assert_eq!(stands(0.99, true, None), "not measured");
    }
}
