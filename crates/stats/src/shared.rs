//! Tests that were measured in the same server starts are not independent: the effects of a start are in the
//! figures of all of them.
//!
//! If three starts happen to be alike, all these tests look quiet at once, and what they seem to show about
//! noise is a single observation. How much they share is estimated from the mean over tests, block by block:
//! for independent tests it varies 1/n as much as one test does, for tests that share everything it varies as
//! much. That gives the equivalent number of independent tests (Kish 1965: the design effect). A level above
//! the start, such as a load that several blocks have in common, is handled the same way, with its own label.

use crate::distribution::chi_square_lower;
use std::collections::{BTreeMap, BTreeSet};

/// Probability that more is shared than assumed. The upper bound is used because, if starts happen to be
/// alike, the estimate is too small exactly when it matters.
const DOUBT: f64 = 0.05;

/// The contrasts of one arm in one test.
#[derive(Debug, Clone)]
pub(crate) struct Contrasts<'a> {
    /// Tests with the same label share starts.
    pub(crate) starts: &'a str,
    pub(crate) test: &'a str,
    pub(crate) arm: usize,
    /// Contrast by block number.
    pub(crate) by_block: Vec<(u32, f64)>,
    /// Mean variance of these blocks within themselves, if known.
    pub(crate) variance_within: Option<f64>,
}

/// The number of tests over the equivalent number of independent tests; at least 1.
pub(crate) fn design_effect(all: &[Contrasts]) -> f64 {
    let mut by_starts: BTreeMap<&str, Vec<&Contrasts>> = BTreeMap::new();
    for one in all.iter().filter(|one| one.by_block.len() >= 2) {
        by_starts.entry(one.starts).or_default().push(one);
    }
    let (mut weighted, mut total) = (0.0, 0.0);
    for together in by_starts.values() {
        let tests: BTreeSet<&str> = together.iter().map(|one| one.test).collect();
        let tests = tests.len() as f64;
        weighted += tests * (1.0 + (tests - 1.0) * share_of_starts(together).powi(2));
        total += tests;
    }
    if total == 0.0 { 1.0 } else { weighted / total }
}

/// Upper bound of the share of the variance that tests have in common. Variances of two tests are correlated
/// by its square.
fn share_of_starts(together: &[&Contrasts]) -> f64 {
    // For each arm and block: the sum over tests in units of their own standard deviation, and the number of
    // tests.
    let mut means: BTreeMap<usize, BTreeMap<u32, (f64, f64)>> = BTreeMap::new();
    let mut squares: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    let centred = |one: &Contrasts| -> Vec<(u32, f64)> {
        let mean = one.by_block.iter().map(|(_, value)| value).sum::<f64>() / one.by_block.len() as f64;
        one.by_block.iter().map(|(block, value)| (*block, value - mean)).collect()
    };
    for one in together {
        let of_test = squares.entry(one.test).or_insert((0.0, 0.0));
        of_test.0 += centred(one).iter().map(|(_, value)| value * value).sum::<f64>();
        of_test.1 += one.by_block.len() as f64 - 1.0;
    }
    for one in together {
        let (square, df) = squares[one.test];
        let sd = (square / df).sqrt();
        for (block, value) in centred(one).into_iter().filter(|_| sd > 0.0) {
            let of_block = means.entry(one.arm).or_default().entry(block).or_insert((0.0, 0.0));
            of_block.0 += value / sd;
            of_block.1 += 1.0;
        }
    }
    let (mut square, mut df, mut reciprocals, mut blocks) = (0.0, 0.0, 0.0, 0.0);
    for of_arm in means.values() {
        let repeated: Vec<&(f64, f64)> = of_arm.values().filter(|(_, tests)| *tests >= 2.0).collect();
        square += repeated.iter().map(|(sum, tests)| (sum / tests).powi(2)).sum::<f64>();
        reciprocals += repeated.iter().map(|(_, tests)| 1.0 / tests).sum::<f64>();
        blocks += repeated.len() as f64;
        df += (repeated.len() as f64 - 1.0).max(0.0);
    }
    if df == 0.0 {
        return 0.0;
    }
    // In these units a test's variance is 1: the variance of the mean over tests is the shared part and a
    // fraction of the rest.
    let part = reciprocals / blocks;
    let mean_variance = square / df;
    let rest = 1.0 - ((mean_variance - part) / (1.0 - part)).clamp(0.0, 1.0);
    let most = mean_variance * df / chi_square_lower(DOUBT, df);
    let shared = (most - rest * part).max(0.0);
    shared / (shared + rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Rng;

    /// Design effect of simulated tests on one arm over `blocks` blocks that share a part of the variance.
    fn draw(rng: &mut Rng, names: &[String], blocks: u32, share: f64) -> f64 {
        let starts = rng.normals(blocks as usize);
        let all: Vec<Contrasts> = names
            .iter()
            .enumerate()
            .map(|(number, test)| Contrasts {
                starts: "shared",
                test,
                arm: 1,
                by_block: (0..blocks)
                    .map(|block| {
                        let noise =
                            share.sqrt() * starts[block as usize] + (1.0 - share).sqrt() * rng.normal();
                        // Tests have different noise levels.
                        (block, noise * (1.0 + number as f64))
                    })
                    .collect(),
                variance_within: None,
            })
            .collect();
        design_effect(&all)
    }

    #[test]
    fn shared_starts_are_counted_once() {
        let names: Vec<String> = (0..22).map(|number| format!("t{number:02}")).collect();
        let mut rng = Rng::new(1);
        let median = |rng: &mut Rng, blocks, share| {
            let mut all: Vec<f64> = (0..200).map(|_| draw(rng, &names, blocks, share)).collect();
            all.sort_by(f64::total_cmp);
            (all[10], all[100])
        };
        // Twenty-two tests that share everything count as one; independent ones keep most of their weight.
        assert!((median(&mut rng, 3, 1.0).0 - 22.0).abs() < 0.01);
        assert!(median(&mut rng, 18, 0.0).1 < 1.1, "{:?}", median(&mut rng, 18, 0.0));
        assert!(median(&mut rng, 5, 0.0).1 < 2.0, "{:?}", median(&mut rng, 5, 0.0));
        // The formula gives 1 + 21 / 4; it is rarely much less, however alike starts happen to be.
        let half = median(&mut rng, 3, 0.5);
        assert!(half.0 > 4.0 && half.1 > 6.25 && half.1 < 20.0, "{half:?}");
    }

    #[test]
    fn tests_with_own_starts_have_no_design_effect() {
        let by_block = vec![(1, 0.1), (2, -0.2), (3, 0.1)];
        let one = |test: &'static str| Contrasts {
            starts: test,
            test,
            arm: 1,
            by_block: by_block.clone(),
            variance_within: None,
        };
        assert_eq!(design_effect(&[one("a"), one("b"), one("c")]), 1.0);
        assert_eq!(design_effect(&[]), 1.0);
    }
}
