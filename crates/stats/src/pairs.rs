//! Contrasts of an arm with base, one per block: the only sample.

use crate::direction::Direction;
use crate::experiment::{BlockData, WindowData};
use rqps_model::Metric;
use rqps_model::sample::mean;

/// The scale of contrasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    Log,
    /// Differences as shares of base's mean: for values of 0, which have no logarithm.
    Linear,
}

impl Scale {
    /// The contrast of a change by `share`.
    pub(crate) fn of_share(self, share: f64) -> f64 {
        match self {
            // A minimum effect above 100 % cannot be a decrease.
            Scale::Log => share.max(-1.0).ln_1p(),
            Scale::Linear => share,
        }
    }

    /// The ratio of a contrast.
    pub(crate) fn ratio(self, contrast: f64) -> f64 {
        match self {
            Scale::Log => contrast.exp(),
            Scale::Linear => (1.0 + contrast).max(0.0),
        }
    }

    /// The change for the worse, as a share, whose contrast is `size`.
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
    /// Difference of the logarithms, if both exist.
    pub(crate) ln: Option<f64>,
    /// Its variance within the block, if known.
    pub(crate) variance_within: Option<f64>,
    /// Windows in which the arm's figure is above base's, and below it. Both 0 if windows are not used.
    pub(crate) windows: Votes,
    /// The shorter of the times that arm and base were measured; 0 if windows are not used.
    pub(crate) seconds: f64,
}

/// Number of windows that differ, by direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Votes {
    pub(crate) up: usize,
    pub(crate) down: usize,
}

impl Pair {
    /// Arm over base; 1 if both are 0.
    pub(crate) fn ratio(&self) -> f64 {
        match self.ln {
            Some(ln) => ln.exp(),
            None if self.arm == self.base => 1.0,
            None => self.arm / self.base,
        }
    }
}

/// The blocks in which both arms were measured, in chronological order.
#[derive(Debug, Clone)]
pub(crate) struct Pairs(pub(crate) Vec<Pair>);

impl Pairs {
    /// Pairs of `arm` with `base`; `blocks` are in chronological order.
    pub(crate) fn of(blocks: &[&BlockData], windows: &[WindowData], arm: usize, base: usize) -> Pairs {
        let pair = |block: &&BlockData| {
            let ln = block.ln[arm].zip(block.ln[base]).map(|(arm, base)| arm - base);
            let number = block.block;
            let (votes, seconds) = votes(windows, number, arm, base);
            let variance_within = block.variance_within(arm, base);
            let (base, arm) = (block.values[base]?, block.values[arm]?);
            Some(Pair { block: number, base, arm, ln, variance_within, windows: votes, seconds })
        };
        Pairs(blocks.iter().filter_map(pair).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The first `count` blocks; `None` if there are fewer.
    pub(crate) fn first(&self, count: usize) -> Option<&[Pair]> {
        self.0.get(..count)
    }

    /// The votes of each block's windows.
    pub(crate) fn votes(&self) -> Vec<Votes> {
        self.0.iter().map(|pair| pair.windows).collect()
    }

    /// Time that both arms were measured, at least.
    pub(crate) fn seconds(&self) -> f64 {
        self.0.iter().map(|pair| pair.seconds).sum()
    }

    /// Mean variance of the first `count` blocks within themselves, if known of all.
    pub(crate) fn variance_within(&self, count: usize) -> Option<f64> {
        let known: Option<Vec<f64>> = self.0.iter().take(count).map(|pair| pair.variance_within).collect();
        known.filter(|known| !known.is_empty()).map(|known| mean(&known)).filter(|within| *within > 0.0)
    }

    /// The scale of the first `count` blocks.
    pub(crate) fn scale(&self, count: usize) -> Scale {
        if self.0.iter().take(count).all(|pair| pair.ln.is_some()) { Scale::Log } else { Scale::Linear }
    }

    /// Mean of the logarithm of the ratio over the first `count` blocks; infinite if a block has a 0.
    pub(crate) fn mean_ln_ratio(&self, count: usize) -> f64 {
        let known = self.0.iter().take(count);
        mean(&known.map(|pair| pair.ratio().ln()).collect::<Vec<f64>>())
    }

    /// Contrasts of the first `count` blocks. None if base is 0 throughout, so that there is no ratio.
    pub(crate) fn contrasts(&self, scale: Scale, count: usize) -> Option<Vec<f64>> {
        let pairs = &self.0[..count.min(self.len())];
        match scale {
            Scale::Log => pairs.iter().map(|pair| pair.ln).collect(),
            Scale::Linear => {
                let base_mean = base_mean(pairs);
                let share = |pair: &Pair| (pair.arm - pair.base) / base_mean;
                (base_mean > 0.0).then(|| pairs.iter().map(share).collect())
            }
        }
    }
}

/// The votes of a block's windows, and the shorter of the times that both arms were measured.
fn votes(windows: &[WindowData], block: u32, arm: usize, base: usize) -> (Votes, f64) {
    let (mut votes, mut arm_s, mut base_s) = (Votes::default(), 0.0, 0.0);
    for window in windows.iter().filter(|window| window.block == block) {
        if let (Some(arm), Some(base)) = (window.arms[arm], window.arms[base]) {
            votes.up += usize::from(arm.value > base.value);
            votes.down += usize::from(arm.value < base.value);
            arm_s += arm.seconds;
            base_s += base.seconds;
        }
    }
    (votes, arm_s.min(base_s))
}

/// Mean of base's values.
pub(crate) fn base_mean(pairs: &[Pair]) -> f64 {
    mean(&pairs.iter().map(|pair| pair.base).collect::<Vec<f64>>())
}

#[cfg(test)]
impl Pairs {
    /// Pairs without windows, from the values of base and arm.
    pub(crate) fn made(rows: &[(f64, f64)]) -> Self {
        let pair = |(number, (base, arm)): (usize, &(f64, f64))| Pair {
            block: number as u32,
            base: *base,
            arm: *arm,
            ln: Some((arm / base).ln()),
            variance_within: None,
            windows: Votes::default(),
            seconds: 0.0,
        };
        Pairs(rows.iter().enumerate().map(pair).collect())
    }
}
