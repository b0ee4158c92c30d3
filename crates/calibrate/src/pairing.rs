//! Re-pairs the blocks of one run into many verdicts.
//!
//! Each draw takes two arms without a dose as base and control and puts the blocks in random order. At every look
//! that the blocks reach it is judged as a run with this order whose plan ends there. Verdicts of different draws
//! share blocks, so they are not independent: see [`crate::share`]. [`judge_pairs`] makes fewer that have nothing in
//! common but the machine.

use crate::draw::random_subset;
use crate::error::{Error, Result};
use rqps_stats::sim::Rng;
use rqps_stats::{BlockData, Class, Detector, Experiment, Metric, MetricData, Rules, TestData, judge};
use std::collections::BTreeSet;

/// A verdict of a draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    pub draw: usize,
    /// Index of the test in the experiment.
    pub test: usize,
    /// Index of the arm in the experiment.
    pub arm: usize,
    pub detector: Detector,
    pub class: Class,
    /// The metric that it is based on.
    pub metric: Metric,
    /// Whether it is significant among all verdicts of the draw.
    pub significant: bool,
    /// Probability, over all looks, of a ratio at least as far from 1 between equal arms.
    pub p: f64,
}

/// All verdicts after the same number of blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    pub blocks: usize,
    /// Arms that were base in a draw.
    pub bases: BTreeSet<usize>,
    /// Block numbers of each draw.
    pub draws: Vec<BTreeSet<u32>>,
    /// The verdicts on candidates, without the control.
    pub samples: Vec<Sample>,
}

/// Makes `draws` draws of an experiment in which the arms `nulls` have no dose, and judges them.
///
/// # Errors
/// Returns an error for fewer than three arms without a dose, or too few blocks for the first look.
pub fn re_pair(
    experiment: &Experiment,
    nulls: &[usize],
    rules: &Rules,
    draws: usize,
    seed: u64,
) -> Result<Vec<Look>> {
    if nulls.len() < 3 {
        let what = format!("only {} arms without a dose; re-pairing needs 3", nulls.len());
        return Err(Error::TooLittle { what });
    }
    let numbers = enough_blocks(experiment, rules)?;
    let looks: Vec<usize> =
        rules.looks.iter().map(|look| look.blocks).filter(|blocks| *blocks <= numbers.len()).collect();
    let mut rng = Rng::new(seed);
    let mut found: Vec<Look> = looks
        .iter()
        .map(|blocks| Look {
            blocks: *blocks,
            bases: BTreeSet::new(),
            draws: Vec::new(),
            samples: Vec::new(),
        })
        .collect();
    // As runs are judged that end there.
    let rules_at: Vec<Rules> = looks.iter().map(|blocks| rules.clone().ending_after(*blocks)).collect();
    for draw in 0..draws {
        let pair = random_subset(&mut rng, nulls.len(), 2);
        let rest = (0..experiment.arms).filter(|arm| *arm != nulls[pair[0]] && *arm != nulls[pair[1]]);
        let arms: Vec<usize> = [nulls[pair[0]], nulls[pair[1]]].into_iter().chain(rest).collect();
        let order: Vec<u32> =
            random_subset(&mut rng, numbers.len(), numbers.len()).into_iter().map(|at| numbers[at]).collect();
        for (look, rules) in found.iter_mut().zip(&rules_at) {
            let blocks = &order[..look.blocks];
            let drawn = rearranged(experiment, &arms, blocks, Some(1));
            look.samples.extend(verdicts(&drawn, &arms, rules, draw)?);
            look.bases.insert(arms[0]);
            look.draws.push(blocks.iter().copied().collect());
        }
    }
    Ok(found)
}

/// The verdicts of an experiment of equal arms, as if every two of these, in their order, were a run of their own
/// without control. No two verdicts on a test have an arm in common.
///
/// # Errors
/// Returns an error for too few blocks for a look.
pub fn judge_pairs(experiment: &Experiment, arms: &[usize], rules: &Rules) -> Result<Vec<Sample>> {
    let blocks = enough_blocks(experiment, rules)?;
    let pairs = arms.chunks_exact(2).enumerate();
    let judged =
        pairs.map(|(at, pair)| verdicts(&rearranged(experiment, pair, &blocks, None), pair, rules, at));
    Ok(judged.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// The complete blocks, if a verdict can rest on so many.
pub(crate) fn enough_blocks(experiment: &Experiment, rules: &Rules) -> Result<Vec<u32>> {
    let blocks = complete_blocks(experiment);
    let least = rules.looks.first().map_or(1, |look| look.blocks);
    if blocks.len() >= least {
        return Ok(blocks);
    }
    let what = format!(
        "{} complete blocks (every test on every arm), but {least} are needed; `rqps resume --more` adds some, also while \
         doses are still sealed",
        blocks.len()
    );
    Err(Error::TooLittle { what })
}

/// The blocks in which every test has every metric on every arm, so that blocks and arms are interchangeable.
pub fn complete_blocks(experiment: &Experiment) -> Vec<u32> {
    let measured = |data: &MetricData| -> BTreeSet<u32> {
        let whole = data.blocks.iter().filter(|block| block.values.iter().all(Option::is_some));
        whole.map(|block| block.block).collect()
    };
    let mut metrics = experiment.tests.iter().flat_map(|test| &test.metrics);
    let Some(first) = metrics.next().map(measured) else {
        return Vec::new();
    };
    metrics.fold(first, |common, data| &common & &measured(data)).into_iter().collect()
}

/// The verdicts of an experiment that was rearranged, but on its control; `arms` are the arms' numbers before.
fn verdicts(experiment: &Experiment, arms: &[usize], rules: &Rules, draw: usize) -> Result<Vec<Sample>> {
    let judgement = judge(experiment, rules)?;
    let test_of = |name: &str| experiment.tests.iter().position(|test| test.name == name);
    let sample = |verdict: &rqps_stats::Verdict| {
        Some(Sample {
            draw,
            test: test_of(&verdict.test)?,
            arm: arms[verdict.arm],
            detector: verdict.detector,
            class: verdict.class,
            metric: verdict.metric,
            significant: verdict.class.is_change(),
            p: verdict.p_seq,
        })
    };
    Ok(judgement.verdicts.iter().filter(|verdict| !verdict.is_control).filter_map(sample).collect())
}

/// The experiment with its arms and blocks in this order; the first arm is base.
fn rearranged(experiment: &Experiment, arms: &[usize], blocks: &[u32], control: Option<usize>) -> Experiment {
    let block = |(at, number): (usize, &u32), data: &MetricData| {
        let source = data.blocks.iter().find(|block| block.block == *number)?;
        let pick = |values: &[Option<f64>]| arms.iter().map(|arm| values[*arm]).collect();
        let errors = if source.errors.is_empty() { Vec::new() } else { pick(&source.errors) };
        Some(BlockData { block: at as u32, values: pick(&source.values), ln: pick(&source.ln), errors })
    };
    let metric = |data: &MetricData| MetricData {
        metric: data.metric,
        blocks: blocks.iter().enumerate().filter_map(|placed| block(placed, data)).collect(),
        windows: Vec::new(),
    };
    let test = |test: &TestData| TestData {
        name: test.name.clone(),
        group: test.group.clone(),
        starts: test.starts.clone(),
        metrics: test.metrics.iter().map(metric).collect(),
    };
    Experiment { arms: arms.len(), base: 0, control, tests: experiment.tests.iter().map(test).collect() }
}
