//! What the noise of other tests says about a test's noise: empirical Bayes over block variances.
//!
//! Smyth 2004 ("Linear models and empirical Bayes methods", 3.1 and 6.2): true variances are distributed over
//! tests as `s0² d0 / chi-square(d0)`. A sample variance `s²` with `n` degrees of freedom is moderated to
//! `(d0 s0² + n s²) / (d0 + n)`, which has `d0 + n` degrees of freedom. `s0²` and `d0` are estimated from
//! mean and variance of `ln s²`.
//!
//! If the windows of all tests tell their noise, as turns do, the distribution is that of the variance relative to what
//! they lead one to expect ([`Trend`]). A test that is noisier within its windows is then expected to be noisier from
//! block to block, and what is left of the spread is smaller.
//!
//! Two things are more conservative here. Variances of one test (several arms against one base, several
//! earlier runs) count as one observation of the spread, since they are correlated. And `d0` is derived from
//! an upper bound of the spread instead of its estimate: with the few tests of a report the estimate is often
//! 0, which would mean that all tests are equally noisy, and a noisier test would be called changed. `d0` is
//! also at most the number of tests: in simulation (three tests, true `d0` 3 to 6, all looks without
//! stopping, `alpha` 0.1 %) 0.16 to 0.19 % of nulls are rejected without that cap and 0.10 to 0.12 % with it;
//! it costs up to one block for a change of 2 %.
//!
//! Tests that share their starts count less ([`crate::shared`]): `d0` and the pooled degrees of freedom are
//! those of the equivalent number of independent tests, and fewer than three independent tests give no prior.

use crate::distribution::{mean_ln_chi_square, trigamma, trigamma_inverse};
use crate::host_share::HostShare;
use rqps_model::sample::mean;
use std::collections::BTreeMap;

/// Minimum number of tests for a prior.
pub(crate) const TESTS_MIN: usize = 3;
/// Minimum number of tests for a trend with a slope of its own.
const SLOPE_TESTS_MIN: usize = 8;
/// Standard errors that are added to the estimated spread.
const SPREAD_ERRORS: f64 = 1.0;

/// Maximum of `d0`. If one of three blocks is off by any amount, t is `sqrt((d0 + 2) / 2)`: up to this limit that is
/// below the quantile of the first look, even if it is the only one, so that no single block decides a change.
const DF_MAX: f64 = 24.0;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample<'a> {
    pub(crate) test: &'a str,
    pub(crate) variance: f64,
    pub(crate) df: f64,
    /// Mean variance of its blocks within themselves, if known.
    pub(crate) within: Option<f64>,
}

/// How variances follow from those within blocks, as limma's trend has it (Law et al. 2014, "voom"): the logarithm of
/// the expected one is linear in that of the variance within blocks plus what starts add, which tests have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Trend {
    /// Added to a variance within blocks.
    start: f64,
    /// From 0, where windows tell nothing, to 1, where the variance is in proportion.
    slope: f64,
    /// Mean logarithm of the sum.
    centre: f64,
}

impl Trend {
    /// Logarithm of the expected variance over that of the average test.
    fn ln_relative(&self, within: f64) -> f64 {
        self.slope * ((within + self.start).ln() - self.centre)
    }

    /// `None` if there is a sample whose windows don't tell its noise. Few tests don't tell a slope: theirs is 1.
    fn of(samples: &[Sample], tests: usize) -> Option<Trend> {
        let within: Vec<f64> = samples.iter().map(|sample| sample.within).collect::<Option<_>>()?;
        let lns: Vec<f64> = samples.iter().map(Sample::ln).collect();
        let ln_within: Vec<f64> = within.iter().map(|within| within.ln()).collect();
        let start = (mean(&lns).exp() - mean(&ln_within).exp()).max(0.0);
        let sums: Vec<f64> = within.iter().map(|within| (within + start).ln()).collect();
        let (centre, mean_ln) = (mean(&sums), mean(&lns));
        let squares: f64 = sums.iter().map(|sum| (sum - centre).powi(2)).sum();
        let products: f64 = sums.iter().zip(&lns).map(|(sum, ln)| (sum - centre) * (ln - mean_ln)).sum();
        let slope = match tests {
            SLOPE_TESTS_MIN.. if squares > 0.0 => (products / squares).clamp(0.0, 1.0),
            _ => 1.0,
        };
        Some(Trend { start, slope, centre })
    }
}

impl Sample<'_> {
    /// Logarithm of the variance, unbiased.
    fn ln(&self) -> f64 {
        self.variance.ln() - mean_ln_chi_square(self.df)
    }
}

/// The distribution of true variances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    /// Number of distinct tests it was fitted to.
    pub(crate) tests: usize,
    /// s0²; with a trend that of the average test.
    pub(crate) variance: f64,
    pub(crate) trend: Option<Trend>,
    /// d0; 0 if nothing is known.
    pub(crate) df: f64,
    /// Degrees of freedom of all samples together: the maximum for a moderated variance.
    pub(crate) df_pooled: f64,
    /// Over hosts: what tests have in common.
    pub(crate) shared: HostShare,
}

impl Spread {
    /// Nothing is known: variances are not moderated.
    pub(crate) const UNKNOWN: Spread = Spread {
        tests: 0,
        variance: 0.0,
        trend: None,
        df: 0.0,
        df_pooled: f64::INFINITY,
        shared: HostShare::NONE,
    };

    /// The same for a test with this mean variance of its blocks within themselves.
    pub(crate) fn with_variance_within(self, within: f64) -> Spread {
        let relative = self.trend.map_or(0.0, |trend| trend.ln_relative(within));
        Spread { variance: self.variance * relative.exp(), trend: None, ..self }
    }

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

    /// Degrees of freedom of a moderated variance whose own degrees of freedom are `df`.
    pub(crate) fn df_with(&self, df: f64) -> f64 {
        if self.df <= 0.0 { df } else { (self.df + df).min(self.df_pooled.max(df)) }
    }
}

/// Fits the spread to samples, ignoring those with a variance of 0, which are a different kind. Each test
/// counts as `1 / design_effect` independent tests, because tests share starts.
pub(crate) fn fit(samples: &[Sample], design_effect: f64) -> Spread {
    let mut by_test: BTreeMap<&str, Vec<Sample>> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| sample.variance > 0.0 && sample.df >= 1.0) {
        by_test.entry(sample.test).or_default().push(*sample);
    }
    let worth = by_test.len() as f64 / design_effect;
    if worth < TESTS_MIN as f64 {
        return Spread::UNKNOWN;
    }
    let all: Vec<Sample> = by_test.values().flatten().copied().collect();
    let count = all.len() as f64;
    let trend = Trend::of(&all, by_test.len());
    let expected =
        |sample: &Sample| trend.zip(sample.within).map_or(0.0, |(trend, within)| trend.ln_relative(within));
    let centred = |sample: &Sample| sample.ln() - expected(sample);
    let mean = all.iter().map(centred).sum::<f64>() / count;
    let tests = by_test.len() as f64;
    // Degrees of freedom of the sum of squares if each test had one variance; a trend takes the share of one test.
    let free = count - by_test.values().map(|samples| (samples.len() as f64).powi(2)).sum::<f64>() / count;
    let free = if trend.is_some() && by_test.len() >= SLOPE_TESTS_MIN {
        free * (tests - 2.0) / (tests - 1.0)
    } else {
        free
    };
    let squares: Vec<f64> =
        by_test.values().map(|samples| samples.iter().map(|s| (centred(s) - mean).powi(2)).sum()).collect();
    let observed = squares.iter().sum::<f64>() / free;
    let sampling = all.iter().map(|sample| trigamma(sample.df / 2.0)).sum::<f64>() / count;
    // Tests are independent, so their sums of squares give the standard error of the observed spread.
    let per_test = squares.iter().sum::<f64>() / tests;
    let between = squares.iter().map(|square| (square - per_test).powi(2)).sum::<f64>() / (tests - 1.0);
    let error = (tests * between).sqrt() / free;
    let spread = observed + SPREAD_ERRORS * error - sampling;
    let df = if spread > 0.0 { 2.0 * trigamma_inverse(spread) } else { f64::INFINITY };
    // Each test is worth at most one degree of freedom.
    let df = df.min(worth).min(DF_MAX);
    Spread {
        tests: by_test.len(),
        variance: (mean + mean_ln_chi_square(df)).exp(),
        trend,
        df,
        df_pooled: all.iter().map(|sample| sample.df).sum::<f64>() / design_effect,
        shared: HostShare::NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Rng;
    use rqps_model::sample::variance;

    /// Variances of `arms` contrasts with one base over `blocks` blocks; one test per name.
    fn draw<'a>(rng: &mut Rng, names: &'a [String], arms: usize, blocks: usize, df: f64) -> Vec<Sample<'a>> {
        let mut samples = Vec::new();
        for test in names {
            let arm_sd = 0.01 / (2.0 * rng.mean_square(df)).sqrt();
            let base = rng.normals(blocks);
            for _ in 0..arms {
                let contrasts: Vec<f64> = base.iter().map(|base| arm_sd * (rng.normal() - base)).collect();
                samples.push(Sample {
                    test,
                    variance: variance(&contrasts),
                    df: blocks as f64 - 1.0,
                    within: None,
                });
            }
        }
        samples
    }

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|number| number.to_string()).collect()
    }

    #[test]
    fn spread_is_estimated_from_many_tests() {
        let mut rng = Rng::new(1);
        for df in [3.0, 6.0, 20.0] {
            let names = names(4000);
            let spread = fit(&draw(&mut rng, &names, 1, 6, df), 1.0);
            assert!(spread.df < 1.05 * df && spread.df > 0.65 * df, "{} for {df}", spread.df);
            assert!((spread.variance / 1e-4 - 1.0).abs() < 0.08, "{} for 1e-4 at {df}", spread.variance);
        }
    }

    /// With the few tests of a report the spread is over- rather than underestimated, also if six arms share
    /// a base and look like six times as many tests.
    #[test]
    fn few_tests_give_a_weak_prior() {
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

    /// A variance that occurs four times in its test has the same effect as once.
    #[test]
    fn test_is_one_observation() {
        let mut rng = Rng::new(3);
        let names = names(9);
        let once = draw(&mut rng, &names, 1, 6, 3.0);
        let often: Vec<Sample> = (0..4).flat_map(|_| once.clone()).collect();
        let (once, often) = (fit(&once, 1.0), fit(&often, 1.0));
        assert!((once.df - often.df).abs() < 1e-6 && once.df < 9.0, "{once:?} and {often:?}");
        assert!((once.variance / often.variance - 1.0).abs() < 1e-6, "{once:?} and {often:?}");
    }

    #[test]
    fn two_tests_give_no_prior_and_exact_counters_are_ignored() {
        let sample = |test, variance| Sample { test, variance, df: 4.0, within: None };
        let two = [sample("a", 1.0), sample("b", 2.0), sample("c", 0.0), sample("a", 1.5)];
        assert_eq!(fit(&two, 1.0), Spread::UNKNOWN);
        assert_eq!(Spread::UNKNOWN.moderate(2.5, 4.0), (2.5, 4.0));
        let spread =
            Spread { tests: 9, variance: 1.0, trend: None, df: 6.0, df_pooled: 8.0, shared: HostShare::NONE };
        let (moderated, df) = spread.moderate(2.0, 4.0);
        assert!((moderated - 1.4).abs() < 1e-12, "(6 * 1 + 4 * 2) / 10");
        assert!((df - 8.0).abs() < 1e-12, "no more than all samples have together");
    }
}
