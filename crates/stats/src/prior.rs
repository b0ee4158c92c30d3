//! What the noise of one test says about the noise of another: empirical Bayes over block variances.
//!
//! Smyth 2004 ("Linear models and empirical Bayes methods", 3.1 and 6.2): true variances are spread over tests as
//! `s0² d0 / chi-square(d0)`; a sample variance `s²` with `n` degrees of freedom is moderated to
//! `(d0 s0² + n s²) / (d0 + n)` and then has `d0 + n` of them. `s0²` and `d0` come from mean and variance of `ln s²`.
//!
//! Two things are stricter here than there. Variances of one test (several arms against one base, several earlier
//! runs) count as one observation of the spread, since they are correlated. And `d0` comes from an upper bound of the
//! spread, not from its estimate: with the few tests of a report the estimate is often 0, which would say that all
//! tests are equally noisy, and a test that is not would be called. Nor is it ever more than the number of tests: in
//! simulation (three tests, true `d0` 3 to 6, all looks without stopping, an `alpha` of 0.1 %) 0.16 to 0.19 % of nulls
//! are rejected without that cap and 0.10 to 0.12 % with it; it costs up to one block for a change of 2 %.
//!
//! Tests that share their starts are worth fewer than they are ([`crate::shared`]): `d0` and the degrees of freedom of
//! all samples together are those of as many independent ones, and where they are worth fewer than three tests they say
//! nothing.

use crate::distribution::{mean_ln_chi_square, trigamma, trigamma_inverse};
use std::collections::BTreeMap;

/// Fewer tests than this say nothing about how noise is spread over tests.
pub(crate) const TESTS_MIN: usize = 3;
/// How many standard errors the spread is taken above its estimate.
const SPREAD_ERRORS: f64 = 1.0;

/// No more is believed, however much was learnt. Of three blocks of which one is off by any amount, t is
/// `sqrt((d0 + 2) / 2)`: up to here that is below the first look's quantile, so that no single block calls a change.
const DF_MAX: f64 = 32.0;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample<'a> {
    pub(crate) test: &'a str,
    pub(crate) variance: f64,
    pub(crate) df: f64,
}

/// How true variances are spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    /// Distinct tests it was fitted to.
    pub(crate) tests: usize,
    /// s0².
    pub(crate) variance: f64,
    /// d0; 0: nothing is known.
    pub(crate) df: f64,
    /// Degrees of freedom of all samples together: no moderated variance has more.
    pub(crate) df_pooled: f64,
}

impl Spread {
    /// Nothing is known: every variance stands for itself.
    pub(crate) const UNKNOWN: Spread = Spread { tests: 0, variance: 0.0, df: 0.0, df_pooled: f64::INFINITY };

    /// The moderated variance and its degrees of freedom.
    pub(crate) fn moderate(&self, variance: f64, df: f64) -> (f64, f64) {
        if self.df <= 0.0 {
            return (variance, df);
        }
        let moderated = if self.df.is_infinite() {
            self.variance
        } else {
            (self.df * self.variance + df * variance) / (self.df + df)
        };
        (moderated, self.df_with(df))
    }

    /// Degrees of freedom of a moderated variance whose own are `df`.
    pub(crate) fn df_with(&self, df: f64) -> f64 {
        if self.df <= 0.0 { df } else { (self.df + df).min(self.df_pooled.max(df)) }
    }
}

/// Fits the spread to samples; those of no variance at all are of another kind and left out. Of `told` tests one is
/// worth counting: the others share its starts.
pub(crate) fn fit(samples: &[Sample], told: f64) -> Spread {
    let mut by_test: BTreeMap<&str, Vec<Sample>> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| sample.variance > 0.0 && sample.df >= 1.0) {
        by_test.entry(sample.test).or_default().push(*sample);
    }
    let worth = by_test.len() as f64 / told;
    if worth < TESTS_MIN as f64 {
        return Spread::UNKNOWN;
    }
    let all: Vec<Sample> = by_test.values().flatten().copied().collect();
    let count = all.len() as f64;
    let centred = |sample: &Sample| sample.variance.ln() - mean_ln_chi_square(sample.df);
    let mean = all.iter().map(centred).sum::<f64>() / count;
    // As if all variances of a test were one: the sum of squares then has this many degrees of freedom.
    let free = count - by_test.values().map(|of_test| (of_test.len() as f64).powi(2)).sum::<f64>() / count;
    let squares: Vec<f64> =
        by_test.values().map(|of_test| of_test.iter().map(|s| (centred(s) - mean).powi(2)).sum()).collect();
    let observed = squares.iter().sum::<f64>() / free;
    let sampling = all.iter().map(|sample| trigamma(sample.df / 2.0)).sum::<f64>() / count;
    // Tests are independent of each other, so their sums of squares give the standard error of the observed one.
    let tests = by_test.len() as f64;
    let per_test = squares.iter().sum::<f64>() / tests;
    let between = squares.iter().map(|square| (square - per_test).powi(2)).sum::<f64>() / (tests - 1.0);
    let error = (tests * between).sqrt() / free;
    let spread = observed + SPREAD_ERRORS * error - sampling;
    let df = if spread > 0.0 { 2.0 * trigamma_inverse(spread) } else { f64::INFINITY };
    // What so many tests have taught is worth no more than one degree of freedom each.
    let df = df.min(worth).min(DF_MAX);
    Spread {
        tests: by_test.len(),
        variance: (mean + mean_ln_chi_square(df)).exp(),
        df,
        df_pooled: all.iter().map(|sample| sample.df).sum::<f64>() / told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairs::variance;
    use crate::sim::Rng;

    /// Variances of `arms` contrasts with one base over `blocks` blocks, as many tests as names.
    fn draw<'a>(rng: &mut Rng, names: &'a [String], arms: usize, blocks: usize, df: f64) -> Vec<Sample<'a>> {
        let mut samples = Vec::new();
        for test in names {
            let arm_sd = 0.01 / (2.0 * rng.mean_square(df)).sqrt();
            let base = rng.normals(blocks);
            for _ in 0..arms {
                let contrasts: Vec<f64> = base.iter().map(|base| arm_sd * (rng.normal() - base)).collect();
                samples.push(Sample { test, variance: variance(&contrasts), df: blocks as f64 - 1.0 });
            }
        }
        samples
    }

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|number| number.to_string()).collect()
    }

    #[test]
    fn many_tests_show_the_spread_that_is_there() {
        let mut rng = Rng::new(1);
        for df in [3.0, 6.0, 20.0] {
            let names = names(4000);
            let spread = fit(&draw(&mut rng, &names, 1, 6, df), 1.0);
            assert!(spread.df < 1.05 * df && spread.df > 0.65 * df, "{} for {df}", spread.df);
            assert!((spread.variance / 1e-4 - 1.0).abs() < 0.08, "{} for 1e-4 at {df}", spread.variance);
        }
    }

    /// With the few tests of a report the spread is believed to be larger rather than smaller than it is, also where
    /// six arms share a base and look like six times as many tests.
    #[test]
    fn few_tests_are_not_believed_too_much() {
        let truth = 6.0;
        for (tests, arms) in [(3, 1), (8, 1), (8, 6), (32, 1), (32, 6)] {
            let mut rng = Rng::new(tests as u64);
            let names = names(tests);
            let mut dfs: Vec<f64> =
                (0..400).map(|_| fit(&draw(&mut rng, &names, arms, 3, truth), 1.0).df).collect();
            dfs.sort_by(f64::total_cmp);
            assert!(dfs[200] < truth, "{tests} tests, {arms} arms: the median is {}", dfs[200]);
            assert!(dfs[399] <= tests as f64, "{tests} tests are worth {}", dfs[399]);
            let twice = dfs.iter().filter(|df| **df > 2.0 * truth).count();
            assert!(twice <= 110, "{tests} tests, {arms} arms: more than twice the truth in {twice} of 400");
        }
    }

    /// A variance that is there four times in its test teaches what it teaches once.
    #[test]
    fn a_test_is_one_observation() {
        let mut rng = Rng::new(3);
        let names = names(9);
        let once = draw(&mut rng, &names, 1, 6, 3.0);
        let often: Vec<Sample> = (0..4).flat_map(|_| once.clone()).collect();
        let (once, often) = (fit(&once, 1.0), fit(&often, 1.0));
        assert!((once.df - often.df).abs() < 1e-6 && once.df < 9.0, "{once:?} and {often:?}");
        assert!((once.variance / often.variance - 1.0).abs() < 1e-6, "{once:?} and {often:?}");
    }

    #[test]
    fn two_tests_say_nothing_and_exact_counters_are_left_out() {
        let sample = |test, variance| Sample { test, variance, df: 4.0 };
        let two = [sample("a", 1.0), sample("b", 2.0), sample("c", 0.0), sample("a", 1.5)];
        assert_eq!(fit(&two, 1.0), Spread::UNKNOWN);
        assert_eq!(Spread::UNKNOWN.moderate(2.5, 4.0), (2.5, 4.0));
        let spread = Spread { tests: 9, variance: 1.0, df: 6.0, df_pooled: 8.0 };
        let (moderated, df) = spread.moderate(2.0, 4.0);
        assert!((moderated - 1.4).abs() < 1e-12, "(6 * 1 + 4 * 2) / 10");
        assert!((df - 8.0).abs() < 1e-12, "no more than all samples have together");
    }
}
