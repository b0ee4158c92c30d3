//! Contrasts of an arm with base, block by block: the only sample there is.

use crate::direction::Direction;
use crate::experiment::{BlockData, WindowData};
use rqps_model::Metric;

/// On which scale contrasts are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    Log,
    /// Differences in shares of base's mean: for values of 0, which have no logarithm.
    Linear,
}

impl Scale {
    /// The contrast of a change by `share`.
    pub(crate) fn of_share(self, share: f64) -> f64 {
        match self {
            // What matters may be more than there is of it.
            Scale::Log => share.max(-1.0).ln_1p(),
            Scale::Linear => share,
        }
    }

    /// The ratio that a contrast stands for.
    pub(crate) fn ratio(self, contrast: f64) -> f64 {
        match self {
            Scale::Log => contrast.exp(),
            Scale::Linear => (1.0 + contrast).max(0.0),
        }
    }

    /// How large a change for the worse is, as a share, whose contrast is `size`.
    pub(crate) fn worse_by(self, size: f64, metric: Metric) -> f64 {
        let contrast = if Direction::Up.is_worse(metric) { size } else { -size };
        (self.ratio(contrast) - 1.0).abs()
    }
}

/// One block of two arms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) block: u32,
    pub(crate) base: f64,
    pub(crate) arm: f64,
    /// Difference of the logarithms, where both have one.
    pub(crate) ln: Option<f64>,
    /// Windows in which the arm's figure is above base's, and below it. Both 0 where windows are not told apart.
    pub(crate) windows: Votes,
    /// How long the arm was measured, or base, if that is less; 0 where windows are not told apart.
    pub(crate) seconds: f64,
}

/// Windows that differ, by direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Votes {
    pub(crate) up: usize,
    pub(crate) down: usize,
}

impl Pair {
    /// Arm over base; 1 where both are 0.
    pub(crate) fn ratio(&self) -> f64 {
        match self.ln {
            Some(ln) => ln.exp(),
            None if self.arm == self.base => 1.0,
            None => self.arm / self.base,
        }
    }
}

/// The blocks in which both arms were measured, in order of time.
#[derive(Debug, Clone)]
pub(crate) struct Pairs(pub(crate) Vec<Pair>);

impl Pairs {
    /// Of `arm` with `base`; `blocks` in order of their numbers.
    pub(crate) fn of(blocks: &[&BlockData], windows: &[WindowData], arm: usize, base: usize) -> Pairs {
        let pair = |block: &&BlockData| {
            let ln = block.ln[arm].zip(block.ln[base]).map(|(arm, base)| arm - base);
            let number = block.block;
            let (votes, seconds) = votes(windows, number, arm, base);
            let (base, arm) = (block.values[base]?, block.values[arm]?);
            Some(Pair { block: number, base, arm, ln, windows: votes, seconds })
        };
        Pairs(blocks.iter().filter_map(pair).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The first `count` blocks, if there are so many.
    pub(crate) fn first(&self, count: usize) -> Option<&[Pair]> {
        self.0.get(..count)
    }

    /// How windows differ, block by block.
    pub(crate) fn votes(&self) -> Vec<Votes> {
        self.0.iter().map(|pair| pair.windows).collect()
    }

    /// How long both arms were measured at least.
    pub(crate) fn seconds(&self) -> f64 {
        self.0.iter().map(|pair| pair.seconds).sum()
    }

    /// That of the first `count` blocks.
    pub(crate) fn scale(&self, count: usize) -> Scale {
        if self.0.iter().take(count).all(|pair| pair.ln.is_some()) { Scale::Log } else { Scale::Linear }
    }

    /// Mean of the logarithm of the ratio over the first `count` blocks; infinite where one of them has a 0.
    pub(crate) fn mean_ln_ratio(&self, count: usize) -> f64 {
        let known = self.0.iter().take(count);
        mean(&known.map(|pair| pair.ratio().ln()).collect::<Vec<f64>>())
    }

    /// Contrasts of the first `count` blocks. None where base is 0 throughout: there is no ratio to speak of.
    pub(crate) fn contrasts(&self, scale: Scale, count: usize) -> Option<Vec<f64>> {
        let pairs = &self.0[..count.min(self.len())];
        match scale {
            Scale::Log => pairs.iter().map(|pair| pair.ln).collect(),
            Scale::Linear => {
                let base_mean = mean(&pairs.iter().map(|pair| pair.base).collect::<Vec<f64>>());
                let share = |pair: &Pair| (pair.arm - pair.base) / base_mean;
                (base_mean > 0.0).then(|| pairs.iter().map(share).collect())
            }
        }
    }
}

/// How the windows of a block differ, and the shorter of the times that both arms were measured.
fn votes(windows: &[WindowData], block: u32, arm: usize, base: usize) -> (Votes, f64) {
    let (mut votes, mut arm_s, mut base_s) = (Votes::default(), 0.0, 0.0);
    for window in windows.iter().filter(|window| window.block == block) {
        if let (Some(of_arm), Some(of_base)) = (window.arms[arm], window.arms[base]) {
            votes.up += usize::from(of_arm.value > of_base.value);
            votes.down += usize::from(of_arm.value < of_base.value);
            arm_s += of_arm.seconds;
            base_s += of_base.seconds;
        }
    }
    (votes, arm_s.min(base_s))
}

/// Arithmetic mean; NaN of nothing.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sample variance; NaN of fewer than two.
pub(crate) fn variance(values: &[f64]) -> f64 {
    let centre = mean(values);
    values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}
