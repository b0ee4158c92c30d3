//! How far counted instructions and the windows' CPU time agree, test by test and arm by arm.
//!
//! A program counts the user instructions of one session apart from the windows: no kernel, no background process, and
//! a state of the server that only resembles theirs. Where an arm's counts say one thing and the CPU time of its
//! windows quite another, the one does not stand for the other, and nothing is concluded from counts.

use std::collections::BTreeMap;

use rqps_stats::{BlockData, Experiment, Metric, TestData};
use rqps_store::Run;

use crate::data::{done_blocks, is_usable};

/// Counts and windows part where their ratios to base are further apart than this factor, noise of CPU time set aside.
/// A processor that does other instructions, or does them faster, moves CPU time by less; so does what the kernel adds.
const PARTED_FACTOR: f64 = 1.25;
/// Standard errors of the CPU time's ratio that are set aside as noise.
const NOISE: f64 = 3.0;

/// One arm's counts of a test beside the CPU time of its windows.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    pub test: String,
    /// The arm, by its number in [`Run::arms`].
    pub arm: usize,
    /// Counted instructions of an operation, over base's.
    pub instructions: f64,
    /// CPU time of an operation in the windows of the same blocks, over base's.
    pub cpu_us: f64,
    /// Standard error of the logarithm of `cpu_us`; infinite from one block.
    pub cpu_error: f64,
    /// Of the CPU time of the arm's windows, the share in user mode: instructions are counted of no other.
    pub user_share: Option<f64>,
    /// Of the counted writes, the share that had an image of each page with it, as windows' writes have; none where
    /// none was asked for.
    pub dense_share: Option<f64>,
}

impl Agreement {
    /// By what factor the one ratio is above the other, at least 1.
    pub fn factor(&self) -> f64 {
        self.apart().exp()
    }

    fn apart(&self) -> f64 {
        (self.instructions.ln() - self.cpu_us.ln()).abs()
    }

    /// Whether counts are too far from the windows to stand for them: so far apart, and not more expensive or
    /// cheaper alike beyond the noise of CPU time.
    pub fn is_parted(&self) -> bool {
        let noise = NOISE * self.cpu_error;
        let (instructions, cpu) = (self.instructions.ln(), self.cpu_us.ln());
        let is_alike = instructions * cpu > 0.0 && cpu.abs() > noise;
        self.apart() - noise > PARTED_FACTOR.ln() && !is_alike
    }
}

/// For every test and arm that both were measured of; base has none. In `experiment`, the instructions of a run are
/// those that a program counted.
pub(crate) fn agreements(run: &Run, experiment: &Experiment) -> Vec<Agreement> {
    let (user, dense) = (user_shares(run), dense_shares(run));
    let mut all = Vec::new();
    for test in &experiment.tests {
        for arm in (0..experiment.arms).filter(|arm| *arm != experiment.base) {
            let Some(ratios) = ratios(test, experiment.base, arm) else { continue };
            let key = (test.name.clone(), run.arms[arm].name.clone());
            all.push(Agreement {
                arm,
                instructions: ratios.instructions,
                cpu_us: ratios.cpu_us,
                cpu_error: ratios.cpu_error,
                user_share: user.get(&key).copied(),
                dense_share: dense.get(&key).copied(),
                test: key.0,
            });
        }
    }
    all
}

struct Ratios {
    instructions: f64,
    cpu_us: f64,
    cpu_error: f64,
}

fn ratios(test: &TestData, base: usize, arm: usize) -> Option<Ratios> {
    let contrasts = |metric: Metric| -> Option<BTreeMap<u32, f64>> {
        let data = test.metrics.iter().find(|data| data.metric == metric)?;
        let contrast = |block: &BlockData| Some((block.block, block.ln[arm]? - block.ln[base]?));
        Some(data.blocks.iter().filter_map(contrast).collect())
    };
    let (instructions, cpu) = (contrasts(Metric::Instructions)?, contrasts(Metric::CpuUs)?);
    let common: Vec<(f64, f64)> =
        instructions.iter().filter_map(|(block, one)| Some((*one, *cpu.get(block)?))).collect();
    let blocks = common.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| common.iter().map(of).sum::<f64>() / blocks;
    let cpu = mean(|both| both.1);
    let squares: f64 = common.iter().map(|both| (both.1 - cpu).powi(2)).sum();
    (!common.is_empty()).then(|| Ratios {
        instructions: mean(|both| both.0).exp(),
        cpu_us: cpu.exp(),
        cpu_error: if common.len() > 1 { (squares / (blocks - 1.0) / blocks).sqrt() } else { f64::INFINITY },
    })
}

type ByTestAndArm = BTreeMap<(String, String), f64>;

fn user_shares(run: &Run) -> ByTestAndArm {
    let done = done_blocks(run);
    let mut sums: BTreeMap<(String, String), (f64, f64)> = BTreeMap::new();
    let counts = |block: u32| done.contains(&block);
    for window in run.windows.iter().filter(|window| is_usable(window)) {
        if let (true, Some(user), Some(all)) = (
            window.placement.is_some_and(|at| counts(at.block)),
            window.metric("server_user_us"),
            window.metric("server_cpu_us"),
        ) {
            let key = (window.action.step.clone(), window.action.arm.clone());
            let sum = sums.entry(key).or_default();
            *sum = (sum.0 + user, sum.1 + all);
        }
    }
    sums.into_iter().filter(|(_, (_, all))| *all > 0.0).map(|(key, (user, all))| (key, user / all)).collect()
}

fn dense_shares(run: &Run) -> ByTestAndArm {
    let done = done_blocks(run);
    let mut shares: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    for count in run.counts.iter().filter(|count| count.valid()) {
        if let (Some(share), true) =
            (count.metric("count_dense_share"), count.placement.is_some_and(|at| done.contains(&at.block)))
        {
            shares.entry((count.action.step.clone(), count.action.arm.clone())).or_default().push(share);
        }
    }
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    shares.into_iter().map(|(key, values)| (key, mean(values))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreement(instructions: f64, cpu_us: f64, cpu_error: f64) -> Agreement {
        Agreement {
            test: "update-index".to_owned(),
            arm: 2,
            instructions,
            cpu_us,
            cpu_error,
            user_share: None,
            dense_share: None,
        }
    }

    #[test]
    fn counts_part_from_windows_beyond_noise_alone() {
        assert!(agreement(12.9, 0.97, 0.02).is_parted());
        assert!(agreement(0.97, 12.9, 0.1).is_parted());
        assert!(agreement(2.0, 1.05, 0.1).is_parted(), "dearer by no more than noise");
        assert!(!agreement(44.0, 5.6, 0.1).is_parted(), "dearer both, whatever the size");
        assert!(!agreement(1.30, 1.10, 0.02).is_parted(), "instructions that take less time each");
        assert!(!agreement(1.0, 1.6, 0.2).is_parted(), "CPU time that varies so much says nothing");
        assert!(!agreement(44.0, 5.6, f64::INFINITY).is_parted(), "one block says nothing");
        assert!((agreement(2.0, 1.0, 0.0).factor() - 2.0).abs() < 1e-12);
        assert!((agreement(1.0, 2.0, 0.0).factor() - 2.0).abs() < 1e-12);
    }
}
