//! The true size of a dose, measured in a separate run of arms with known numbers of multiplications.
//!
//! Multiplications increase the cost of an operation in proportion to their number. So for each block and
//! test, a line through 0 is fitted (least squares) to the costs relative to those without a dose. The slope
//! is the mean over the blocks, with Student's interval. For the rate, the cost is the time of an operation.

use rqps_stats::{BlockData, Experiment, Metric, t_upper};
use serde::{Deserialize, Serialize};

pub const CONFIDENCE: f64 = 0.95;

/// A size with its interval, as a share: 0.01 is 1 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Size {
    pub share: f64,
    /// Lower end of the interval.
    pub low: f64,
    pub high: f64,
}

impl Size {
    pub const ZERO: Size = Size { share: 0.0, low: 0.0, high: 0.0 };

    fn map(self, change: impl Fn(f64) -> f64) -> Size {
        Size { share: change(self.share), low: change(self.low), high: change(self.high) }
    }
}

/// The relative cost of one multiplication per message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Slope {
    pub test: String,
    pub metric: String,
    /// The share by which it increases the cost of an operation.
    pub size: Size,
}

/// The cost of multiplications.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    pub slopes: Vec<Slope>,
    pub blocks: usize,
    /// Folder of the run in which it was measured.
    pub run: String,
}

impl Truth {
    /// Fits the cost to an experiment whose arms have these numbers of multiplications, relative to the arms
    /// with 0. `run` is its folder's name.
    pub fn fit(ladder: &Experiment, spins: &[u64], run: &str) -> Truth {
        let mut truth = Truth { run: run.to_owned(), ..Truth::default() };
        for test in &ladder.tests {
            for data in &test.metrics {
                if !matches!(data.metric, Metric::Rate | Metric::Instructions | Metric::CpuUs) {
                    continue;
                }
                let slopes: Vec<f64> =
                    data.blocks.iter().filter_map(|block| slope(block, data.metric, spins)).collect();
                truth.blocks = truth.blocks.max(slopes.len());
                if let Some(size) = mean(&slopes) {
                    let (test, metric) = (test.name.clone(), data.metric.key().to_owned());
                    truth.slopes.push(Slope { test, metric, size });
                }
            }
        }
        truth
    }

    pub fn slope(&self, test: &str, metric: Metric) -> Option<Size> {
        self.slopes
            .iter()
            .find(|slope| slope.test == test && slope.metric == metric.key())
            .map(|slope| slope.size)
    }

    /// The effect of `spin` multiplications per message on a metric: by which share the cost is larger, or
    /// the rate smaller. None if the test or metric was not measured.
    pub fn size(&self, test: &str, metric: Metric, spin: u64) -> Option<Size> {
        if spin == 0 {
            return Some(Size::ZERO);
        }
        let more = self.slope(test, metric)?.map(|share| share * spin as f64);
        Some(if metric == Metric::Rate { more.map(|more| more / (1.0 + more)) } else { more })
    }

    /// Multiplications per message that double the instructions (or, if those are unknown, the CPU time) of
    /// the median test.
    pub fn spins_per_share(&self) -> Option<f64> {
        let positive_slopes = |metric: Metric| -> Vec<f64> {
            let slopes = self.slopes.iter().filter(|slope| slope.metric == metric.key());
            slopes.map(|slope| slope.size.share).filter(|share| *share > 0.0).collect()
        };
        let mut slopes = positive_slopes(Metric::Instructions);
        if slopes.is_empty() {
            slopes = positive_slopes(Metric::CpuUs);
        }
        slopes.sort_by(f64::total_cmp);
        slopes.get(slopes.len() / 2).map(|slope| 1.0 / slope)
    }
}

/// One block's slope of the relative cost over multiplications, through 0.
fn slope(block: &BlockData, metric: Metric, spins: &[u64]) -> Option<f64> {
    let cost = |arm: usize| {
        let ln = block.ln.get(arm).copied().flatten()?;
        Some(if metric == Metric::Rate { -ln } else { ln })
    };
    let nulls: Vec<f64> = (0..spins.len()).filter(|arm| spins[*arm] == 0).filter_map(cost).collect();
    if nulls.is_empty() {
        return None;
    }
    let reference = nulls.iter().sum::<f64>() / nulls.len() as f64;
    let (mut products, mut squares) = (0.0, 0.0);
    for (arm, spin) in spins.iter().enumerate().filter(|(_, spin)| **spin > 0) {
        let more = (cost(arm)? - reference).exp_m1();
        products += *spin as f64 * more;
        squares += (*spin as f64).powi(2);
    }
    (squares > 0.0).then(|| products / squares)
}

/// The mean with Student's interval; `None` for fewer than two blocks.
fn mean(slopes: &[f64]) -> Option<Size> {
    let n = slopes.len() as f64;
    if n < 2.0 {
        return None;
    }
    let share = slopes.iter().sum::<f64>() / n;
    let variance = slopes.iter().map(|slope| (slope - share).powi(2)).sum::<f64>() / (n - 1.0);
    let half = t_upper((1.0 - CONFIDENCE) / 2.0, n - 1.0) * (variance / n).sqrt();
    Some(Size { share, low: share - half, high: share + half })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rqps_stats::sim::{Blocks, Rng};

    #[test]
    fn intervals_cover_known_slopes() {
        let spins = [0, 0, 1000, 2000, 4000];
        let mut inside = 0;
        for seed in 0..200 {
            let model = Blocks {
                tests: 1,
                metric: Metric::Instructions,
                ratios: spins[1..].iter().map(|spin| 1.0 + 1e-5 * *spin as f64).collect(),
                control: true,
                block_sd: 0.005,
                spread_df: f64::INFINITY,
                of_start: 0.0,
            };
            let truth = Truth::fit(&model.draw(&mut Rng::new(seed), 8), &spins, "simulated");
            let size = truth.size("test-0", Metric::Instructions, 3000).unwrap();
            assert!((size.share - 0.03).abs() < 0.01, "{size:?}");
            inside += usize::from(size.low <= 0.03 && 0.03 <= size.high);
        }
        assert!((180..=198).contains(&inside), "95 % intervals held the truth in {inside} of 200");
    }

    #[test]
    fn longer_operations_reduce_the_rate() {
        let size = Size { share: 1e-3, low: 0.9e-3, high: 1.1e-3 };
        let slope = Slope { test: "t".to_owned(), metric: "rate".to_owned(), size };
        let truth = Truth { slopes: vec![slope], ..Truth::default() };
        assert!((truth.size("t", Metric::Rate, 1000).unwrap().share - 0.5).abs() < 1e-12);
        assert_eq!(truth.size("t", Metric::Rate, 0), Some(Size::ZERO));
        assert_eq!(truth.size("other", Metric::Rate, 1), None);
    }
}
