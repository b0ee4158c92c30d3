//! The search on made-up steps whose effects are known.

use super::{Answer, Carrier, How, Measured, Outcome, Rules, search};
use crate::sim::Rng;

const STEPS: usize = 20;
/// Standard deviation of a pass.
const SD: f64 = 0.02;
const SEEDS: u64 = 300;

/// Measures what the search asks for until it ends. `effect` gives the logarithm by the steps that ran.
fn found(seed: u64, effect: impl Fn(&[usize]) -> f64) -> (Answer, usize) {
    let rules = Rules::default();
    let mut rng = Rng::new(seed);
    let mut measured = Measured::new();
    for measurements in 0..200 {
        let answer = search(STEPS, &measured, &rules);
        let Outcome::Open(variant) = &answer.outcome else {
            return (answer, measurements);
        };
        let level = effect(variant);
        let passes = measured.entry(variant.clone()).or_default();
        passes.extend((0..rules.passes).map(|_| level + SD * rng.normal()));
    }
    panic!("the search does not end: {measured:?}");
}

fn steps(outcome: &Outcome) -> Vec<Vec<usize>> {
    match outcome {
        Outcome::Carried(carriers) => carriers.iter().map(|one| one.steps.clone()).collect(),
        _ => Vec::new(),
    }
}

fn right(effect: impl Fn(&[usize]) -> f64, expected: &[&[usize]]) -> usize {
    let is_right = |seed: &u64| {
        let mut found = steps(&found(*seed, &effect).0.outcome);
        found.sort();
        found == expected
    };
    (0..SEEDS).filter(is_right).count()
}

#[test]
fn a_step_that_carries_all_of_it_is_found() {
    let effect = |ran: &[usize]| if ran.contains(&13) { -0.15 } else { -0.01 };
    let right = right(effect, &[&[13]]);
    assert!(right as f64 >= 0.97 * SEEDS as f64, "{right} of {SEEDS}");
}

#[test]
fn two_steps_that_carry_a_part_each_are_both_found() {
    let effect = |ran: &[usize]| {
        [(4, -0.12), (17, -0.08)].iter().filter(|(step, _)| ran.contains(step)).map(|one| one.1).sum()
    };
    let right = right(effect, &[&[4], &[17]]);
    assert!(right as f64 >= 0.9 * SEEDS as f64, "{right} of {SEEDS}");
}

#[test]
fn steps_that_act_only_together_are_named_together() {
    let effect = |ran: &[usize]| if ran.contains(&2) && ran.contains(&15) { -0.2 } else { 0.0 };
    let all: Vec<usize> = (0..STEPS).collect();
    let right = right(effect, &[&all]);
    assert!(right as f64 >= 0.97 * SEEDS as f64, "{right} of {SEEDS}");
}

#[test]
fn what_any_step_does_is_not_put_on_one() {
    let effect = |ran: &[usize]| if ran.is_empty() { 0.0 } else { -0.15 };
    let is_right = |seed: &u64| match found(*seed, effect).0.outcome {
        Outcome::Carried(carriers) => {
            matches!(&carriers[..], [Carrier { how: How::Any, steps, .. }] if steps.len() == STEPS)
        }
        _ => false,
    };
    let right = (0..SEEDS).filter(is_right).count();
    assert!(right as f64 >= 0.97 * SEEDS as f64, "{right} of {SEEDS}");
}

#[test]
fn without_an_effect_nothing_is_named() {
    let outcomes: Vec<Outcome> = (0..SEEDS).map(|seed| found(seed, |_| -0.1).0.outcome).collect();
    let false_alarms = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Carried(_))).count();
    assert!(false_alarms as f64 <= 0.03 * SEEDS as f64, "{false_alarms} of {SEEDS}");
}

#[test]
fn the_interval_of_a_share_holds_it() {
    let effect = |ran: &[usize]| match (ran.contains(&4), ran.contains(&17)) {
        (true, true) => -0.2,
        (true, false) => -0.14,
        (false, true) => -0.06,
        _ => 0.0,
    };
    let mut missed = 0;
    let mut seen = 0;
    for seed in 0..SEEDS {
        let Outcome::Carried(carriers) = found(seed, effect).0.outcome else { continue };
        for Carrier { share, .. } in carriers.iter().filter(|one| one.steps == [4]) {
            seen += 1;
            missed += usize::from(share.low > 0.7 || share.high < 0.7);
        }
    }
    assert!(seen as f64 > 0.9 * SEEDS as f64 && missed as f64 <= 0.04 * seen as f64, "{missed} of {seen}");
}

#[test]
fn few_measurements_suffice() {
    let effect = |ran: &[usize]| if ran.contains(&13) { -0.15 } else { -0.01 };
    let counts: Vec<usize> = (0..SEEDS).map(|seed| found(seed, effect).1).collect();
    let mean = counts.iter().sum::<usize>() as f64 / SEEDS as f64;
    assert!(mean <= 16.0, "{mean} measurements on average");
}
