//! Remarks that need more than one test's figures, or facts about the host.

use std::collections::BTreeMap;

use rqps_stats::{
    BlockData, Class, Detector, Experiment, Judgement, Metric, MetricData, Rules, TestData, judge, steady,
};
use rqps_store::{Block, BlockStatus, Canary, Recorded, Run, Window};
use serde::{Deserialize, Serialize};

use crate::agreement::Agreement;
use crate::beside::{AfterResume, Apart};
use crate::data::{arm_index, base_of, done_blocks, figure, is_result, starts_of};
use crate::error::{Error, Result};
use crate::pairing::{Figures, block_data};
use crate::state::{UnlikeData, unlike_data};

/// A remark on one test of one arm.
#[derive(Debug, Clone, PartialEq)]
pub enum Remark {
    /// The arm's rate still changes within a block.
    NoSteadyState {
        /// Rate in the last window over that in the first, over all blocks; `None` if it changed within
        /// windows.
        last_over_first: Option<f64>,
    },
    /// The rate changed and instructions did not: waiting, or the placement of code and data in memory.
    LayoutSuspect,
    /// Counted instructions disagree with the windows' CPU time: the cost is judged by CPU time.
    CountsPart {
        /// Instructions over base's.
        instructions: f64,
        /// CPU time of the windows over base's.
        cpu_us: f64,
    },
    /// Stalls and interruptions, which the rate's verdict leaves out, make the arm's rate quite another.
    InTotal {
        /// Operations over the time of all windows, over base's.
        ratio: f64,
    },
    /// The arm's data are not what they should be.
    UnlikeData(UnlikeData),
}

/// A reason to doubt the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum HostRemark {
    /// So many blocks are void that the rest may be a biased selection.
    ManyVoid {
        void: usize,
        /// Those of them that were interrupted with their rqps.
        cut_off: usize,
        done: usize,
    },
    /// A canary differed between done blocks.
    CanaryMoved {
        /// Its name, unit last.
        name: String,
        /// Largest over smallest value.
        ratio: f64,
    },
}

/// Share of void blocks from which there is a remark.
const VOID_SHARE_MIN: f64 = 0.25;
/// Largest accepted ratio of a canary within a run. A disk's canary varies much more than those of CPU and
/// memory.
const CANARY_RATIO_MAX: f64 = 1.10;
const DISK_CANARY_RATIO_MAX: f64 = 3.0;
/// How many times as large as the verdict's the ratio over all time has to be, or it as that, to be told.
const TOTAL_APART: f64 = 1.5;
/// Shortest window whose per-second rates are checked.
const WINDOW_MIN_US: u64 = 20_000_000;

/// Remarks by test and arm.
pub(crate) type Remarks = BTreeMap<(String, usize), Vec<Remark>>;

pub(crate) fn of_tests(
    run: &Run,
    rules: &Rules,
    judgement: &Judgement,
    agreements: &[Agreement],
) -> Result<Remarks> {
    let mut remarks = Remarks::new();
    for (key, ratio) in drifts(run, rules)? {
        remarks.entry(key).or_default().push(Remark::NoSteadyState { last_over_first: Some(ratio) });
    }
    for key in unsteady(run)? {
        let found = remarks.entry(key).or_default();
        if found.is_empty() {
            found.push(Remark::NoSteadyState { last_over_first: None });
        }
    }
    for (key, ratio) in other_in_total(run, judgement) {
        remarks.entry(key).or_default().push(Remark::InTotal { ratio });
    }
    for key in layout_suspects(judgement) {
        remarks.entry(key).or_default().push(Remark::LayoutSuspect);
    }
    for parted in agreements.iter().filter(|agreement| agreement.is_parted()) {
        let remark = Remark::CountsPart { instructions: parted.instructions, cpu_us: parted.cpu_us };
        remarks.entry((parted.test.clone(), parted.arm)).or_default().push(remark);
    }
    let unlike = unlike_data(run)?;
    for verdict in &judgement.verdicts {
        if let Some(unlike) = unlike.get(&verdict.arm) {
            let found = remarks.entry((verdict.test.clone(), verdict.arm)).or_default();
            let remark = Remark::UnlikeData(unlike.clone());
            if !found.contains(&remark) {
                found.push(remark);
            }
        }
    }
    Ok(remarks)
}

/// Reasons to doubt the host of a run.
pub fn host_remarks(run: &Run) -> Vec<HostRemark> {
    of_host(run, done_blocks(run).len())
}

/// Arms that a resume measured when base was done with a step, or as base the others. Such windows give no verdict on
/// rate, CPU time and stalls.
pub fn measured_after_resume(run: &Run) -> Vec<AfterResume> {
    Apart::of(run, base_of(run)).after_resume()
}

/// Void blocks.
pub(crate) fn void_blocks(run: &Run) -> impl Iterator<Item = &Block> {
    run.blocks.iter().filter(|block| block.status == BlockStatus::Void)
}

/// Remarks on the host around the blocks. Blocks that were interrupted with their rqps tell nothing about it.
pub(crate) fn of_host(run: &Run, done: usize) -> Vec<HostRemark> {
    let mut remarks = Vec::new();
    let is_cut_off = |block: &&Block| block.note.as_deref() == Some(rqps_store::CUT_OFF);
    let (cut_off, void) = (void_blocks(run).filter(is_cut_off).count(), void_blocks(run).count());
    let spoilt = void - cut_off;
    if spoilt > 0 && spoilt as f64 >= VOID_SHARE_MIN * (spoilt + done) as f64 {
        remarks.push(HostRemark::ManyVoid { void, cut_off, done });
    }
    let mut ranges: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    let done_blocks = done_blocks(run);
    let is_used = |canary: &&Canary| done_blocks.contains(&canary.block) && canary.value > 0.0;
    for canary in run.canaries.iter().filter(is_used) {
        let (low, high) = ranges.entry(&canary.name).or_insert((f64::INFINITY, 0.0));
        (*low, *high) = (low.min(canary.value), high.max(canary.value));
    }
    for (name, (low, high)) in ranges {
        let max = if name.starts_with("fsync") { DISK_CANARY_RATIO_MAX } else { CANARY_RATIO_MAX };
        if high / low > max {
            remarks.push(HostRemark::CanaryMoved { name: name.to_owned(), ratio: high / low });
        }
    }
    remarks
}

/// Arms and tests whose last windows differ from their first, with the ratio of rates. Judged like a
/// candidate against base: the first windows are base, the last ones the candidate.
fn drifts(run: &Run, rules: &Rules) -> Result<Vec<((String, usize), f64)>> {
    let (mut keys, mut tests) = (Vec::new(), Vec::new());
    for ((test, arm), windows) in windows_by_arm(run) {
        let data = MetricData { metric: Metric::Rate, blocks: first_and_last(&windows), windows: Vec::new() };
        if !data.blocks.is_empty() {
            tests.push(TestData {
                // `judge` needs unique names.
                name: format!("{test}, arm {arm}"),
                group: windows[0].result.group.clone(),
                starts: format!("{}, arm {arm}", starts_of(run, &test)),
                metrics: vec![data],
            });
            keys.push((test, arm));
        }
    }
    let mut own = rules.clone();
    own.mei_of_test = tests
        .iter()
        .zip(&keys)
        .map(|(data, (test, _))| ((data.name.clone(), Metric::Rate), rules.mei(test, Metric::Rate)))
        .collect();
    let experiment = Experiment { arms: 2, base: 0, control: None, tests };
    let judged =
        judge(&experiment, &own).map_err(|source| Error::InvalidData { run: run.folder.name(), source })?;
    let moved = judged.verdicts.iter().zip(keys).filter(|(verdict, _)| verdict.class.is_change());
    Ok(moved.map(|(verdict, key)| (key, verdict.ratio)).collect())
}

/// Arms and tests whose ratio of rates over all time differs much from that of the verdict.
fn other_in_total(run: &Run, judgement: &Judgement) -> Vec<((String, usize), f64)> {
    let by_arm = windows_by_arm(run);
    let rate = |test: &str, arm: usize| {
        let windows = by_arm.get(&(test.to_owned(), arm))?;
        let sum = |value: fn(&Window) -> f64| windows.iter().map(|window| value(&window.result)).sum::<f64>();
        let (operations, elapsed_s) = (sum(|window| window.operations), sum(Window::elapsed_s));
        (operations > 0.0 && elapsed_s > 0.0).then_some(operations / elapsed_s)
    };
    let rates = judgement.verdicts.iter().filter(|one| one.detector == Detector::Rate && one.ratio > 0.0);
    let other = rates.filter_map(|one| {
        let ratio = rate(&one.test, one.arm)? / rate(&one.test, base_of(run))?;
        let apart = (ratio / one.ratio).max(one.ratio / ratio);
        (apart >= TOTAL_APART).then(|| ((one.test.clone(), one.arm), ratio))
    });
    other.collect()
}

type ByArm<'a> = BTreeMap<(String, usize), Vec<&'a Recorded<Window>>>;

/// Windows of done blocks without warm-ups, by step and arm.
fn windows_by_arm(run: &Run) -> ByArm<'_> {
    let done = done_blocks(run);
    let mut by_arm = ByArm::new();
    for window in run.windows.iter().filter(|window| is_result(window)) {
        if let (Some(arm), Some(at)) = (arm_index(run, &window.action.arm), window.placement)
            && done.contains(&at.block)
        {
            by_arm.entry((window.action.step.clone(), arm)).or_default().push(window);
        }
    }
    by_arm
}

/// The rates of the first and the last window, by block.
fn first_and_last(windows: &[&Recorded<Window>]) -> Vec<BlockData> {
    let mut blocks: BTreeMap<u32, Figures> = BTreeMap::new();
    for window in windows {
        if let (Some(at), Some(rate)) = (window.placement, figure(window, Metric::Rate)) {
            blocks.entry(at.block).or_default().insert(at.window, rate);
        }
    }
    let pair = |(block, rates): (&u32, &Figures)| {
        let (first, last) = (rates.first_key_value()?, rates.last_key_value()?);
        let as_one_window = |rate: &f64| Figures::from([(1, *rate)]);
        (first.0 != last.0).then(|| block_data(*block, &[as_one_window(first.1), as_one_window(last.1)]))?
    };
    blocks.iter().filter_map(pair).collect()
}

/// Steps and arms whose rate is not steady within most of the windows that are long enough to tell.
fn unsteady(run: &Run) -> Result<Vec<(String, usize)>> {
    let mut found = Vec::new();
    for (key, windows) in windows_by_arm(run) {
        let (mut long, mut moving) = (0, 0);
        for window in windows.iter().filter(|window| window.result.elapsed_us >= WINDOW_MIN_US) {
            let series = run.series(window.action.seq)?;
            let Some(rates) = series.iter().find(|series| series.name == "queries") else {
                continue;
            };
            let rates: Vec<f64> = rates.values.iter().copied().filter(|rate| rate.is_finite()).collect();
            long += 1;
            moving += usize::from(!steady::is_steady(&rates).steady);
        }
        if moving * 2 > long {
            found.push(key);
        }
    }
    Ok(found)
}

/// Tests and arms whose rate changed while their instructions stayed the same.
fn layout_suspects(judgement: &Judgement) -> Vec<(String, usize)> {
    let rate = judgement
        .verdicts
        .iter()
        .filter(|verdict| verdict.detector == Detector::Rate && verdict.class.is_change());
    let same_work = |test: &str, arm: usize| {
        let cost = judgement
            .verdicts
            .iter()
            .find(|verdict| verdict.detector == Detector::Cost && verdict.test == test && verdict.arm == arm);
        cost.is_some_and(|one| one.metric == Metric::Instructions && one.class == Class::Same)
    };
    rate.filter(|verdict| same_work(&verdict.test, verdict.arm))
        .map(|verdict| (verdict.test.clone(), verdict.arm))
        .collect()
}
