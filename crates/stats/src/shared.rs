//! Tests that were measured in the same starts of the servers are not independent of each other: what a start happens
//! to be like is in the figures of all of them.
//!
//! Where three starts happen to be alike, all these tests look quiet at once, and what they seem to teach about noise
//! is one lesson told many times. How much they share is seen in the mean over tests, block by block: of independent
//! tests it varies by a `n`th of what one test does, of tests that share all by as much. From that comes how many
//! independent tests they are worth (Kish 1965: the design effect). A sample of a level above the start, such as a load
//! of the data that several blocks have in common, goes the same way: by a label that is its own.

use crate::distribution::chi_square_lower;
use std::collections::{BTreeMap, BTreeSet};

/// What is shared is taken to be as large as it may be with this probability of being larger still: where starts happen
/// to be alike it looks small just when it matters.
const DOUBT: f64 = 0.05;

/// The contrasts of one arm in one test.
#[derive(Debug, Clone)]
pub(crate) struct Contrasts<'a> {
    /// Tests of the same label share starts.
    pub(crate) starts: &'a str,
    pub(crate) test: &'a str,
    pub(crate) arm: usize,
    /// By number of the block.
    pub(crate) by_block: Vec<(u32, f64)>,
}

/// How many times the tests of these contrasts are as many as independent ones that would teach the same; 1 or more.
pub(crate) fn design_effect(all: &[Contrasts]) -> f64 {
    let mut by_starts: BTreeMap<&str, Vec<&Contrasts>> = BTreeMap::new();
    for one in all.iter().filter(|one| one.by_block.len() >= 2) {
        by_starts.entry(one.starts).or_default().push(one);
    }
    let (mut told, mut tests_of_all) = (0.0, 0.0);
    for together in by_starts.values() {
        let tests: BTreeSet<&str> = together.iter().map(|one| one.test).collect();
        let tests = tests.len() as f64;
        told += tests * (1.0 + (tests - 1.0) * share_of_starts(together).powi(2));
        tests_of_all += tests;
    }
    if tests_of_all == 0.0 { 1.0 } else { told / tests_of_all }
}

/// Share of the variance that comes of what tests have in common, as large as it may well be; variances of two tests
/// are correlated by its square.
fn share_of_starts(together: &[&Contrasts]) -> f64 {
    // Of each arm and block, the sum over tests in units of their own standard deviation, and how many they are.
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
    let (mut square, mut df, mut one_of, mut blocks) = (0.0, 0.0, 0.0, 0.0);
    for of_arm in means.values() {
        let of_several: Vec<&(f64, f64)> = of_arm.values().filter(|(_, tests)| *tests >= 2.0).collect();
        square += of_several.iter().map(|(sum, tests)| (sum / tests).powi(2)).sum::<f64>();
        one_of += of_several.iter().map(|(_, tests)| 1.0 / tests).sum::<f64>();
        blocks += of_several.len() as f64;
        df += (of_several.len() as f64 - 1.0).max(0.0);
    }
    if df == 0.0 {
        return 0.0;
    }
    // In these units a test's variance is 1: the mean over tests has what they share and a part of the rest.
    let part = one_of / blocks;
    let of_mean = square / df;
    let rest = 1.0 - ((of_mean - part) / (1.0 - part)).clamp(0.0, 1.0);
    let most = of_mean * df / chi_square_lower(DOUBT, df);
    let shared = (most - rest * part).max(0.0);
    shared / (shared + rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Rng;

    /// Contrasts of `tests` tests with one arm over `blocks` blocks, a share of whose variance is common to all.
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
                        // Tests are noisy by unlike amounts.
                        (block, noise * (1.0 + number as f64))
                    })
                    .collect(),
            })
            .collect();
        design_effect(&all)
    }

    #[test]
    fn what_is_shared_is_counted_once() {
        let names: Vec<String> = (0..22).map(|number| format!("t{number:02}")).collect();
        let mut rng = Rng::new(1);
        let median = |rng: &mut Rng, blocks, share| {
            let mut all: Vec<f64> = (0..200).map(|_| draw(rng, &names, blocks, share)).collect();
            all.sort_by(f64::total_cmp);
            (all[10], all[100])
        };
        // Twenty-two tests that share all are one; of independent ones most of what they teach is left.
        assert!((median(&mut rng, 3, 1.0).0 - 22.0).abs() < 0.01);
        assert!(median(&mut rng, 18, 0.0).1 < 1.1, "{:?}", median(&mut rng, 18, 0.0));
        assert!(median(&mut rng, 5, 0.0).1 < 2.0, "{:?}", median(&mut rng, 5, 0.0));
        // By the formula 1 + 21 / 4; hardly ever much less, however alike starts happen to be.
        let half = median(&mut rng, 3, 0.5);
        assert!(half.0 > 4.0 && half.1 > 6.25 && half.1 < 20.0, "{half:?}");
    }

    #[test]
    fn tests_with_starts_of_their_own_are_as_many_as_they_are() {
        let by_block = vec![(1, 0.1), (2, -0.2), (3, 0.1)];
        let one = |test: &'static str| Contrasts { starts: test, test, arm: 1, by_block: by_block.clone() };
        assert_eq!(design_effect(&[one("a"), one("b"), one("c")]), 1.0);
        assert_eq!(design_effect(&[]), 1.0);
    }
}
