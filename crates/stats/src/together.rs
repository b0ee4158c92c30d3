//! Whether inconclusive verdicts of one arm lie on the same side of 1 more often than chance would give.
//!
//! Two conditions, of which the larger p value counts, so that both hold at it (intersection-union, Berger 1982). Over
//! tests, the exact sign test (Arbuthnott 1710): `p = 2 Σ C(n, i) / 2ⁿ` for `i` from the number on the commoner side to
//! `n`. It takes tests for independent, but those of a block share a restart of base and of the arm: where that is
//! 30 % of their variance, ten equal tests reach 1 % in 7 % of runs, at 60 % in 26 %. So over blocks, too: Student's t
//! of a block's mean over tests. Whatever tests have in common is in the variation of that mean from block to block.
//! Tests have no weights: those from the same few blocks would favour what happens to vary little.

use std::collections::BTreeMap;

use rqps_model::sample;

use crate::direction::Direction;
use crate::distribution::t_two_sided;
use crate::experiment::{BlockData, Experiment, MetricData};
use crate::pairs::{Pairs, Scale, Votes};
use crate::signs;
use crate::verdict::{Class, Verdict};

/// Fewest verdicts: all of eight on one side have a p of 0.8 %, of seven 1.6 %.
const VERDICTS_MIN: usize = 8;
/// Largest p value that is worth telling.
const P_MAX: f64 = 0.01;

/// Inconclusive verdicts that lie on one side of 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Together {
    /// Whether that is below 1.
    pub is_below: bool,
    /// How many lie on that side.
    pub count: usize,
    pub of: usize,
    pub p: f64,
}

/// What inconclusive verdicts on one arm and one metric show together; the others are ignored. `None` if nothing.
pub fn together<'v>(
    experiment: &Experiment,
    verdicts: impl IntoIterator<Item = &'v Verdict>,
) -> Option<Together> {
    let is_open = |one: &&Verdict| one.class == Class::Inconclusive && one.looks_reached > 0;
    let open = verdicts.into_iter().filter(is_open);
    let all: Vec<ByBlock> = open.filter_map(|one| contrasts(experiment, one)).collect();
    let sums = || all.iter().map(|one| one.iter().map(|(_, value)| value).sum::<f64>());
    let (below, above) = (sums().filter(|sum| *sum < 0.0).count(), sums().filter(|sum| *sum > 0.0).count());
    let (is_below, count, of) = (below > above, below.max(above), below + above);
    if of < VERDICTS_MIN {
        return None;
    }
    let votes = [(count, Votes { up: 1, down: 0 }), (of - count, Votes { up: 0, down: 1 })];
    let votes: Vec<Votes> = votes.into_iter().flat_map(|(count, vote)| vec![vote; count]).collect();
    let of_tests = signs::two_sided(&votes, Direction::Up);
    let p = of_tests.max(p_of_blocks(&all, is_below)?);
    (p < P_MAX).then_some(Together { is_below, count, of, p })
}

/// One of the blocks that a verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OfBlock {
    pub block: u32,
    /// Base's figure: a rate, or a cost per operation.
    pub base: f64,
    /// Arm over base.
    pub ratio: f64,
}

/// The blocks whose ratios have the verdict's as their mean, on the scale of logarithms; empty if a block has none.
pub fn blocks_of(experiment: &Experiment, one: &Verdict) -> Vec<OfBlock> {
    let (Some(data), Some(contrasts)) = (data_of(experiment, one), contrasts(experiment, one)) else {
        return Vec::new();
    };
    let base = |number: u32| {
        let block = data.blocks.iter().find(|block| block.block == number)?;
        block.ln[experiment.base].map(f64::exp)
    };
    let blocks = contrasts.into_iter();
    blocks.filter_map(|(block, ln)| Some(OfBlock { block, base: base(block)?, ratio: ln.exp() })).collect()
}

/// Base's figure over these blocks, the geometric mean: times the verdict's ratio it is the arm's. `None` without
/// blocks.
pub fn base_figure(blocks: &[OfBlock]) -> Option<f64> {
    let lns: Vec<f64> = blocks.iter().map(|one| one.base.ln()).collect();
    (!lns.is_empty()).then(|| sample::mean(&lns).exp())
}

/// A test's contrasts, each with its block.
type ByBlock = Vec<(u32, f64)>;

fn contrasts(experiment: &Experiment, one: &Verdict) -> Option<ByBlock> {
    let data = data_of(experiment, one)?;
    let mut blocks: Vec<&BlockData> = data.blocks.iter().collect();
    blocks.sort_by_key(|block| block.block);
    let pairs = Pairs::of(&blocks, &[], one.arm, experiment.base);
    let contrasts = pairs.contrasts(Scale::Log, one.blocks)?;
    Some(pairs.0.iter().map(|pair| pair.block).zip(contrasts).collect())
}

fn data_of<'e>(experiment: &'e Experiment, one: &Verdict) -> Option<&'e MetricData> {
    let test = experiment.tests.iter().find(|test| test.name == one.test)?;
    test.metrics.iter().find(|data| data.metric == one.metric)
}

/// Student's t over the blocks that all of them have; `None` if its direction is the other one.
fn p_of_blocks(all: &[ByBlock], is_below: bool) -> Option<f64> {
    let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (block, value) in all.iter().flatten() {
        blocks.entry(*block).or_default().push(*value);
    }
    let common = blocks.values().filter(|values| values.len() == all.len());
    let means: Vec<f64> = common.map(|values| sample::mean(values)).collect();
    let (count, mean) = (means.len() as f64, sample::mean(&means));
    let error = (sample::variance(&means) / count).sqrt();
    let is_shown = means.len() > 1 && error > 0.0 && (mean < 0.0) == is_below;
    is_shown.then(|| t_two_sided(mean / error, count - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::judge;
    use crate::rules::Rules;
    use crate::sim::{Blocks, Rng};
    use rqps_model::Metric;

    const RUNS: usize = 1500;

    /// Shares of simulated runs of ten noisy tests over five blocks in which the sign test alone, and with the one
    /// over blocks, has a p below 1 %. `of_start` is the part of the variance that tests share.
    fn found(of_start: f64, ratio: f64, seed: u64) -> (f64, f64) {
        let rules = Rules::default();
        let blocks = Blocks {
            tests: 10,
            metric: Metric::CpuUs,
            ratios: vec![ratio],
            control: false,
            block_sd: 0.03,
            spread_df: 12.0,
            of_start,
        };
        let mut rng = Rng::new(seed);
        let (mut alone, mut both) = (0, 0);
        for _ in 0..RUNS {
            let experiment = blocks.draw(&mut rng, 5);
            let verdicts = judge(&experiment, &rules).unwrap().verdicts;
            let open: Vec<&Verdict> =
                verdicts.iter().filter(|one| one.class == Class::Inconclusive).collect();
            let below = open.iter().filter(|one| one.ratio < 1.0).count();
            // Up to ten tests, p is below 1 % only if all are on one side.
            alone += usize::from(open.len() >= VERDICTS_MIN && (below == 0 || below == open.len()));
            both += usize::from(together(&experiment, &verdicts).is_some());
        }
        (alone as f64 / RUNS as f64, both as f64 / RUNS as f64)
    }

    #[test]
    fn what_tests_share_is_no_pattern() {
        for (of_start, alone) in [(0.0, 0.0..0.02), (0.3, 0.04..0.12), (0.6, 0.15..0.35)] {
            let shares = found(of_start, 1.0, 1);
            assert!(alone.contains(&shares.0), "{of_start}: the sign test alone in {}", shares.0);
            // 1 % and four standard errors.
            assert!(shares.1 < 0.01 + 4.0 * (0.01 * 0.99 / RUNS as f64).sqrt(), "{of_start}: {}", shares.1);
        }
        let (_, shown) = found(0.0, 0.97, 2);
        assert!(shown > 0.4, "a change of 3 % in all tests is told in {shown}");
    }
}
