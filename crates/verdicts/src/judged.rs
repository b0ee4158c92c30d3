//! A run with its verdicts and the facts to judge their reliability.

use std::collections::{BTreeMap, BTreeSet};

use rqps_stats::{Class, Detector, Experiment, Judgement, Metric, Rules, Tag, TestData, Verdict};
use rqps_store::Run;

use crate::agreement::{Agreement, agreements};
use crate::alarm::FalseAlarmCheck;
use crate::data::{InstructionSource, blocks_by_test, done_blocks, experiment, instruction_source};
use crate::error::{Error, Result};
use crate::remarks::{self, HostRemark, Remark};
use crate::timing::{Timing, seconds_of_resume};

/// The verdicts on a run. Arms are numbered as in [`Run::arms`].
#[derive(Debug, Clone)]
pub struct RunVerdicts {
    /// The figures that were judged.
    pub experiment: Experiment,
    /// The rules they were judged by.
    pub rules: Rules,
    pub judgement: Judgement,
    pub source: InstructionSource,
    /// How far counted instructions and CPU time agree; empty unless a program counted.
    pub agreements: Vec<Agreement>,
    pub blocks_done: usize,
    /// Done blocks of each test, whichever arms they have.
    pub blocks_of_test: BTreeMap<String, usize>,
    /// Void blocks, also those that were interrupted with their rqps.
    pub blocks_void: usize,
    /// The time that further blocks would take.
    pub timing: Timing,
    /// Verdicts on the control; `None` without one.
    pub false_alarms: Option<FalseAlarmCheck>,
    /// Remarks by test and arm.
    pub remarks: BTreeMap<(String, usize), Vec<Remark>>,
    pub host: Vec<HostRemark>,
    /// Tests and arms whose windows, or base's, are invalid in at least half of the blocks.
    pub mostly_invalid: BTreeSet<(String, usize)>,
}

/// How many verdicts of each kind there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Regressions, proven or not.
    pub regressions: usize,
    /// Improvements, proven or not.
    pub improvements: usize,
    pub same: usize,
    /// Changes of the cost while other figures changed in the other direction.
    pub mixed: usize,
    pub inconclusive: usize,
}

impl Tally {
    pub fn of<'a>(verdicts: impl Iterator<Item = &'a Verdict>) -> Self {
        let mut tally = Self::default();
        for verdict in verdicts {
            *match verdict.class {
                _ if verdict.is_mixed() => &mut tally.mixed,
                Class::Regression { .. } => &mut tally.regressions,
                Class::Improvement { .. } => &mut tally.improvements,
                Class::Same => &mut tally.same,
                Class::Inconclusive => &mut tally.inconclusive,
            } += 1;
        }
        tally
    }
}

/// Whether the run has replicates, without which there are no verdicts.
pub fn has_blocks(run: &Run) -> bool {
    !run.blocks.is_empty()
}

/// Ratios that vary by less are one: what is left is the rounding of floating-point numbers.
const ONE_RATIO_SD_MAX: f64 = 1e-9;

/// Judges a run by `rules`.
///
/// # Errors
/// If latencies or slices cannot be read, or figures and rules are inconsistent.
pub fn judge_run(run: &Run, rules: &Rules) -> Result<RunVerdicts> {
    judge(run, rules, experiment(run)?)
}

/// Judges a run by `rules`, relative to the arm at `base` in [`Run::arms`]. If that is not the plan's base,
/// there is no false-alarm check: the control repeats the plan's base.
///
/// # Errors
/// As [`judge_run`].
pub fn judge_run_relative_to(run: &Run, rules: &Rules, base: usize) -> Result<RunVerdicts> {
    let experiment = experiment(run)?;
    let control = experiment.control.filter(|_| experiment.base == base);
    judge(run, rules, Experiment { base, control, ..experiment })
}

fn judge(run: &Run, rules: &Rules, mut experiment: Experiment) -> Result<RunVerdicts> {
    let source = instruction_source(run);
    let agreements = match source {
        InstructionSource::Counted(_) => agreements(run, &experiment),
        InstructionSource::Processor | InstructionSource::None => Vec::new(),
    };
    for parted in agreements.iter().filter(|agreement| agreement.is_parted()) {
        // The counts don't represent the windows' work, so CPU time decides on cost.
        for test in experiment.tests.iter_mut().filter(|test| test.name == parted.test) {
            remove_counts(test, Some(parted.arm).filter(|arm| Some(*arm) != experiment.control));
        }
    }
    for name in run.counts.iter().filter(|count| !count.valid()).map(|count| &count.action.arm) {
        // The program failed to count it, perhaps after some blocks.
        let is_compared_with = |arm: &usize| *arm == experiment.base || Some(*arm) == experiment.control;
        let arm = run.arms.iter().position(|arm| arm.name == *name);
        let arm = arm.filter(|arm| !is_compared_with(arm));
        experiment.tests.iter_mut().for_each(|test| remove_counts(test, arm));
    }
    let judgement = judgement_of(run, &experiment, rules)?;
    let (blocks_done, blocks_void) = (done_blocks(run).len(), remarks::void_blocks(run).count());
    Ok(RunVerdicts {
        source,
        blocks_done,
        blocks_of_test: blocks_by_test(run),
        blocks_void,
        remarks: remarks::of_tests(run, rules, &judgement, &agreements)?,
        host: remarks::of_host(run, blocks_done),
        mostly_invalid: mostly_invalid(run, experiment.base),
        timing: Timing::of(run),
        false_alarms: FalseAlarmCheck::of(&judgement, experiment.control),
        experiment,
        rules: rules.clone(),
        judgement,
        agreements,
    })
}

fn judgement_of(run: &Run, experiment: &Experiment, rules: &Rules) -> Result<Judgement> {
    let mut judgement = rqps_stats::judge(experiment, rules)
        .map_err(|source| Error::InvalidData { run: run.folder.name(), source })?;
    // A change that shows even so is told.
    let is_told = |one: &Verdict| {
        let is_rate = matches!(one.detector, Detector::Rate | Detector::Stalls);
        rules.rates || !is_rate || one.class.is_change() && !one.is_control
    };
    judgement.verdicts.retain(is_told);
    // Copies of one repeat are no evidence for equality either.
    let is_of_copies = |verdict: &&mut Verdict| {
        run.meta.is_imported() && verdict.class == Class::Same && RunVerdicts::has_one_ratio(verdict)
    };
    judgement
        .verdicts
        .iter_mut()
        .filter(is_of_copies)
        .for_each(|verdict| verdict.class = Class::Inconclusive);
    Ok(judgement)
}

/// [`Run::mostly_invalid`] by index, with all arms where it is base: nothing is compared there.
fn mostly_invalid(run: &Run, base: usize) -> BTreeSet<(String, usize)> {
    let mut all = BTreeSet::new();
    for (test, name) in run.mostly_invalid() {
        let is_of =
            |arm: &usize| run.arms[*arm].name == name || run.arms.get(base).is_some_and(|b| b.name == name);
        all.extend((0..run.arms.len()).filter(is_of).map(|arm| (test.to_owned(), arm)));
    }
    all
}

/// Removes one arm's instructions from a test, or with `None` those of all arms: if the control's counts
/// don't represent its windows, base's are as doubtful.
fn remove_counts(test: &mut TestData, arm: Option<usize>) {
    let Some(arm) = arm else {
        return test.metrics.retain(|data| data.metric != Metric::Instructions);
    };
    let counted = test.metrics.iter_mut().filter(|data| data.metric == Metric::Instructions);
    for block in counted.flat_map(|data| &mut data.blocks) {
        (block.values[arm], block.ln[arm]) = (None, None);
    }
}

impl RunVerdicts {
    /// Whether any verdict could be reached on the arm, with as many blocks as the first look takes.
    pub fn has_looked(&self, arm: usize) -> bool {
        self.of_arm(arm).any(|verdict| verdict.looks_reached > 0)
    }

    /// The verdicts on the same figures, by the same rules, relative to another arm.
    pub(crate) fn relative_to(&self, run: &Run, base: usize) -> Result<Judgement> {
        let experiment = Experiment { base, control: None, ..self.experiment.clone() };
        judgement_of(run, &experiment, &self.rules)
    }

    /// Verdicts on one arm, by test.
    pub fn of_arm(&self, arm: usize) -> impl Iterator<Item = &Verdict> {
        self.judgement.verdicts.iter().filter(move |verdict| verdict.arm == arm)
    }

    /// The verdict of one detector on one test of one arm.
    pub fn verdict(&self, test: &str, arm: usize, detector: Detector) -> Option<&Verdict> {
        self.of_arm(arm).find(|verdict| verdict.test == test && verdict.detector == detector)
    }

    /// Verdicts on all arms but the control.
    pub fn on_candidates(&self) -> impl Iterator<Item = &Verdict> {
        self.judgement.verdicts.iter().filter(|verdict| !verdict.is_control)
    }

    /// Further blocks after which this verdict is probably reached. `None` if it is reached, if that is
    /// unknown, or if it would take more than the rules allow.
    pub fn blocks_to_resolve(verdict: &Verdict) -> Option<usize> {
        if verdict.class.is_decided() || verdict.tags.contains(&Tag::BeyondLooks) {
            return None;
        }
        verdict.blocks_to_resolve
    }

    /// Whether windows of its test are invalid in at least half of the blocks, so that more are not expected to decide
    /// it.
    pub fn keeps_being_invalid(&self, verdict: &Verdict) -> bool {
        self.mostly_invalid.contains(&(verdict.test.clone(), verdict.arm))
    }

    /// Whether a test can have so many further blocks: the rules of a run end with its plan's `blocks_max`.
    pub fn allows(&self, test: &str, more: usize) -> bool {
        let done = self.blocks_of_test.get(test).copied().unwrap_or(0);
        self.rules.at_once || self.rules.looks.last().is_none_or(|look| done + more <= look.blocks)
    }

    /// Like [`Self::blocks_to_resolve`], and those until the first verdict where too few have both arms. `None` if
    /// windows of its test keep being invalid, or the plan does not allow so many.
    pub fn blocks_needed(&self, verdict: &Verdict) -> Option<usize> {
        if verdict.class.is_decided() || self.keeps_being_invalid(verdict) {
            return None;
        }
        let is_followed = verdict.detector.is_rate_or_cost();
        let needed = match self.blocks_min().saturating_sub(verdict.blocks_measured) {
            missing if missing > 0 && is_followed => Some(missing),
            _ => Self::blocks_to_resolve(verdict),
        };
        needed.filter(|more| self.allows(&verdict.test, *more))
    }

    /// Whether all blocks of a rate have one ratio, which independent measurements never have.
    pub fn has_one_ratio(verdict: &Verdict) -> bool {
        verdict.detector == Detector::Rate && verdict.blocks > 1 && verdict.block_sd < ONE_RATIO_SD_MAX
    }

    /// Whether a run measures on until this verdict is reached. Ruling out stalls that do not show takes much longer
    /// than a budget is meant for; stalls that do show are followed up. So are WAL and fsyncs that differ in every
    /// block: a few more blocks will prove them.
    pub fn is_measured_for(verdict: &Verdict) -> bool {
        let can_be_reached = || Self::blocks_to_resolve(verdict).is_some();
        match verdict.detector {
            Detector::Rate | Detector::Cost => true,
            Detector::Stalls => can_be_reached(),
            Detector::Wal | Detector::Fsyncs => verdict.tags.contains(&Tag::Exact) && can_be_reached(),
            Detector::Cpu | Detector::Rows | Detector::Blocks => false,
        }
    }

    /// Seconds until every verdict on the candidates is probably reached that further blocks can decide and that the
    /// run measures for, or that somebody `asks` for. 0 if there is none. The one answer to how much longer a run
    /// should measure.
    pub fn seconds_to_decide(&self, asks: impl Fn(&Verdict) -> bool) -> f64 {
        let is_asked = |one: &&Verdict| Self::is_measured_for(one) || asks(one);
        let needs = self.on_candidates().filter(is_asked);
        let needs = needs.filter_map(|one| Some((one.test.as_str(), self.blocks_needed(one)?)));
        self.timing.seconds_for(needs)
    }

    /// Seconds of a resume of the run, which has ended, that decides what further blocks probably can; `None` if that
    /// is nothing.
    pub fn seconds_of_resume(&self, run: &Run) -> Option<f64> {
        let measured = self.on_candidates().filter(|one| Self::is_measured_for(one));
        let blocks = measured.filter_map(|one| self.blocks_needed(one)).max()?;
        Some(seconds_of_resume(run, (blocks, self.seconds_to_decide(|_| false)), true))
    }

    /// Remarks on one test of one arm.
    pub fn remarks_on(&self, test: &str, arm: usize) -> &[Remark] {
        self.remarks.get(&(test.to_owned(), arm)).map_or(&[], Vec::as_slice)
    }
}
