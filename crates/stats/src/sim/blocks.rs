//! Simulated restart blocks, and a run that measures further blocks only of undecided tests.

use super::Rng;
use crate::experiment::{BlockData, Experiment, InvalidData, MetricData, TestData};
use crate::judge::judge;
use crate::rules::Rules;
use crate::verdict::Judgement;
use rqps_model::Metric;

/// A model of blocks: each arm's log value has its own normal error in each block. Arm 0 is base.
#[derive(Debug, Clone, PartialEq)]
pub struct Blocks {
    pub tests: usize,
    pub metric: Metric,
    /// True ratio to base of each other arm; 1: no change.
    pub ratios: Vec<f64>,
    /// Whether the first of these arms is the control.
    pub control: bool,
    /// Typical standard deviation of a block's log ratio.
    pub block_sd: f64,
    /// How similar tests are: their variances are `block_sd² / mean square` with these degrees of freedom.
    /// Infinite: all equal.
    pub spread_df: f64,
    /// Share of a block's variance that comes from the server's start and is common to all tests; 0: every
    /// test has its own starts.
    pub of_start: f64,
}

/// Result of a simulated run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The final verdicts.
    pub judgement: Judgement,
    /// Number of blocks measured per test.
    pub blocks: Vec<usize>,
}

impl Blocks {
    /// An experiment with this many blocks of every test.
    pub fn draw(&self, rng: &mut Rng, blocks: usize) -> Experiment {
        let arms = self.ratios.len() + 1;
        let starts: Vec<Vec<f64>> = match self.of_start {
            0.0 => Vec::new(),
            _ => (0..blocks).map(|_| rng.normals(arms)).collect(),
        };
        let tests = (0..self.tests).map(|number| self.draw_test(rng, number, blocks, &starts)).collect();
        let control = self.control.then_some(1);
        Experiment { arms, base: 0, control, tests }
    }

    /// `starts` holds the shared effects of starts by block and arm, if tests share any.
    fn draw_test(&self, rng: &mut Rng, number: usize, blocks: usize, starts: &[Vec<f64>]) -> TestData {
        // A ratio contains the noise of two arms.
        let arm_sd = self.block_sd / (2.0 * rng.mean_square(self.spread_df)).sqrt();
        let block = |block: usize| {
            // Effects common to all arms of a block cancel out in the ratio.
            let common = 7.0 + 0.1 * rng.normal();
            let mut one = |(arm, ratio): (usize, f64)| {
                let own = (1.0 - self.of_start).sqrt() * rng.normal();
                let shared = starts.get(block).map_or(0.0, |arms| self.of_start.sqrt() * arms[arm]);
                common + ratio.ln() + arm_sd * (own + shared)
            };
            let ratios = std::iter::once(1.0).chain(self.ratios.iter().copied());
            let lns: Vec<f64> = ratios.enumerate().map(&mut one).collect();
            BlockData {
                block: block as u32,
                values: lns.iter().map(|ln| Some(ln.exp())).collect(),
                ln: lns.into_iter().map(Some).collect(),
                errors: Vec::new(),
            }
        };
        TestData {
            name: format!("test-{number}"),
            group: "simulated".to_owned(),
            starts: if starts.is_empty() { format!("starts-{number}") } else { "shared".to_owned() },
            metrics: vec![MetricData {
                metric: self.metric,
                blocks: (0..blocks).map(block).collect(),
                windows: Vec::new(),
            }],
        }
    }

    /// Measures like a real run: up to each look, then on with the tests that have an undecided arm.
    ///
    /// # Errors
    /// Returns an error if the rules are inconsistent.
    pub fn run(&self, rng: &mut Rng, rules: &Rules) -> Result<Outcome, InvalidData> {
        let blocks_max = rules.looks.last().map_or(0, |look| look.blocks);
        let all = self.draw(rng, blocks_max);
        let mut given = vec![0; self.tests];
        let mut open = vec![true; self.tests];
        let mut judgement = Judgement { verdicts: Vec::new() };
        for look in &rules.looks {
            let still_open = given.iter_mut().zip(&open).filter(|(_, open)| **open);
            still_open.for_each(|(given, _)| *given = look.blocks);
            let mut measured = all.clone();
            for (test, blocks) in measured.tests.iter_mut().zip(&given) {
                test.metrics[0].blocks.truncate(*blocks);
            }
            judgement = judge(&measured, rules)?;
            let per_test = judgement.verdicts.chunks(self.ratios.len());
            open =
                per_test.map(|of_test| of_test.iter().any(|verdict| !verdict.class.is_decided())).collect();
            if !open.contains(&true) {
                break;
            }
        }
        Ok(Outcome { judgement, blocks: given })
    }
}
