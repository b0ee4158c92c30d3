//! How far counted instructions and the windows' CPU time agree, by test and arm.
//!
//! An instrumenting program counts the user instructions of one session apart from the windows: without the
//! kernel, without background processes, and in a state of the server that only resembles theirs. If an arm's
//! counts and the CPU time of its windows differ too much, the counts don't represent the windows and are not
//! used.

use std::collections::BTreeMap;

use rqps_stats::{BlockData, Experiment, Metric, TestData};
use rqps_store::Run;

use crate::data::{done_blocks, is_usable};
use crate::estimates::variance;
use rqps_model::sample::mean;

/// Counts and windows disagree if their ratios to base differ by more than this factor, beyond the noise of
/// CPU time. Different instructions, faster execution, and time in the kernel change CPU time by less.
const PARTED_FACTOR: f64 = 1.25;
/// Standard errors of the CPU time's ratio that count as noise.
const NOISE: f64 = 3.0;

/// CPU time that is noisier, or of a single block, is not taken to err by more than this factor.
const NOISE_FACTOR_MAX: f64 = 3.0;

/// One arm's counts of a test, compared with the CPU time of its windows.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    pub test: String,
    /// Index in [`Run::arms`].
    pub arm: usize,
    /// Counted instructions per operation, over base's.
    pub instructions: f64,
    /// CPU time per operation in the windows of the same blocks, over base's.
    pub cpu_us: f64,
    /// Standard error of the logarithm of `cpu_us`; infinite with a single block.
    pub cpu_error: f64,
    /// Share of user mode in the CPU time of the arm's windows; only user instructions are counted.
    pub user_share: Option<f64>,
    /// Share of counted writes with page images in the mixture that represents the windows; `None` if none
    /// were counted with images.
    pub dense_share: Option<f64>,
}

impl Agreement {
    /// The factor between the two ratios, at least 1.
    pub fn factor(&self) -> f64 {
        self.distance().exp()
    }

    fn distance(&self) -> f64 {
        (self.instructions.ln() - self.cpu_us.ln()).abs()
    }

    /// Whether counts and windows disagree: their ratios are too far apart, and CPU time does not change in
    /// the same direction beyond its noise.
    pub fn is_parted(&self) -> bool {
        let noise = (NOISE * self.cpu_error).min(NOISE_FACTOR_MAX.ln());
        let (instructions, cpu) = (self.instructions.ln(), self.cpu_us.ln());
        let is_same_direction = instructions * cpu > 0.0 && cpu.abs() > noise;
        self.distance() - noise > PARTED_FACTOR.ln() && !is_same_direction
    }
}

/// The agreements of every test and arm but base for which both were measured. The instructions in
/// `experiment` must be counted by a program.
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
    let common = instructions.iter().filter_map(|(block, one)| Some((*one, *cpu.get(block)?)));
    let (instructions, cpu): (Vec<f64>, Vec<f64>) = common.unzip();
    (!cpu.is_empty()).then(|| Ratios {
        instructions: mean(&instructions).exp(),
        cpu_us: mean(&cpu).exp(),
        cpu_error: variance(&cpu).map_or(f64::INFINITY, |variance| (variance / cpu.len() as f64).sqrt()),
    })
}

type ByTestAndArm = BTreeMap<(String, String), f64>;

/// CPU time of which the share in user mode is known: the kernel accounts for it in ticks of 10 ms.
const USER_SHARE_CPU_US_MIN: f64 = 1e6;

fn user_shares(run: &Run) -> ByTestAndArm {
    let done = done_blocks(run);
    let mut sums: BTreeMap<(String, String), (f64, f64)> = BTreeMap::new();
    for window in run.windows.iter().filter(|window| is_usable(window)) {
        if let (true, Some(user), Some(all)) = (
            window.placement.is_some_and(|at| done.contains(&at.block)),
            window.metric("server_user_us"),
            window.metric("server_cpu_us"),
        ) {
            let key = (window.action.step.clone(), window.action.arm.clone());
            let sum = sums.entry(key).or_default();
            *sum = (sum.0 + user, sum.1 + all);
        }
    }
    let is_known = |all: f64| all >= USER_SHARE_CPU_US_MIN;
    sums.into_iter()
        .filter(|(_, (_, all))| is_known(*all))
        .map(|(key, (user, all))| (key, user / all))
        .collect()
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
    shares.into_iter().map(|(key, values)| (key, mean(&values))).collect()
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
    fn counts_and_windows_disagree_only_beyond_noise() {
        assert!(agreement(12.9, 0.97, 0.02).is_parted());
        assert!(agreement(0.97, 12.9, 0.1).is_parted());
        assert!(agreement(2.0, 1.05, 0.1).is_parted(), "CPU time has changed by no more than noise");
        assert!(!agreement(44.0, 5.6, 0.1).is_parted(), "both are more expensive");
        assert!(!agreement(1.30, 1.10, 0.02).is_parted(), "within the factor");
        assert!(!agreement(1.0, 1.6, 0.2).is_parted(), "CPU time is too noisy");
        assert!(!agreement(44.0, 5.6, f64::INFINITY).is_parted(), "a single block");
        assert!(agreement(17.3, 0.97, f64::INFINITY).is_parted(), "no block is that noisy");
        assert!((agreement(2.0, 1.0, 0.0).factor() - 2.0).abs() < 1e-12);
        assert!((agreement(1.0, 2.0, 0.0).factor() - 2.0).abs() < 1e-12);
    }
}
