//! Components of a comparison's noise: loads, server starts, windows.
//!
//! Base and control are the same variant, so the logarithm of their ratio in a pair of windows is noise
//! alone. Windows are nested in blocks, each with its own server starts, and blocks in the control's loads.
//! The variance of each level follows from the mean squares of a nested analysis of variance (Searle,
//! Casella, McCulloch, Variance Components, 1992, 3.6). If no load was used twice, starts and loads are one
//! level.

use std::collections::BTreeMap;

use rqps_stats::Metric;
use rqps_store::Run;

use crate::data::{base_of, done_blocks, figure_of, is_result};
use crate::error::Result;
use crate::turns::Turns;
use rqps_model::sample::{mean, median, squares};

/// Standard deviations of the logarithm of the ratio of two windows by source, each the median over tests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Number of tests.
    pub tests: usize,
    /// From load to load; `None` if no two blocks used the same load.
    pub load: Option<f64>,
    /// From start to start; includes loads if `load` is `None`.
    pub start: f64,
    /// From window to window of the same servers.
    pub window: f64,
    /// Standard error of a window from its rounds, if arms took turns; for rates only.
    pub rounds: Option<f64>,
}

/// A load of the control, and the contrasts of the windows of one block that started from it.
type Contrasts = (u32, Vec<f64>);

/// The noise of a metric between base and control. `None` without a control or with fewer than two blocks of
/// two windows.
///
/// # Errors
/// If the turns of windows cannot be read.
pub fn noise(run: &Run, metric: Metric) -> Result<Option<Noise>> {
    let turns = Turns::of(run)?;
    Ok(noise_of(run, &turns, metric))
}

fn noise_of(run: &Run, turns: &Turns, metric: Metric) -> Option<Noise> {
    let control = run.arms.iter().position(|arm| arm.control)?;
    let loads: BTreeMap<u32, u32> = run
        .blocks
        .iter()
        .filter_map(|block| {
            let block_arm = block.arms.iter().find(|arm| arm.arm == run.arms[control].name)?;
            Some((block.number, block_arm.data_seq?))
        })
        .collect();
    let tests = contrasts(run, turns, (base_of(run), control), metric);
    let of_test = |blocks: &BTreeMap<u32, Vec<f64>>| {
        let labelled = blocks
            .iter()
            .map(|(block, values)| (loads.get(block).copied().unwrap_or(*block), values.clone()));
        components(&labelled.collect::<Vec<Contrasts>>())
    };
    let found: Vec<[Option<f64>; 3]> = tests.values().filter_map(of_test).collect();
    let level = |at: usize| median(&found.iter().filter_map(|one| one[at]).collect::<Vec<f64>>());
    let of_control = run.windows.iter().filter(|window| window.action.arm == run.arms[control].name);
    let rounds: Vec<f64> = of_control.filter_map(|window| turns.error(window, Metric::Rate)).collect();
    Some(Noise {
        tests: found.len(),
        load: level(0),
        start: level(1)?,
        window: level(2)?,
        rounds: median(&rounds).filter(|_| metric == Metric::Rate),
    })
}

/// Logarithms of control over base, for windows that both have, by test and block.
fn contrasts<'a>(
    run: &'a Run,
    turns: &Turns,
    (base, control): (usize, usize),
    metric: Metric,
) -> BTreeMap<&'a str, BTreeMap<u32, Vec<f64>>> {
    let done = done_blocks(run);
    let mut pairs: BTreeMap<(&str, u32, u32), [Option<f64>; 2]> = BTreeMap::new();
    for window in run.windows.iter().filter(|window| is_result(window)) {
        let side = [base, control].iter().position(|arm| run.arms[*arm].name == window.action.arm);
        if let (Some(side), Some(at), Some(value)) =
            (side, window.placement, figure_of(window, turns, metric))
            && done.contains(&at.block)
            && value > 0.0
        {
            pairs.entry((&window.action.step, at.block, at.window)).or_default()[side] = Some(value.ln());
        }
    }
    let mut tests: BTreeMap<&str, BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
    for ((test, block, _), pair) in pairs {
        if let [Some(base), Some(control)] = pair {
            tests.entry(test).or_default().entry(block).or_default().push(control - base);
        }
    }
    tests
}

/// Standard deviations of loads, starts and windows, from one test's blocks.
fn components(blocks: &[Contrasts]) -> Option<[Option<f64>; 3]> {
    let windows: usize = blocks.iter().map(|(_, values)| values.len()).sum();
    let (count, per_block) = (blocks.len(), windows as f64 / blocks.len().max(1) as f64);
    if count < 2 || windows <= count {
        return None;
    }
    let within: f64 = blocks.iter().map(|(_, values)| squares(values)).sum();
    let window = within / (windows - count) as f64;
    let mut by_load: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (load, values) in blocks {
        by_load.entry(*load).or_default().push(mean(values));
    }
    let loads = by_load.len();
    let sd = |variance: f64| Some(variance.max(0.0).sqrt());
    if loads == count || loads < 2 {
        let means: Vec<f64> = blocks.iter().map(|(_, values)| mean(values)).collect();
        let start = squares(&means) / (count - 1) as f64 - window / per_block;
        return Some([None, sd(start), sd(window)]);
    }
    // Mean squares of block means.
    let of_starts = by_load.values().map(|means| squares(means)).sum::<f64>() / (count - loads) as f64;
    let overall = mean(&by_load.values().flatten().copied().collect::<Vec<f64>>());
    let of_loads =
        by_load.values().map(|means| means.len() as f64 * (mean(means) - overall).powi(2)).sum::<f64>()
            / (loads - 1) as f64;
    let squared: f64 = by_load.values().map(|means| (means.len() as f64).powi(2)).sum();
    let blocks_per_load = (count as f64 - squared / count as f64) / (loads - 1) as f64;
    let start = of_starts - window / per_block;
    Some([sd((of_loads - of_starts) / blocks_per_load), sd(start), sd(window)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use rqps_stats::sim::Rng;

    /// Simulated blocks that use three loads in turn.
    fn simulated(rng: &mut Rng, blocks: u32, [load, start, window]: [f64; 3]) -> Vec<Contrasts> {
        let loads = rng.normals(3);
        let block = |number: u32| {
            let which = number % 3;
            let of_block = load * loads[which as usize] + start * rng.normal();
            (which, (0..4).map(|_| of_block + window * rng.normal()).collect())
        };
        (0..blocks).map(block).collect()
    }

    /// The median over many simulated experiments of each level's standard deviation.
    fn estimated(blocks: u32, truth: [f64; 3]) -> [f64; 3] {
        let mut rng = Rng::new(7);
        let found: Vec<[Option<f64>; 3]> =
            (0..400).map(|_| components(&simulated(&mut rng, blocks, truth)).unwrap()).collect();
        [0, 1, 2]
            .map(|at| median(&found.iter().filter_map(|one| one[at]).collect::<Vec<f64>>()).unwrap_or(0.0))
    }

    #[test]
    fn each_level_s_deviation_is_estimated() {
        let [load, start, window] = estimated(18, [0.03, 0.01, 0.02]);
        assert!((0.015..0.04).contains(&load) && (0.008..0.012).contains(&start), "{load} {start}");
        assert!((0.018..0.022).contains(&window), "{window}");
        let [load, start, _] = estimated(18, [0.0, 0.02, 0.01]);
        assert!(load < 0.01 && (0.017..0.023).contains(&start), "{load} {start}");
    }

    #[test]
    fn loads_and_starts_are_one_level_if_no_load_is_used_twice() {
        let mut rng = Rng::new(1);
        let three = simulated(&mut rng, 3, [0.05, 0.01, 0.001]);
        let [load, start, _] = components(&three).unwrap();
        assert!(load.is_none() && start.is_some_and(|sd| sd > 0.005), "{start:?}");
        assert_eq!(components(&three[..1]), None, "one block says nothing");
    }
}
