//! The goals for verdicts, and whether they are met.

use crate::analysis::{Input, range};
use crate::confusion::Range;
use crate::pairing::{Look, Sample};
use crate::share::Share;
use rqps_stats::{Class, Detector};

/// Blocks after which a rate that is 2 % lower is to be found.
const BLOCKS_FOR_SMALL: usize = 5;

/// A goal, and the share of verdicts that decides whether it is met.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    pub what: String,
    /// The limit of the share.
    pub aim: f64,
    /// Whether the limit is a minimum; otherwise it is a maximum.
    pub at_least: bool,
    /// The share; `None` if no such verdicts exist.
    pub share: Option<Share>,
}

impl Goal {
    /// The status as a phrase: met or missed, and whether the share's interval proves it.
    pub fn status(&self) -> String {
        let Some(share) = self.share else {
            return "not measured".to_owned();
        };
        let meets = |share: f64| if self.at_least { share >= self.aim } else { share <= self.aim };
        let off = (share.share() - self.aim).abs() * 100.0;
        match (meets(share.share()), meets(share.low), meets(share.high)) {
            (true, true, true) => "met".to_owned(),
            (true, ..) => "met, but too few verdicts to prove it".to_owned(),
            (false, false, false) => format!("missed by {off:.2} points"),
            (false, ..) => format!("missed by {off:.2} points, but too few verdicts to prove it"),
        }
    }
}

/// All goals. Unless stated otherwise they apply to the verdicts after the most blocks.
pub(crate) fn goals(input: &Input<'_>, looks: &[Look], blocks: usize) -> Vec<Goal> {
    let (Some(first), Some(last)) = (looks.first(), looks.last()) else {
        return Vec::new();
    };
    let tests = &input.experiment.tests;
    let share_of = |look: &Look, detector: Detector, range_wanted: Range, in_test: &dyn Fn(usize) -> bool| {
        let wanted = |sample: &Sample| {
            let true_range = || range(input, &tests[sample.test].name, sample.arm, detector);
            sample.detector == detector && in_test(sample.test) && true_range() == Some(range_wanted)
        };
        let is_null = range_wanted == Range::Null;
        let hit = |sample: &Sample| {
            if is_null { sample.class.is_change() } else { sample.class.is_regression() }
        };
        Share::count(look, blocks, wanted, hit)
    };
    // `same` although the change is at least the minimum effect of interest.
    let wrongly_same = |detector: Detector, least: f64| {
        let wanted = |sample: &Sample| {
            let true_range = range(input, &tests[sample.test].name, sample.arm, detector);
            let large = |range: Range| matches!(range, Range::From(_)) && range >= Range::holding(least);
            sample.detector == detector && true_range.is_some_and(large)
        };
        Share::count(last, blocks, wanted, |sample| sample.class == Class::Same)
    };
    let any = |_: usize| true;
    // Tests that write have their own starts.
    let reads = |test: usize| tests[test].starts.is_empty();
    let goal =
        |what: String, aim: f64, at_least: bool, share: Option<Share>| Goal { what, aim, at_least, share };
    let found = |what: &str, share: f64| format!("{what}, {} detected", Range::holding(share).label());
    let later = looks.iter().find(|look| look.blocks >= BLOCKS_FOR_SMALL).unwrap_or(last);
    let of_rates = |look: &Look| format!("rate, reads, {} blocks", look.blocks);
    vec![
        goal(
            "rate: false positives".to_owned(),
            0.001,
            false,
            share_of(last, Detector::Rate, Range::Null, &any),
        ),
        goal(
            "cost: false positives".to_owned(),
            0.001,
            false,
            share_of(last, Detector::Cost, Range::Null, &any),
        ),
        goal(
            found(&format!("cost, reads, {} blocks", first.blocks), 0.01),
            0.99,
            true,
            share_of(first, Detector::Cost, Range::holding(0.01), &reads),
        ),
        goal(found("cost", 0.005), 0.95, true, share_of(last, Detector::Cost, Range::holding(0.005), &any)),
        goal(
            found(&of_rates(first), 0.05),
            0.99,
            true,
            share_of(first, Detector::Rate, Range::holding(0.05), &reads),
        ),
        goal(
            found(&of_rates(later), 0.02),
            0.95,
            true,
            share_of(later, Detector::Rate, Range::holding(0.02), &reads),
        ),
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
    fn few_verdicts_do_not_prove_a_goal() {
        let share = |hits, tries, low, high| {
            Some(Share { hits, tries, independent: tries, low, high, bootstrap: None })
        };
        let status = |aim, at_least, share| Goal { what: String::new(), aim, at_least, share }.status();
        assert_eq!(status(0.001, false, share(0, 5000, 0.0, 0.0007)), "met");
        assert_eq!(status(0.001, false, share(0, 100, 0.0, 0.036)), "met, but too few verdicts to prove it");
        assert_eq!(status(0.99, true, share(20, 20, 0.83, 1.0)), "met, but too few verdicts to prove it");
        assert_eq!(
            status(0.99, true, share(19, 20, 0.75, 0.999)),
            "missed by 4.00 points, but too few verdicts to prove it"
        );
        assert_eq!(status(0.99, true, share(10, 20, 0.27, 0.73)), "missed by 49.00 points");
        assert_eq!(status(0.99, true, None), "not measured");
    }
}
