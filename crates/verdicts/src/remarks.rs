//! Remarks that need more than one test's figures, or what happened around them.

use std::collections::BTreeMap;

use rqps_stats::{
    BlockData, Class, Detector, Experiment, Judgement, Metric, MetricData, Rules, TestData, judge, steady,
};
use rqps_store::{BlockStatus, Recorded, Run, Window};

use crate::agreement::Agreement;
use crate::data::{done_blocks, figure, is_result, starts_of};
use crate::error::{Error, Result};
use crate::pairing::{Figures, block_data};
use crate::state::{UnlikeData, unlike_data};

/// A remark on one test of one arm.
#[derive(Debug, Clone, PartialEq)]
pub enum Remark {
    /// The arm's rate still moves within a block.
    NoSteadyState {
        /// Rate in the last window over that in the first, over all blocks; none where seconds within windows moved.
        last_over_first: Option<f64>,
    },
    /// The rate has changed and instructions have not: waiting, or where code and data happen to lie in memory.
    LayoutSuspect,
    /// Counted instructions are too far from the windows' CPU time to stand for it: the cost rests on CPU time.
    CountsPart {
        instructions: f64,
        /// CPU time of the windows over base's.
        cpu_us: f64,
    },
    /// The arm's data are not what they should be.
    UnlikeData(UnlikeData),
}

/// What makes one doubt the host.
#[derive(Debug, Clone, PartialEq)]
pub enum HostRemark {
    /// So many blocks were void that those left may be a choice.
    ManyVoid {
        /// Void blocks, those of a killed rqps left out.
        void: usize,
        done: usize,
    },
    /// A canary was not the same in the blocks that count.
    CanaryMoved {
        /// Its name, unit last.
        name: String,
        ratio: f64,
    },
}

/// Share of blocks that may be void before it is remarked on: one of four.
const VOID_SHARE: f64 = 0.25;
/// What canaries that measure processor and memory may differ by over a run. A disk's may differ much more.
const CANARY_RATIO: f64 = 1.10;
const DISK_CANARY_RATIO: f64 = 3.0;
/// Shortest window whose seconds are looked at.
const SECONDS_MIN_US: u64 = 20_000_000;

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
        let of_key = remarks.entry(key).or_default();
        if of_key.is_empty() {
            of_key.push(Remark::NoSteadyState { last_over_first: None });
        }
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
        if let Some(what) = unlike.get(&verdict.arm) {
            let of_key = remarks.entry((verdict.test.clone(), verdict.arm)).or_default();
            let remark = Remark::UnlikeData(what.clone());
            if !of_key.contains(&remark) {
                of_key.push(remark);
            }
        }
    }
    Ok(remarks)
}

/// Remarks on the host around the blocks.
pub(crate) fn of_host(run: &Run, done: usize, void: usize) -> Vec<HostRemark> {
    let mut remarks = Vec::new();
    if void > 0 && void as f64 >= VOID_SHARE * (void + done) as f64 {
        remarks.push(HostRemark::ManyVoid { void, done });
    }
    let mut ranges: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    let counts = |number: u32| {
        run.blocks.iter().any(|block| block.number == number && block.status == BlockStatus::Done)
    };
    for canary in run.canaries.iter().filter(|canary| counts(canary.block) && canary.value > 0.0) {
        let (low, high) = ranges.entry(&canary.name).or_insert((f64::INFINITY, 0.0));
        (*low, *high) = (low.min(canary.value), high.max(canary.value));
    }
    for (name, (low, high)) in ranges {
        let most = if name.starts_with("fsync") { DISK_CANARY_RATIO } else { CANARY_RATIO };
        if high / low > most {
            remarks.push(HostRemark::CanaryMoved { name: name.to_owned(), ratio: high / low });
        }
    }
    remarks
}

/// Arms whose last windows of a test are faster or slower than their first by more than matters. It is judged like an
/// arm against base: with the first windows as base and the last as the candidate.
fn drifts(run: &Run, rules: &Rules) -> Result<Vec<((String, usize), f64)>> {
    let (mut keys, mut tests) = (Vec::new(), Vec::new());
    for ((test, arm), windows) in windows_by_arm(run) {
        let data = MetricData { metric: Metric::Rate, blocks: first_and_last(&windows), windows: Vec::new() };
        if !data.blocks.is_empty() {
            tests.push(TestData {
                // Tests of the statistics are unique by name.
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
        judge(&experiment, &own).map_err(|source| Error::Misshapen { run: run.folder.name(), source })?;
    let moved = judged.verdicts.iter().zip(keys).filter(|(verdict, _)| verdict.class.is_change());
    Ok(moved.map(|(verdict, key)| (key, verdict.ratio)).collect())
}

type ByArm<'a> = BTreeMap<(String, usize), Vec<&'a Recorded<Window>>>;

/// Windows that count, by step and arm.
fn windows_by_arm(run: &Run) -> ByArm<'_> {
    let done = done_blocks(run);
    let mut by_arm = ByArm::new();
    for window in run.windows.iter().filter(|window| is_result(window)) {
        let arm = run.arms.iter().position(|arm| arm.name == window.action.arm);
        if let (Some(arm), Some(at)) = (arm, window.placement)
            && done.contains(&at.block)
        {
            by_arm.entry((window.action.step.clone(), arm)).or_default().push(window);
        }
    }
    by_arm
}

/// Per block the rate of the first window and of the last.
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

/// Steps of arms in which the level of the rate moves within most of the windows that are long enough to tell.
fn unsteady(run: &Run) -> Result<Vec<(String, usize)>> {
    let mut moved = Vec::new();
    for (key, windows) in windows_by_arm(run) {
        let (mut long, mut moving) = (0, 0);
        for window in windows.iter().filter(|window| window.result.elapsed_us >= SECONDS_MIN_US) {
            let series = run.series(window.action.seq)?;
            let Some(rates) = series.iter().find(|series| series.name == "queries") else {
                continue;
            };
            let rates: Vec<f64> = rates.values.iter().copied().filter(|rate| rate.is_finite()).collect();
            long += 1;
            moving += usize::from(!steady::is_steady(&rates).steady);
        }
        if moving * 2 > long {
            moved.push(key);
        }
    }
    Ok(moved)
}

/// Arms and tests whose rate has changed while their instructions are the same.
fn layout_suspects(judgement: &Judgement) -> Vec<(String, usize)> {
    let rate =
        judgement.verdicts.iter().filter(|verdict| verdict.detector == Detector::Rate && verdict.significant);
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
