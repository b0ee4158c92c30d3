//! A run with its verdicts and what must be known to believe them.

use std::collections::BTreeMap;

use rqps_stats::{Class, Detector, Experiment, Judgement, Metric, Rules, Tag, TestData, Verdict};
use rqps_store::{BlockStatus, Run};

use crate::agreement::{Agreement, agreements};
use crate::alarm::FalseAlarmCheck;
use crate::data::{InstructionSource, done_blocks, experiment, instruction_source};
use crate::error::{Error, Result};
use crate::remarks::{self, HostRemark, Remark};
use crate::timing::Timing;

/// Everything that verdicts on a run consist of. Arms are numbered as in [`Run::arms`].
#[derive(Debug, Clone)]
pub struct RunVerdicts {
    /// The figures that were judged.
    pub experiment: Experiment,
    /// The rules they were judged by.
    pub rules: Rules,
    pub judgement: Judgement,
    pub source: InstructionSource,
    /// How far counted instructions and CPU time agree, where a program counted.
    pub agreements: Vec<Agreement>,
    pub blocks_done: usize,
    /// Blocks that the host spoilt. Blocks that were cut off with their rqps are not among them.
    pub blocks_void: usize,
    /// What further blocks would take.
    pub timing: Timing,
    /// What was called on base measured again; none when it was not.
    pub false_alarms: Option<FalseAlarmCheck>,
    /// Remarks by test and arm.
    pub remarks: BTreeMap<(String, usize), Vec<Remark>>,
    pub host: Vec<HostRemark>,
}

/// How many verdicts of each kind there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Regressions, proven or not.
    pub regressions: usize,
    /// Improvements, proven or not.
    pub improvements: usize,
    pub same: usize,
    /// Changes of the cost beside others the other way.
    pub mixed: usize,
    /// Not decided.
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

/// Whether the run has replicates, so that there can be verdicts.
pub fn has_blocks(run: &Run) -> bool {
    !run.blocks.is_empty()
}

/// Judges a run by `rules`.
///
/// # Errors
/// When figures or rules contradict themselves.
pub fn judge_run(run: &Run, rules: &Rules) -> Result<RunVerdicts> {
    judge(run, rules, experiment(run)?)
}

/// Judges a run by `rules`, relative to the arm at `base` in [`Run::arms`]. Where that is not the plan's base, there is
/// no check on false alarms: the control repeats the plan's.
///
/// # Errors
/// When figures or rules contradict themselves.
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
        // What was counted does not stand for what the windows did: CPU time decides.
        for test in experiment.tests.iter_mut().filter(|test| test.name == parted.test) {
            leave_out_counts(test, Some(parted.arm).filter(|arm| Some(*arm) != experiment.control));
        }
    }
    let judgement = rqps_stats::judge(&experiment, rules)
        .map_err(|source| Error::Misshapen { run: run.folder.name(), source })?;
    let cut_off = |note: &Option<String>| note.as_deref() == Some(rqps_store::CUT_OFF);
    let void = run.blocks.iter().filter(|block| block.status == BlockStatus::Void && !cut_off(&block.note));
    let (blocks_done, blocks_void) = (done_blocks(run).len(), void.count());
    Ok(RunVerdicts {
        source,
        blocks_done,
        blocks_void,
        remarks: remarks::of_tests(run, rules, &judgement, &agreements)?,
        host: remarks::of_host(run, blocks_done, blocks_void),
        timing: Timing::of(run),
        false_alarms: FalseAlarmCheck::of(&judgement, experiment.control),
        experiment,
        rules: rules.clone(),
        judgement,
        agreements,
    })
}

/// Takes the instructions of one arm from a test. Those of all arms where it is the control's that part from its
/// windows, since then base's count is as doubtful.
fn leave_out_counts(test: &mut TestData, of_arm: Option<usize>) {
    let Some(arm) = of_arm else {
        return test.metrics.retain(|data| data.metric != Metric::Instructions);
    };
    let counted = test.metrics.iter_mut().filter(|data| data.metric == Metric::Instructions);
    for block in counted.flat_map(|data| &mut data.blocks) {
        (block.values[arm], block.ln[arm]) = (None, None);
    }
}

impl RunVerdicts {
    /// Verdicts on one arm, by test.
    pub fn of_arm(&self, arm: usize) -> impl Iterator<Item = &Verdict> {
        self.judgement.verdicts.iter().filter(move |verdict| verdict.arm == arm)
    }

    /// The verdict of one detector on one test of one arm.
    pub fn verdict(&self, test: &str, arm: usize, detector: Detector) -> Option<&Verdict> {
        self.of_arm(arm).find(|verdict| verdict.test == test && verdict.detector == detector)
    }

    /// Verdicts on candidates: all but those on base measured again.
    pub fn on_candidates(&self) -> impl Iterator<Item = &Verdict> {
        self.judgement.verdicts.iter().filter(|verdict| !verdict.is_control)
    }

    /// Further blocks after which this verdict is probably reached; none when it is, when nothing can be said, or when
    /// it takes more than the rules allow.
    pub fn blocks_to_resolve(verdict: &Verdict) -> Option<usize> {
        if verdict.class.is_decided() || verdict.tags.contains(&Tag::BeyondLooks) {
            return None;
        }
        verdict.blocks_to_resolve
    }

    /// Seconds that this verdict would still take, measured alone; none when it is reached or nothing can be said.
    pub fn seconds_to_resolve(&self, verdict: &Verdict) -> Option<f64> {
        let blocks = Self::blocks_to_resolve(verdict)?;
        Some(self.timing.seconds_for([(verdict.test.as_str(), blocks)]))
    }

    /// Remarks on one test of one arm.
    pub fn remarks_on(&self, test: &str, arm: usize) -> &[Remark] {
        self.remarks.get(&(test.to_owned(), arm)).map_or(&[], Vec::as_slice)
    }
}
