//! Components of a comparison's noise: loads, server starts, windows.
//!
//! Base and control are the same variant, so the logarithm of their ratio in a pair of windows is noise
//! alone. Windows are nested in server starts, and these in the control's loads. The variance of each level
//! follows from the mean squares of a nested analysis of variance (Searle, Casella, McCulloch, Variance
//! Components, 1992, 3.6). If no load had two starts, starts and loads are one level; if no start had two
//! windows, windows and starts are.

use std::collections::BTreeMap;

use rqps_stats::Metric;
use rqps_store::Run;

use crate::data::{base_of, done_blocks, figure_of, is_result};
use crate::error::Result;
use crate::estimates::{mean, squares};
use crate::turns::Turns;

/// Standard deviations of the logarithm of the ratio of two windows by source, each the median over tests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Number of tests.
    pub tests: usize,
    /// From load to load; `None` if no two starts used the same load.
    pub load: Option<f64>,
    /// From start to start; includes loads if `load` is `None`, and windows if `window` is.
    pub start: f64,
    /// From window to window of the same servers; `None` if no start had two.
    pub window: Option<f64>,
    /// Standard error of a window from its rounds, if arms took turns; for rates only.
    pub rounds: Option<f64>,
}

/// A load of the control, and the contrasts of the windows of one server start from it.
type Contrasts = (u32, Vec<f64>);

/// Block and server start.
type Start = (u32, u32);

/// The noise of a metric between base and control. `None` without a control or with fewer than two starts.
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
    let of_test = |starts: &BTreeMap<Start, Vec<f64>>| {
        let labelled = starts
            .iter()
            .map(|((block, _), values)| (loads.get(block).copied().unwrap_or(*block), values.clone()));
        components(&labelled.collect::<Vec<Contrasts>>())
    };
    let found: Vec<[Option<f64>; 3]> = tests.values().filter_map(of_test).collect();
    let level = |at: usize| median(found.iter().filter_map(|one| one[at]).collect());
    let of_control = run.windows.iter().filter(|window| window.action.arm == run.arms[control].name);
    let rounds = of_control.filter_map(|window| turns.rate_error(window)).collect();
    Some(Noise {
        tests: found.len(),
        load: level(0),
        start: level(1)?,
        window: level(2),
        rounds: median(rounds).filter(|_| metric == Metric::Rate),
    })
}

/// Logarithms of control over base, for windows that both have, by test and start.
fn contrasts<'a>(
    run: &'a Run,
    turns: &Turns,
    (base, control): (usize, usize),
    metric: Metric,
) -> BTreeMap<&'a str, BTreeMap<Start, Vec<f64>>> {
    let done = done_blocks(run);
    let mut pairs: BTreeMap<(&str, Start, u32), [Option<f64>; 2]> = BTreeMap::new();
    for window in run.windows.iter().filter(|window| is_result(window)) {
        let side = [base, control].iter().position(|arm| run.arms[*arm].name == window.action.arm);
        if let (Some(side), Some(at), Some(value)) =
            (side, window.placement, figure_of(window, turns, metric))
            && done.contains(&at.block)
            && value > 0.0
        {
            let start = (at.block, at.start);
            pairs.entry((&window.action.step, start, at.window)).or_default()[side] = Some(value.ln());
        }
    }
    let mut tests: BTreeMap<&str, BTreeMap<Start, Vec<f64>>> = BTreeMap::new();
    for ((test, start, _), pair) in pairs {
        if let [Some(base), Some(control)] = pair {
            tests.entry(test).or_default().entry(start).or_default().push(control - base);
        }
    }
    tests
}

/// Standard deviations of loads, starts and windows, from one test's starts.
fn components(starts: &[Contrasts]) -> Option<[Option<f64>; 3]> {
    let windows: usize = starts.iter().map(|(_, values)| values.len()).sum();
    let (count, per_start) = (starts.len(), windows as f64 / starts.len().max(1) as f64);
    if count < 2 {
        return None;
    }
    let within: f64 = starts.iter().map(|(_, values)| squares(values)).sum();
    let window = (windows > count).then(|| within / (windows - count) as f64);
    // What windows add to the variance of a start's mean.
    let of_windows = window.unwrap_or(0.0) / per_start;
    let mut by_load: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (load, values) in starts {
        by_load.entry(*load).or_default().push(mean(values));
    }
    let loads = by_load.len();
    let sd = |variance: f64| Some(variance.max(0.0).sqrt());
    let window = window.and_then(sd);
    if loads == count || loads < 2 {
        let means: Vec<f64> = by_load.into_values().flatten().collect();
        return Some([None, sd(squares(&means) / (count - 1) as f64 - of_windows), window]);
    }
    // Mean squares of start means.
    let of_starts = by_load.values().map(|means| squares(means)).sum::<f64>() / (count - loads) as f64;
    let overall = mean(&by_load.values().flatten().copied().collect::<Vec<f64>>());
    let of_loads =
        by_load.values().map(|means| means.len() as f64 * (mean(means) - overall).powi(2)).sum::<f64>()
            / (loads - 1) as f64;
    let squared: f64 = by_load.values().map(|means| (means.len() as f64).powi(2)).sum();
    let starts_per_load = (count as f64 - squared / count as f64) / (loads - 1) as f64;
    Some([sd((of_loads - of_starts) / starts_per_load), sd(of_starts - of_windows), window])
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        _ if values.is_empty() => None,
        0 => Some((values[middle - 1] + values[middle]) / 2.0),
        _ => Some(values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rqps_stats::sim::Rng;

    /// Simulated starts that use three loads in turn.
    fn simulated(rng: &mut Rng, starts: u32, [load, start, window]: [f64; 3]) -> Vec<Contrasts> {
        let loads = rng.normals(3);
        let one = |number: u32| {
            let which = number % 3;
            let of_start = load * loads[which as usize] + start * rng.normal();
            (which, (0..4).map(|_| of_start + window * rng.normal()).collect())
        };
        (0..starts).map(one).collect()
    }

    /// The median over many simulated experiments of each level's standard deviation.
    fn estimated(starts: u32, truth: [f64; 3]) -> [f64; 3] {
        let mut rng = Rng::new(7);
        let found: Vec<[Option<f64>; 3]> =
            (0..400).map(|_| components(&simulated(&mut rng, starts, truth)).unwrap()).collect();
        [0, 1, 2].map(|at| median(found.iter().filter_map(|one| one[at]).collect()).unwrap_or(0.0))
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
        assert_eq!(components(&three[..1]), None, "one start says nothing");
    }

    #[test]
    fn starts_of_one_window_are_told_apart_from_loads() {
        let mut rng = Rng::new(3);
        let mut of_one_window = simulated(&mut rng, 300, [0.03, 0.01, 0.0]);
        of_one_window.iter_mut().for_each(|(_, values)| values.truncate(1));
        let [load, start, window] = components(&of_one_window).unwrap();
        assert!(load.is_some() && start.is_some_and(|sd| (0.009..0.011).contains(&sd)), "{load:?} {start:?}");
        assert_eq!(window, None);
    }
}
