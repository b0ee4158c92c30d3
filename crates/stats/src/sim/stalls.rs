//! Simulated windows with stalls, some independent of the arm and some caused by it.

use super::Rng;
use crate::experiment::{BlockData, Experiment, MetricData, TestData, WindowData, WindowFigure};
use rqps_model::Metric;

/// Tail index of the lengths of random stalls: their variance is infinite.
const TAIL: f64 = 1.2;
/// Their minimum and maximum length, in seconds.
const STALL_S: (f64, f64) = (0.02, 10.0);

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Source {
    /// At random times, with heavy-tailed lengths (Pareto).
    Random {
        /// Stalls per second.
        per_s: f64,
    },
    /// At random times, all of the same length.
    Alike {
        /// Stalls per second.
        per_s: f64,
        stall_s: f64,
    },
    /// The host's: one per block, of constant length, in the window of whichever arm is running.
    Periodic { stall_s: f64 },
    /// Some restarts end up in a state in which every window loses a tenth of its time, with a relative sd of
    /// a tenth.
    Restarts {
        /// The share of such restarts.
        share: f64,
    },
}

/// A model of blocks with stalls. Arm 0 is base, arm 1 its control.
#[derive(Debug, Clone, PartialEq)]
pub struct Stalls {
    pub tests: usize,
    /// Windows of an arm in a block.
    pub windows: usize,
    pub window_s: f64,
    /// Stalls of every arm.
    pub all: Source,
    /// Additional stalls of the last arm.
    pub arm: Option<Source>,
}

const ARMS: usize = 3;

impl Stalls {
    /// An experiment with this many blocks of every test.
    pub fn draw(&self, rng: &mut Rng, blocks: usize) -> Experiment {
        let tests = (0..self.tests).map(|number| self.draw_test(rng, number, blocks)).collect();
        Experiment { arms: ARMS, base: 0, control: Some(1), tests }
    }

    fn draw_test(&self, rng: &mut Rng, number: usize, blocks: usize) -> TestData {
        let (mut data, mut windows) = (Vec::new(), Vec::new());
        for block in 0..blocks as u32 {
            let stalled_s = self.draw_block(rng);
            let factor = |stalled_s: f64| (self.window_s + stalled_s) / self.window_s;
            let mean = |of: &dyn Fn(f64) -> f64| -> Vec<Option<f64>> {
                stalled_s
                    .iter()
                    .map(|arm| Some(arm.iter().map(|s| of(factor(*s))).sum::<f64>() / arm.len() as f64))
                    .collect()
            };
            data.push(BlockData {
                block,
                values: mean(&|factor| factor),
                ln: mean(&f64::ln),
                errors: Vec::new(),
            });
            windows.extend((0..self.windows).map(|window| {
                WindowData {
                    block,
                    arms: stalled_s
                        .iter()
                        .map(|arm| {
                            let seconds = self.window_s + arm[window];
                            Some(WindowFigure { value: factor(arm[window]), seconds })
                        })
                        .collect(),
                }
            }));
        }
        TestData {
            name: format!("test-{number}"),
            group: "simulated".to_owned(),
            starts: format!("starts-{number}"),
            metrics: vec![MetricData { metric: Metric::StallFactor, blocks: data, windows }],
        }
    }

    /// Stalled seconds by arm and window.
    fn draw_block(&self, rng: &mut Rng) -> Vec<Vec<f64>> {
        let mut stalled_s = vec![vec![0.0; self.windows]; ARMS];
        if let Source::Periodic { stall_s } = self.all {
            let hit = rng.below(ARMS * self.windows);
            stalled_s[hit / self.windows][hit % self.windows] = stall_s;
        }
        for (arm, windows) in stalled_s.iter_mut().enumerate() {
            self.add(rng, self.all, windows);
            if let Some(source) = self.arm.filter(|_| arm + 1 == ARMS) {
                self.add(rng, source, windows);
            }
        }
        stalled_s
    }

    fn add(&self, rng: &mut Rng, source: Source, windows: &mut [f64]) {
        match source {
            Source::Random { per_s } => {
                for window in windows {
                    for _ in 0..poisson(rng, per_s * self.window_s) {
                        *window += (STALL_S.0 * (1.0 - rng.uniform()).powf(-1.0 / TAIL)).min(STALL_S.1);
                    }
                }
            }
            Source::Alike { per_s, stall_s } => {
                for window in windows {
                    *window += poisson(rng, per_s * self.window_s) as f64 * stall_s;
                }
            }
            // It hits one arm of the block: see `draw_block`.
            Source::Periodic { .. } => {}
            Source::Restarts { share } => {
                if rng.uniform() < share {
                    for window in windows {
                        *window += 0.1 * self.window_s * (1.0 + 0.1 * rng.normal()).max(0.0);
                    }
                }
            }
        }
    }
}

/// A Poisson number, by exponential gaps (Knuth 1969).
fn poisson(rng: &mut Rng, expected: f64) -> usize {
    let limit = (-expected).exp();
    let (mut product, mut count) = (1.0 - rng.uniform(), 0);
    while product > limit {
        product *= 1.0 - rng.uniform();
        count += 1;
    }
    count
}
