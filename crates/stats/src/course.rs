//! A version's ratio to the anchor of a series, measured in one run of blocks or in several.
//!
//! Within a run the ratio is that of two arms of the same blocks, so the host's drift from run to run is in both and
//! cancels. Several runs that measured the same version are several samples of one ratio. What a run has in common
//! beyond its blocks (its loads, the layout of its starts) is not in its own error; so runs are compared first, and if
//! they differ by more than their errors and by more than what matters, the interval covers all of them.

use crate::distribution::{t_two_sided, t_upper};
use crate::verdict::{Tag, Verdict};

/// Probability that an interval misses after a fixed number of blocks. Runs end when their verdicts are reached, which
/// makes it 3 to 4 times as much at most (five looks).
const ERROR: f64 = 0.01;
/// Runs that measured the same ratio are called different with this probability.
const DIFFERENT_P: f64 = 0.01;

/// One run's ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// Mean of the ratio's logarithm over blocks.
    pub ln: f64,
    /// Standard deviation of a block; NaN if unknown, as after a single block.
    pub block_sd: f64,
    /// Degrees of freedom of `block_sd`.
    pub df: f64,
    pub blocks: usize,
    /// The minimum effect of interest, as a share.
    pub mei: f64,
}

/// A ratio over all runs that measured it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    pub ratio: f64,
    /// Lower end of the interval; NaN if unknown, as after a single block.
    pub low: f64,
    pub high: f64,
    pub blocks: usize,
    pub runs: usize,
    /// Whether the runs differ by more than their blocks explain.
    pub differs: bool,
}

impl Part {
    /// From a verdict; `None` without a ratio.
    pub fn of(verdict: &Verdict) -> Option<Part> {
        let is_exact = verdict.tags.contains(&Tag::Exact);
        let is_known = verdict.blocks > 1 && (is_exact || verdict.df > 0.0);
        let ln = verdict.ratio.ln();
        ln.is_finite().then_some(Part {
            ln,
            block_sd: if is_known { verdict.moderated_sd } else { f64::NAN },
            df: if is_exact { f64::INFINITY } else { verdict.df },
            blocks: verdict.blocks,
            mei: verdict.mei,
        })
    }

    fn variance(&self) -> f64 {
        self.block_sd.powi(2) / self.blocks as f64
    }

    fn half_width(&self) -> f64 {
        // Blocks that are all equal have no noise to estimate.
        if self.block_sd == 0.0 { 0.0 } else { t_upper(ERROR / 2.0, self.df) * self.variance().sqrt() }
    }

    fn differs_from(&self, other: &Part) -> bool {
        let difference = (self.ln - other.ln).abs();
        let (a, b) = (self.variance(), other.variance());
        let (error, df) = ((a + b).sqrt(), welch(&[(a, self.df), (b, other.df)]));
        let p = match error {
            0.0 => 0.0,
            known if known > 0.0 => t_two_sided(difference / error, df),
            _ => return false,
        };
        difference > self.mei.max(other.mei).ln_1p() && p <= DIFFERENT_P
    }
}

impl Level {
    /// Of its interval after a fixed number of blocks.
    pub const CONFIDENCE: f64 = 1.0 - ERROR;

    /// Of the anchor itself.
    pub const ANCHOR: Level =
        Level { ratio: 1.0, low: f64::NAN, high: f64::NAN, blocks: 0, runs: 0, differs: false };

    /// Over these runs; `None` without any. Runs whose noise is unknown count only where that of all is.
    pub fn of(parts: &[Part]) -> Option<Level> {
        let known: Vec<Part> = parts.iter().filter(|part| part.block_sd.is_finite()).copied().collect();
        let parts = if known.is_empty() { parts } else { &*known };
        let blocks: usize = parts.iter().map(|part| part.blocks).sum();
        if blocks == 0 {
            return None;
        }
        let weight = |part: &Part| part.blocks as f64 / blocks as f64;
        let ln: f64 = parts.iter().map(|part| weight(part) * part.ln).sum();
        let pairs = || {
            let later = |at: usize| parts[at + 1..].iter();
            parts.iter().enumerate().flat_map(move |(at, one)| later(at).map(move |other| (one, other)))
        };
        let differs = pairs().any(|(one, other)| one.differs_from(other));
        let (low, high) = if differs {
            let ends = parts.iter().map(|part| (part.ln - part.half_width(), part.ln + part.half_width()));
            ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), end| {
                (low.min(end.0), high.max(end.1))
            })
        } else {
            let shares: Vec<(f64, f64)> =
                parts.iter().map(|part| (weight(part).powi(2) * part.variance(), part.df)).collect();
            let variance: f64 = shares.iter().map(|(variance, _)| variance).sum();
            let half =
                if variance == 0.0 { 0.0 } else { t_upper(ERROR / 2.0, welch(&shares)) * variance.sqrt() };
            (ln - half, ln + half)
        };
        let end = |ln: f64| if ln.is_finite() { ln.exp() } else { f64::NAN };
        let runs = parts.len();
        Some(Level { ratio: ln.exp(), low: end(low), high: end(high), blocks, runs, differs })
    }
}

/// Degrees of freedom of a sum of variances, each with its own (Welch 1947).
fn welch(variances: &[(f64, f64)]) -> f64 {
    let sum: f64 = variances.iter().map(|(variance, _)| variance).sum();
    let squares: f64 = variances.iter().map(|(variance, df)| variance.powi(2) / df).sum();
    if squares == 0.0 { f64::INFINITY } else { sum.powi(2) / squares }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Rng;
    use rqps_model::sample::{mean, variance};

    fn part(ln: f64, block_sd: f64, blocks: usize) -> Part {
        Part { ln, block_sd, df: blocks as f64 - 1.0, blocks, mei: 0.02 }
    }

    /// A run's ratio from drawn blocks, `shift` away from 0.
    fn drawn(rng: &mut Rng, blocks: usize, shift: f64) -> Part {
        let values: Vec<f64> = rng.normals(blocks).iter().map(|value| shift + 0.01 * value).collect();
        part(mean(&values), variance(&values).sqrt(), blocks)
    }

    #[test]
    fn a_second_run_narrows_the_interval_and_weighs_by_its_blocks() {
        let one = Level::of(&[part(0.1, 0.01, 5)]).unwrap();
        assert!((one.low.ln() - (0.1 - 4.6041 * 0.01 / 5f64.sqrt())).abs() < 1e-4, "{one:?}");
        let both = Level::of(&[part(0.1, 0.01, 5), part(0.11, 0.01, 15)]).unwrap();
        assert!((both.ratio.ln() - 0.1075).abs() < 1e-12);
        assert!(both.high - both.low < one.high - one.low && !both.differs);
        assert_eq!((both.blocks, both.runs), (20, 2));
        assert_eq!(Level::of(&[]), None);
        let single = |ln| part(ln, f64::NAN, 1);
        for singles in [vec![single(0.1)], vec![single(0.1), single(0.9)]] {
            let level = Level::of(&singles).unwrap();
            assert!(level.low.is_nan() && !level.differs, "a block shows no noise: {level:?}");
        }
        let beside = Level::of(&[single(0.9), part(0.1, 0.01, 5)]).unwrap();
        assert_eq!(beside, one, "what is known is not spoilt by a run of a block");
    }

    #[test]
    fn runs_that_differ_widen_the_interval() {
        let (one, other) = (part(0.1, 0.002, 8), part(0.2, 0.002, 8));
        let level = Level::of(&[one, other]).unwrap();
        assert!(level.differs && level.low < 0.1f64.exp() && level.high > 0.2f64.exp(), "{level:?}");
        // Below what matters a difference is not worth a wider interval.
        assert!(!Level::of(&[one, part(0.11, 0.002, 8)]).unwrap().differs);
        // Counts without noise are exact, and so is their difference.
        let exact = |ln| Part { df: f64::INFINITY, ..part(ln, 0.0, 3) };
        let equal = Level::of(&[exact(0.1), exact(0.1)]).unwrap();
        assert!((equal.high - equal.low).abs() < 1e-12 && !equal.differs);
        assert!(Level::of(&[exact(0.1), exact(0.2)]).unwrap().differs);
    }

    #[test]
    fn intervals_hold_with_one_run_and_with_two() {
        let (mut rng, draws) = (Rng::new(23), 4000);
        for runs in [1, 2] {
            let (mut missed, mut differ) = (0, 0);
            for _ in 0..draws {
                let parts: Vec<Part> = (0..runs).map(|_| drawn(&mut rng, 3 + 2 * runs, 0.0)).collect();
                let level = Level::of(&parts).unwrap();
                missed += usize::from(!(level.low..=level.high).contains(&1.0));
                differ += usize::from(level.differs);
            }
            assert!(missed <= 60, "{runs} runs: {missed} of {draws} intervals miss");
            assert!(differ <= 60, "{runs} runs: {differ} of {draws} differ");
        }
    }

    /// Whatever ends a run at one of its looks, an interval of 99 % covers in 95 % or more.
    #[test]
    fn ending_at_the_worst_look_misses_in_less_than_5_percent() {
        let (mut rng, draws, mut missed) = (Rng::new(24), 4000, 0);
        for _ in 0..draws {
            let all = rng.normals(18);
            let at_look = |blocks: usize| {
                let values = &all[..blocks];
                Level::of(&[part(0.01 * mean(values), 0.01 * variance(values).sqrt(), blocks)])
            };
            let misses = |level: Option<Level>| level.is_some_and(|one| !(one.low..=one.high).contains(&1.0));
            missed += usize::from([3, 5, 8, 12, 18].into_iter().any(|blocks| misses(at_look(blocks))));
        }
        assert!((40..200).contains(&missed), "{missed} of {draws}");
    }
}
