//! Builds the experiment to judge from windows and counts.
//!
//! Only valid windows of done blocks are used. Every measured step other than a warm-up is a test of its own:
//! `point-query.pre` ran on other data than `point-query`.
//!
//! | metric | of a window |
//! | --- | --- |
//! | rate | operations per second; if arms took turns, see `turns.rs` |
//! | instructions | `server_instructions_user` / operations; without hardware counters, those of the block's count, if a window is valid |
//! | cpu_us | `server_cpu_us` / operations; if arms took turns, see `turns.rs` |
//! | wal_bytes | `server_wal_bytes` / operations |
//! | rows, blocks | `server_rows_touched`, `server_blocks_touched` / operations |
//! | fsyncs | `server_fsyncs` / operations |
//! | stall_factor | time / time without stalls, see `stalls.rs` |

use std::collections::{BTreeMap, BTreeSet};

use rqps_model::{self as model, EndedBy};
use rqps_stats::{BlockData, Experiment, Metric, MetricData, TestData};
use rqps_store::{BlockStatus, RATE_WAS_SET, Recorded, Role, Run, Window};

use crate::beside::Apart;
use crate::error::Result;
use crate::pairing::{Figures, block_data};
use crate::stalls;
use crate::turns::Turns;
use rqps_model::sample::mean;

/// Metric that is above 0 if hardware counters shared a register, so that their values are too small.
const MULTIPLEXED: &str = "server_perf_multiplexed";

/// What counted the instructions that verdicts use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstructionSource {
    /// The processor, in every window.
    Processor,
    /// An instrumenting program, apart from the windows: its name and version.
    Counted(String),
    /// Nothing: CPU time decides on cost.
    None,
}

/// What counted this run's instructions. The processor takes precedence over a program.
pub fn instruction_source(run: &Run) -> InstructionSource {
    let done = done_blocks(run);
    let of_done = |block: Option<u32>| block.is_some_and(|block| done.contains(&block));
    let by_processor = run.windows.iter().any(|window| {
        of_done(window.placement.map(|at| at.block)) && figure(window, Metric::Instructions).is_some()
    });
    if by_processor {
        return InstructionSource::Processor;
    }
    let counted =
        run.counts.iter().find(|count| of_done(count.placement.map(|at| at.block)) && count.valid());
    counted
        .map_or(InstructionSource::None, |count| InstructionSource::Counted(count.result.counted_by.clone()))
}

/// The figures that the run measured in blocks. Arms are numbered as in [`Run::arms`]; if none is base, the
/// first is.
///
/// # Errors
/// If latencies or slices cannot be read.
pub fn experiment(run: &Run) -> Result<Experiment> {
    let (source, turns, apart) = (instruction_source(run), Turns::of(run)?, Apart::of(run, base_of(run)));
    // Once: it looks at all windows.
    let done = done_blocks(run);
    let mut tests = Vec::new();
    for (name, group) in steps(run) {
        tests.push(test_data((run, &done), (&source, &turns, &apart), (name, group))?);
    }
    tests.retain(|test| !test.metrics.is_empty());
    Ok(Experiment {
        arms: run.arms.len(),
        base: base_of(run),
        control: run.arms.iter().position(|arm| arm.control && arm.role != Role::Base),
        tests,
    })
}

pub(crate) fn base_of(run: &Run) -> usize {
    run.arms.iter().position(|arm| arm.role == Role::Base).unwrap_or(0)
}

/// The index of an arm in [`Run::arms`].
pub(crate) fn arm_index(run: &Run, name: &str) -> Option<usize> {
    run.arms.iter().position(|arm| arm.name == name)
}

/// Blocks that give verdicts: measured to the end, with results of base and of another arm.
pub(crate) fn done_blocks(run: &Run) -> Vec<u32> {
    let measured = Measured::of(run);
    let done = run.blocks.iter().filter(|block| block.status == BlockStatus::Done);
    done.map(|block| block.number).filter(|block| measured.is_done(*block)).collect()
}

/// Number of done blocks of each test.
pub fn blocks_by_test(run: &Run) -> BTreeMap<String, usize> {
    let mut blocks = BTreeMap::new();
    for block in run.blocks.iter().filter(|block| block.status == BlockStatus::Done) {
        for test in block.tests.iter().collect::<BTreeSet<_>>() {
            *blocks.entry(test.clone()).or_default() += 1;
        }
    }
    blocks
}

/// Which arms have results in which blocks. An arm that was given up has none in blocks that ended without it.
pub struct Measured<'a> {
    run: &'a Run,
    /// Blocks and names of arms.
    all: BTreeSet<(u32, &'a str)>,
}

impl<'a> Measured<'a> {
    pub fn of(run: &'a Run) -> Self {
        let windows = run.windows.iter().filter(|window| window.valid() && is_result(window));
        let all = windows.filter_map(|window| Some((window.placement?.block, window.action.arm.as_str())));
        Self { run, all: all.collect() }
    }

    /// Whether base has a result in a block, and another arm if there is one.
    pub fn is_done(&self, block: u32) -> bool {
        let has = |arm: &rqps_store::Arm| self.all.contains(&(block, arm.name.as_str()));
        let base = base_of(self.run);
        let mut others = self.run.arms.iter().enumerate().filter(|(index, _)| *index != base).peekable();
        self.run.meta.is_imported()
            || self.run.arms.get(base).is_some_and(has)
                && (others.peek().is_none() || others.any(|(_, arm)| has(arm)))
    }

    /// Names of the arms without a result in a block.
    pub fn without(&self, block: u32) -> Vec<&'a str> {
        let names = self.run.arms.iter().map(|arm| arm.name.as_str());
        names.filter(|name| !self.all.contains(&(block, name))).collect()
    }
}

/// Whether a window's figures are results.
pub(crate) fn is_result(window: &Recorded<Window>) -> bool {
    window.result.role != model::Role::Warm
}

/// Measured steps with their groups, by name.
fn steps(run: &Run) -> Vec<(&str, &str)> {
    let mut steps: Vec<(&str, &str)> = Vec::new();
    for window in run.windows.iter().filter(|window| is_result(window)) {
        let step = (window.action.step.as_str(), window.result.group.as_str());
        if !steps.contains(&step) {
            steps.push(step);
        }
    }
    steps.sort_unstable();
    steps
}

fn test_data(
    (run, done): (&Run, &[u32]),
    (source, turns, apart): (&InstructionSource, &Turns, &Apart),
    (name, group): (&str, &str),
) -> Result<TestData> {
    let of_metric = |metric: Metric| {
        let blocks: Vec<BlockData> = match (metric, source) {
            (Metric::Instructions, InstructionSource::Counted(_)) => counted((run, done), name),
            _ => measured((run, done), (turns, apart), name, metric),
        };
        of_operations(metric, blocks).map(|blocks| MetricData { metric, blocks, windows: Vec::new() })
    };
    let mut metrics: Vec<MetricData> = Metric::ALL.into_iter().filter_map(of_metric).collect();
    metrics.extend(stalls::metric_data((run, done), apart, name)?);
    let starts = starts_of(run, name).to_owned();
    Ok(TestData { name: name.to_owned(), group: group.to_owned(), starts, metrics })
}

/// Identifies the server starts that a test shares with others. In a block, reading tests share one restart
/// and each writing test has its own; a sequence starts its servers once per pass.
pub(crate) fn starts_of<'a>(run: &Run, name: &'a str) -> &'a str {
    let writes = || run.step(name).is_some_and(|step| step.writes);
    if run.meta.protocol == "isolated" && writes() { name } else { "" }
}

fn measured(
    (run, done): (&Run, &[u32]),
    (turns, apart): (&Turns, &Apart),
    step: &str,
    metric: Metric,
) -> Vec<BlockData> {
    let goes_by_host = matches!(metric, Metric::Rate | Metric::CpuUs);
    let windows = run.windows.iter().filter(|window| window.action.step == step);
    let windows = windows.filter(|window| !(goes_by_host && apart.contains(window)));
    let figures = windows.clone().filter_map(|window| {
        let at = window.placement?;
        Some((at.block, window.action.arm.as_str(), at.window, figure_of(window, turns, metric)?))
    });
    let mut blocks = blocks_of(run, done, figures);
    let errors = windows.filter_map(|window| {
        Some((window.placement?.block, window.action.arm.as_str(), turns.error(window, metric)?))
    });
    let mut errors = errors_within(run, errors);
    for block in &mut blocks {
        block.errors = errors.remove(&block.block).unwrap_or_default();
    }
    blocks
}

/// Standard errors of the means over a block's windows, per arm, from those of windows (block, arm, error).
fn errors_within<'a>(
    run: &Run,
    errors: impl Iterator<Item = (u32, &'a str, f64)>,
) -> BTreeMap<u32, Vec<Option<f64>>> {
    let mut of_arms: BTreeMap<u32, Vec<Vec<f64>>> = BTreeMap::new();
    for (block, arm, error) in errors {
        if let Some(arm) = arm_index(run, arm) {
            of_arms.entry(block).or_insert_with(|| vec![Vec::new(); run.arms.len()])[arm].push(error);
        }
    }
    let of_mean = |errors: &Vec<f64>| {
        let squares: f64 = errors.iter().map(|error| error * error).sum();
        (!errors.is_empty()).then(|| squares.sqrt() / errors.len() as f64)
    };
    of_arms.iter().map(|(block, arms)| (*block, arms.iter().map(of_mean).collect())).collect()
}

/// Instructions per operation that a program counted, one figure for a whole block.
fn counted((run, done): (&Run, &[u32]), step: &str) -> Vec<BlockData> {
    // What an arm answered wrongly costs nothing that compares.
    let windows = run.windows.iter().filter(|window| window.action.step == step && is_usable(window));
    let answered: BTreeSet<(u32, &str)> =
        windows.filter_map(|window| Some((window.placement?.block, window.action.arm.as_str()))).collect();
    let counts = run.counts.iter().filter(|count| count.valid() && count.action.step == step);
    let figures = counts.filter_map(|count| {
        let (at, per_op) = (count.placement?, count.result.instructions_per_op()?);
        answered.contains(&(at.block, &*count.action.arm)).then_some((
            at.block,
            count.action.arm.as_str(),
            at.window,
            per_op,
        ))
    });
    blocks_of(run, done, figures)
}

/// Groups figures (block, arm, window, value) into done blocks.
pub(crate) fn blocks_of<'a>(
    run: &Run,
    done: &[u32],
    figures: impl Iterator<Item = (u32, &'a str, u32, f64)>,
) -> Vec<BlockData> {
    let mut blocks: BTreeMap<u32, Vec<Figures>> =
        done.iter().map(|block| (*block, vec![Figures::new(); run.arms.len()])).collect();
    for (block, arm, window, value) in figures.filter(|(.., value)| value.is_finite() && *value >= 0.0) {
        if let (Some(arms), Some(arm)) = (blocks.get_mut(&block), arm_index(run, arm)) {
            arms[arm].insert(window, value);
        }
    }
    blocks.iter().filter_map(|(block, arms)| block_data(*block, arms)).collect()
}

/// Whether a window is valid and did not end by an error.
pub(crate) fn is_usable(window: &Recorded<Window>) -> bool {
    window.valid() && window.result.ended_by != EndedBy::Error
}

/// A window's figure, from its turns if arms took turns.
pub(crate) fn figure_of(window: &Recorded<Window>, turns: &Turns, metric: Metric) -> Option<f64> {
    let plain = figure(window, metric)?;
    turns.figure(window, metric).unwrap_or(Some(plain))
}

/// A window's figure from its totals; `None` if it was not measured or must not be used.
pub(crate) fn figure(window: &Recorded<Window>, metric: Metric) -> Option<f64> {
    if !is_usable(window) {
        return None;
    }
    if metric == Metric::Rate {
        let was_set = window.metric(RATE_WAS_SET).is_some_and(|set| set > 0.0);
        return window.result.rate().filter(|rate| *rate > 0.0 && !was_set);
    }
    let is_multiplexed = || window.metric(MULTIPLEXED).is_some_and(|shared| shared > 0.0);
    if metric == Metric::Instructions && is_multiplexed() {
        return None;
    }
    let operations = window.result.operations;
    (operations > 0.0).then_some(window.metric(metric.measure().total?)? / operations)
}

/// The blocks, or `None` if no arm's mean reaches the metric's minimum per operation. Less than that is the
/// server's housekeeping, which goes by the clock and not by operations.
fn of_operations(metric: Metric, blocks: Vec<BlockData>) -> Option<Vec<BlockData>> {
    let arms = blocks.first().map_or(0, |block| block.values.len());
    let is_any = (0..arms).any(|arm| {
        let values: Vec<f64> = blocks.iter().filter_map(|block| block.values[arm]).collect();
        !values.is_empty() && mean(&values) >= metric.measure().per_op_min
    });
    is_any.then_some(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_below_their_minimum_per_operation_are_left_out() {
        let block = |block: u32, values: [f64; 3]| BlockData {
            block,
            values: values.map(Some).to_vec(),
            ln: values.map(|value| (value > 0.0).then(|| value.ln())).to_vec(),
            errors: Vec::new(),
        };
        let blocks = || vec![block(1, [0.0, 0.002, 0.03]), block(2, [0.001, 0.0, 0.02])];
        assert_eq!(of_operations(Metric::Fsyncs, blocks()).unwrap(), blocks(), "figures are unchanged");
        assert_eq!(of_operations(Metric::Blocks, blocks()), None, "no arm has a block in ten operations");
        assert_eq!(of_operations(Metric::Rate, blocks()).unwrap(), blocks());
    }
}
