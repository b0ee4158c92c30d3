//! Finds the versions at which each test's metrics change.

use super::levels::{Row, arrival_set, fit, null_penalty, segment, slope, squares_to};
use crate::direction::Direction;
use crate::distribution::t_upper;
use crate::prior::{self, Sample, Spread};
use crate::sim::Rng;
use rqps_model::Metric;
use rqps_model::sample::mean;
use std::collections::BTreeMap;

/// Minimum number of versions for a series; fewer are compared with base.
const VERSIONS_MIN: usize = 3;

/// One test's blocks over versions.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesData {
    pub test: String,
    /// Per metric and block: the logarithm of each version's figure, in order of versions; `None` if not
    /// measured.
    pub metrics: Vec<(Metric, Vec<Vec<Option<f64>>>)>,
}

/// Error rates and seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeriesRules {
    /// Probability that a test without changes is given any step in any metric.
    pub alpha: f64,
    /// Confidence of arrival sets and of the intervals of steps.
    pub confidence: f64,
    /// Seed of the simulated nulls.
    pub seed: u64,
}

impl Default for SeriesRules {
    fn default() -> SeriesRules {
        SeriesRules { alpha: 0.003, confidence: 0.95, seed: 1 }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct TestSteps {
    pub test: String,
    pub metrics: Vec<(Metric, Steps)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Steps {
    /// Number of blocks that have all versions; others are ignored.
    pub blocks: usize,
    /// Standard deviation of a block's log ratio of two versions, moderated by the variation of other tests;
    /// NaN for fewer than two blocks.
    pub block_sd: f64,
    /// Fitted log ratio of each version to the first.
    pub levels: Vec<f64>,
    /// The changes, in order of versions.
    pub steps: Vec<Step>,
    /// Whether a constant slope over all versions fits better than the steps: the change was gradual.
    pub drift: bool,
}

/// A change between two versions.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The first version that has it, counted from 0.
    pub arrival: usize,
    /// The versions that may be the first to have it, at the rules' confidence; ascending, including
    /// `arrival`.
    pub arrivals: Vec<usize>,
    /// Ratio of the level after to the level before.
    pub ratio: f64,
    /// Lower end of the ratio's interval, given the arrival.
    pub low: f64,
    pub high: f64,
}

impl Step {
    /// Whether the level rose or fell.
    pub fn direction(&self) -> Direction {
        Direction::of(self.ratio.ln())
    }
}

/// A metric's complete blocks, each with all versions.
type Rows = Vec<Vec<f64>>;

/// Cached penalties by number of versions, degrees of freedom and error.
type Penalties = BTreeMap<(usize, u64, u64), f64>;

/// Finds the steps of every test and metric. None with fewer than three versions or two complete blocks.
///
/// Steps minimize the sum of squares plus a penalty, over all numbers of steps, by dynamic programming. The
/// penalty is exceeded by only a share `alpha` of simulated rows without a step (parametric bootstrap of the
/// maximum over all cuts, not the quantile of one comparison); a test's metrics share `alpha`. Variances are
/// moderated over the tests of a metric as in verdicts.
pub fn steps(tests: &[SeriesData], rules: &SeriesRules) -> Vec<TestSteps> {
    let complete = |blocks: &[Vec<Option<f64>>]| -> Rows {
        let rows: Rows = blocks.iter().filter_map(|block| block.iter().copied().collect()).collect();
        let versions = rows.first().map_or(0, Vec::len);
        rows.into_iter().filter(|row| row.len() == versions).collect()
    };
    let rows: Vec<Vec<(Metric, Rows)>> = tests
        .iter()
        .map(|test| test.metrics.iter().map(|(metric, blocks)| (*metric, complete(blocks))).collect())
        .collect();
    let spreads = spreads(tests, &rows);
    let mut penalties = Penalties::new();
    let mut found = Vec::new();
    for (test, rows_by_metric) in tests.iter().zip(&rows) {
        let alpha = rules.alpha / rows_by_metric.len().max(1) as f64;
        let mut metrics = Vec::new();
        for (metric, rows) in rows_by_metric {
            let spread = spreads.get(metric).unwrap_or(&Spread::UNKNOWN);
            metrics.push((*metric, steps_of(rows, spread, alpha, rules, &mut penalties)));
        }
        found.push(TestSteps { test: test.test.clone(), metrics });
    }
    found
}

fn is_row(rows: &[Vec<f64>]) -> bool {
    rows.len() >= 2 && rows[0].len() >= VERSIONS_MIN
}

fn spreads(tests: &[SeriesData], rows: &[Vec<(Metric, Rows)>]) -> BTreeMap<Metric, Spread> {
    let mut samples: BTreeMap<Metric, Vec<Sample>> = BTreeMap::new();
    for (test, rows_by_metric) in tests.iter().zip(rows) {
        for (metric, rows) in rows_by_metric.iter().filter(|(_, rows)| is_row(rows)) {
            let row = Row::of(rows);
            let sample = Sample { test: &test.test, variance: row.variance, df: row.df };
            samples.entry(*metric).or_default().push(sample);
        }
    }
    samples.into_iter().map(|(metric, samples)| (metric, prior::fit(&samples, 1.0))).collect()
}

fn steps_of(
    rows: &[Vec<f64>],
    spread: &Spread,
    alpha: f64,
    rules: &SeriesRules,
    penalties: &mut Penalties,
) -> Steps {
    let versions = rows.first().map_or(0, Vec::len);
    let mut found = Steps {
        blocks: rows.len(),
        block_sd: f64::NAN,
        levels: vec![0.0; versions],
        steps: Vec::new(),
        drift: false,
    };
    if !is_row(rows) {
        return found;
    }
    let mut row = Row::of(rows);
    if row.scaled().is_some() {
        (row.variance, row.df) = spread.moderate(row.variance, row.df);
    }
    found.block_sd = (2.0 * row.variance).sqrt();
    let Some(scaled) = row.scaled() else {
        // Without noise, every difference is a step.
        found.steps = (1..versions).filter_map(|version| exact_step(&row.means, version)).collect();
        found.levels = row.means.iter().map(|level| level - row.means[0]).collect();
        return found;
    };
    let key = (versions, row.df.to_bits(), alpha.to_bits());
    let drawn = || null_penalty(versions, row.df, alpha, &mut Rng::new(rules.seed));
    let penalty = *penalties.entry(key).or_insert_with(drawn);
    let cuts = segment(&scaled, penalty);
    let levels = fit(&row.means, &cuts);
    found.levels = levels.iter().map(|level| level - levels[0]).collect();
    let in_steps = squares_to(&scaled, &fit(&scaled, &cuts)) + penalty * cuts.len() as f64;
    found.drift = !cuts.is_empty() && squares_to(&scaled, &slope(&scaled)) + penalty < in_steps;
    let mut rng = Rng::new(rules.seed);
    found.steps = (0..cuts.len()).map(|place| step(&row, &scaled, &cuts, place, rules, &mut rng)).collect();
    found
}

fn step(row: &Row, scaled: &[f64], cuts: &[usize], place: usize, rules: &SeriesRules, rng: &mut Rng) -> Step {
    let arrival = cuts[place];
    let from = if place == 0 { 0 } else { cuts[place - 1] };
    let until = cuts.get(place + 1).copied().unwrap_or(row.means.len());
    let (before, after) = (&row.means[from..arrival], &row.means[arrival..until]);
    let size = mean(after) - mean(before);
    let weight = 1.0 / before.len() as f64 + 1.0 / after.len() as f64;
    let error = (row.variance / row.blocks * weight).sqrt();
    let half_width = t_upper((1.0 - rules.confidence) / 2.0, row.df) * error;
    let arrivals = arrival_set(&scaled[from..until], row.df, rules.confidence, rng);
    Step {
        arrival,
        arrivals: arrivals.into_iter().map(|cut| from + cut).collect(),
        ratio: size.exp(),
        low: (size - half_width).exp(),
        high: (size + half_width).exp(),
    }
}

fn exact_step(means: &[f64], arrival: usize) -> Option<Step> {
    let size = means[arrival] - means[arrival - 1];
    let ratio = size.exp();
    (size.abs() > 1e-9).then(|| Step { arrival, arrivals: vec![arrival], ratio, low: ratio, high: ratio })
}
