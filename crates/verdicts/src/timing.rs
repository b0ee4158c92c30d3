//! Estimates the time of further blocks from measured ones.

use std::collections::{BTreeMap, BTreeSet};

use rqps_model::{LOADS, load_of};
use rqps_store::{BlockStatus, Run, RunFolder};

use crate::data::is_result;
use rqps_model::sample::mean;

/// Mean seconds of a block.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Timing {
    /// Seconds of each test: its windows and counts on all arms.
    pub test_s: BTreeMap<String, f64>,
    /// Seconds that a block takes whatever it measures: restoring data, starting and stopping servers,
    /// canaries.
    pub overhead_s: f64,
}

impl Timing {
    /// Computed from done blocks. A pass of a sequence cannot be reduced to one test, so all of it is
    /// overhead.
    pub fn of(run: &Run) -> Self {
        let done: BTreeMap<u32, f64> = run
            .blocks
            .iter()
            .filter(|block| block.status == BlockStatus::Done)
            .filter_map(|block| Some((block.number, seconds(block.started_at_ms, block.finished_at_ms?))))
            .collect();
        if run.meta.protocol == "sequence" {
            return Self { test_s: BTreeMap::new(), overhead_s: pass_seconds(run).unwrap_or(0.0) };
        }
        let blocks = done.len().max(1) as f64;
        let spent: f64 = done.values().sum();
        let windows = run
            .windows
            .iter()
            .filter(|window| is_result(window))
            .map(|window| (&window.action, window.placement));
        let counts = run.counts.iter().map(|count| (&count.action, count.placement));
        // By test and block, since windows of arms that take turns overlap.
        let mut intervals: BTreeMap<(&str, u32), Vec<(i64, i64)>> = BTreeMap::new();
        for (action, placement) in windows.chain(counts) {
            if let Some(block) = placement.map(|at| at.block).filter(|block| done.contains_key(block)) {
                let interval = (action.started_at_ms, action.finished_at_ms);
                intervals.entry((&action.step, block)).or_default().push(interval);
            }
        }
        let in_tests: f64 = intervals.values().map(|of_block| covered(of_block.clone())).sum();
        let windows = windows_of(run, &done);
        let mut by_test: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for ((test, block), intervals) in intervals {
            // Later blocks may have more windows than the first.
            let of_test =
                || windows.iter().filter(|((other, _), _)| *other == test).map(|(_, windows)| *windows);
            let times = windows.get(&(test, block)).zip(of_test().min());
            let times = times.map_or(1.0, |(own, fewest)| f64::from(*own) / f64::from(fewest));
            by_test.entry(test).or_default().push(covered(intervals) / times);
        }
        Self {
            test_s: by_test.iter().map(|(test, blocks)| ((*test).to_owned(), mean(blocks))).collect(),
            overhead_s: ((spent - in_tests) / blocks).max(0.0),
        }
    }

    /// Seconds of further blocks until each test has as many more as it needs.
    pub fn seconds_for<'a>(&self, needs: impl IntoIterator<Item = (&'a str, usize)>) -> f64 {
        let mut by_test: BTreeMap<&str, usize> = BTreeMap::new();
        for (test, blocks) in needs {
            let max = by_test.entry(test).or_default();
            *max = (*max).max(blocks);
        }
        let own: f64 = by_test
            .iter()
            .map(|(test, blocks)| self.test_s.get(*test).copied().unwrap_or(0.0) * *blocks as f64)
            .sum();
        own + self.overhead_s * by_test.values().copied().max().unwrap_or(0) as f64
    }
}

/// Each arm's windows of a test in a done block.
fn windows_of<'a>(run: &'a Run, done: &BTreeMap<u32, f64>) -> BTreeMap<(&'a str, u32), u32> {
    let mut windows: BTreeMap<(&str, u32), u32> = BTreeMap::new();
    for window in run.windows.iter().filter(|window| is_result(window)) {
        if let Some(at) = window.placement.filter(|at| done.contains_key(&at.block)) {
            let last = windows.entry((&window.action.step, at.block)).or_default();
            *last = (*last).max(at.window);
        }
    }
    windows
}

/// Mean seconds of the done passes of a sequence: of their actions, since hours may lie between an interruption and the
/// resume. `None` before the first.
fn pass_seconds(run: &Run) -> Option<f64> {
    let done = run.blocks.iter().filter(|block| block.status == BlockStatus::Done);
    let ends: Vec<i64> = done.filter_map(|block| block.finished_at_ms).collect();
    let last_ms = *ends.iter().max()?;
    let intervals = run.scheduled().map(|action| (action.started_at_ms, action.finished_at_ms));
    Some(covered(intervals.filter(|(_, until)| *until <= last_ms).collect()) / ends.len() as f64)
}

/// Mean seconds of the done blocks; `None` before the first.
pub fn block_seconds(run: &Run) -> Option<f64> {
    if run.meta.protocol == "sequence" {
        return pass_seconds(run);
    }
    let done = run.blocks.iter().filter(|block| block.status == BlockStatus::Done);
    let lengths: Vec<f64> =
        done.filter_map(|block| Some(seconds(block.started_at_ms, block.finished_at_ms?))).collect();
    (!lengths.is_empty()).then(|| mean(&lengths))
}

/// Seconds of one load of all arms, with the statements that follow it. A run may have made a load several times: each
/// resume repeats those whose data directories are gone.
fn load_seconds(run: &Run) -> f64 {
    let loads = run.loads.iter().map(|load| (&load.action, false));
    let settles = run.settles.iter().map(|settle| (&settle.action, true));
    let mut by_work: BTreeMap<(&str, bool), Vec<f64>> = BTreeMap::new();
    for (action, follows) in loads.chain(settles) {
        let took_s = seconds(action.started_at_ms, action.finished_at_ms);
        by_work.entry((&action.arm, follows)).or_default().push(took_s);
    }
    by_work.values().map(|times| mean(times)).sum()
}

/// Seconds of the loads that so many further blocks need and that are not `made`. A process begins with the first load,
/// on which every arm is started once.
pub fn loads_to_make_s(run: &Run, made: &BTreeSet<u32>, blocks: usize) -> f64 {
    let next = run.blocks.iter().map(|block| block.number).max().unwrap_or(0) + 1;
    let of_blocks = (next..).map(load_of).take(blocks.min(LOADS as usize));
    let needed: BTreeSet<u32> = of_blocks.chain([1]).collect();
    load_seconds(run) * needed.difference(made).count() as f64
}

/// Measuring what the host can do takes this long.
pub const CERTIFICATE_SECONDS: f64 = 5.0;

/// Seconds of a resume that measures so many `blocks`, at most, in `blocks_s`. A run that `has_ended` has no data
/// directories any more; one that was cut off has those that its blocks started from. The one estimate of it:
/// `rqps resume` tells the same.
pub fn seconds_of_resume(run: &Run, (blocks, blocks_s): (usize, f64), has_ended: bool) -> f64 {
    if run.meta.protocol != "isolated" {
        return blocks_s;
    }
    let made = run.blocks.iter().filter(|_| !has_ended).map(|block| load_of(block.number)).collect();
    let certificate_s = if run.certificates.before.is_empty() { 0.0 } else { CERTIFICATE_SECONDS };
    blocks_s + loads_to_make_s(run, &made, blocks) + certificate_s
}

/// Neither blocks nor loads all take as long, and a resume begins with servers to start.
const LONGER_BLOCKS: f64 = 1.2;
const SECONDS_TO_RESUME: f64 = 30.0;

/// The time to give a resume that takes so many [`seconds_of_resume`]: whole minutes, with some room.
pub fn minutes_to_give(seconds: f64) -> u64 {
    ((seconds * LONGER_BLOCKS + SECONDS_TO_RESUME) / 60.0).ceil().max(1.0) as u64
}

/// A duration for planning, rounded up: `6 s`, `70 s`, `25 min`, `3 h 10 min`, `2 days`.
pub fn about(seconds: f64) -> String {
    let minutes = (seconds / 60.0).ceil() as u64;
    match minutes {
        _ if seconds <= 10.0 => format!("{} s", seconds.ceil().max(1.0)),
        _ if seconds <= 110.0 => format!("{} s", (seconds / 10.0).ceil() * 10.0),
        0..=89 => format!("{minutes} min"),
        90..=2879 => format!("{} h {} min", minutes / 60, minutes % 60),
        _ => format!("{} days", minutes.div_ceil(1440)),
    }
}

/// The command of a resume that takes these [`seconds_of_resume`]: `rqps resume RUN --more 25m`.
pub fn resume_command(folder: &RunFolder, seconds: f64) -> String {
    format!("rqps resume {} --more {}m", folder.name(), minutes_to_give(seconds))
}

/// Seconds covered by at least one of the intervals, whose ends are in milliseconds.
pub fn covered(mut intervals: Vec<(i64, i64)>) -> f64 {
    intervals.sort_unstable();
    let (mut covered, mut reached) = (0.0, i64::MIN);
    for (from_ms, to_ms) in intervals {
        covered += seconds(from_ms.max(reached), to_ms);
        reached = reached.max(to_ms);
    }
    covered
}

fn seconds(from_ms: i64, to_ms: i64) -> f64 {
    (to_ms - from_ms).max(0) as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_up() {
        let texts = [3.0, 41.0, 70.0, 1500.0, 11_400.0, 400_000.0].map(about);
        assert_eq!(texts, ["3 s", "50 s", "70 s", "25 min", "3 h 10 min", "5 days"]);
    }

    #[test]
    fn overlapping_intervals_count_once() {
        assert_eq!(covered(vec![(2_000, 3_000), (0, 1_000), (0, 1_000), (500, 1_500)]), 2.5);
        assert_eq!(covered(Vec::new()), 0.0);
    }
}
