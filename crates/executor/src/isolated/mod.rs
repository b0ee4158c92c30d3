//! Protocol `isolated`: measures blocks, each a restart of every arm from the same data, until every verdict
//! is reached or the budget is used up.
//!
//! `loads` makes the snapshots that arms start from; `data` restores them and starts servers; `pilot` finds
//! the fixed work of every test; `block` measures one block; `count` and `counted` count instructions on
//! hosts without hardware counters; `environment` voids blocks around which the host changed; `next` decides
//! what the next block measures; `ahead` estimates the time left; `forecast` tells that the first verdicts
//! will be late.

mod ahead;
mod block;
mod count;
mod counted;
mod data;
mod environment;
mod forecast;
mod loads;
mod next;
mod pilot;
mod words;

pub(crate) use data::{WARM_ROWS_MAX, with_config_of_blocks};
pub use forecast::verdicts_within_s;
pub(crate) use forecast::{FIRST_LOOK, Forecast, first_verdicts_s};
pub(crate) use loads::{entry, snapshots_to_make};
pub(crate) use next::Limits;

use crate::control::RunControl;
use crate::error::{Error, Result};
use crate::progress::{TimeLeft, progress_of};
use crate::setup::Setup;
use crate::trial::Trial;
use ahead::Ahead;
use data::Data;
use next::{Doubt, Next, Stop};
use rqps_model::{LOADS, load_of};
use rqps_plan::isolated::windows_seconds;
use rqps_plan::{OnServerDeath, Plan};
use rqps_store::{
    ActionRecord, BlockStatus, CUT_OFF, Observation, Outcome, Run, RunWriter, TestWork, Until, now_ms,
};
use rqps_verdicts::resume_command;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// A run of blocks. Arms are given by their index in the plan's arms.
pub(crate) struct Blocks<'a> {
    pub setup: &'a Setup,
    pub writer: &'a mut RunWriter,
    /// Whether data directories are kept when the run ends.
    pub keep_data: bool,
    pub limits: Limits,
    /// What continues it if it is part of something else; `None`: `rqps resume`.
    pub continued_by: Option<&'static str>,
    /// Arms whose server died since the last block that is done.
    pub died: BTreeSet<usize>,
    /// Arms that can't be measured, with their errors: further blocks leave them out.
    pub given_up: BTreeMap<usize, Error>,
    /// Names of arms and steps that had an invalid window.
    pub invalid: BTreeSet<(String, String)>,
    pub forecast: Forecast,
}

/// How a run ended that measured all it could.
#[derive(Debug, Clone)]
pub struct Ending {
    /// Why, in a phrase.
    pub why: String,
    /// Whether it ended before any verdict was reached.
    pub is_without_verdict: bool,
    /// How much more time would measure what is missing, if time is what is missing.
    pub resume_s: Option<f64>,
}

/// Why a run has nothing more to measure, however much time it is given; `None` if it has.
pub(crate) fn nothing_left(plan: &Plan, run: &Run) -> Result<Option<String>> {
    let limits = Limits::of(plan, None, true);
    Ok(match next::next(plan, run, &BTreeSet::new(), limits, &|_| false)?.what {
        Next::Stop(stop) => Some(stop.short_text),
        Next::Measure { .. } => None,
    })
}

/// What becomes of a run that is given more time.
pub(crate) enum Given {
    /// It measures nothing, for this reason; with the command that gives enough.
    TooShort(String),
    /// It measures blocks, which probably decide nothing for the reason, if there is one.
    Measures { doubt: Option<String> },
}

/// What so much more time measures of a run in which something is left to measure. Without data directories loads are
/// made again first.
pub(crate) fn given(plan: &Plan, run: &Run, more: Duration, has_data: bool) -> Result<Given> {
    let made = if has_data { (1..=LOADS).collect() } else { BTreeSet::new() };
    let limits = Limits::of(plan, Some(more), true);
    let outlook = next::next(plan, run, &made, limits, &|_| false)?;
    Ok(match outlook.what {
        Next::Stop(Stop { why, resume_s: Some(seconds), .. }) => {
            Given::TooShort(format!("{why}: {}", resume_command(&run.folder, seconds)))
        }
        Next::Stop(Stop { why, .. }) => Given::TooShort(why),
        Next::Measure { .. } => {
            let told = |one: Doubt| format!("{}; {}{}", one.state, one.text, one.enough);
            Given::Measures { doubt: outlook.doubt.map(told) }
        }
    })
}

/// What is left to measure of a run within these limits, and of that the seconds of windows; `None` if nothing is.
pub(crate) fn left(setup: &Setup, run: &Run, limits: Limits) -> Result<Option<(TimeLeft, f64)>> {
    let (plan, (made, missing)) = (&setup.plan, loads::found(setup, run));
    let next = next::next(plan, run, &made, limits, &|_| false)?;
    Ok(next.ahead.map(|ahead| match ahead.measured {
        0 => {
            let left = TimeLeft { seconds: first_verdicts_s(plan, missing), until: Until::FirstVerdicts };
            (left, FIRST_LOOK * windows_seconds(plan, plan.workload.steps.len()))
        }
        // Measured as it is on this host, windows and all.
        _ => (ahead.whole(), ahead.whole().seconds),
    }))
}

/// Time that a run spent on blocks, on loads and on settles after arms' own statements.
pub(crate) fn spent(run: &Run) -> Duration {
    let blocks = run.blocks.iter().filter_map(|block| Some(block.finished_at_ms? - block.started_at_ms));
    let loads = run.loads.iter().map(|load| &load.action);
    let actions = loads.chain(run.settles.iter().map(|settle| &settle.action));
    let loads = actions.map(|action| action.finished_at_ms - action.started_at_ms);
    Duration::from_millis(blocks.chain(loads).map(|ms| ms.max(0) as u64).sum())
}

/// The part of the method that tells where instruction counts come from.
const INSTRUCTIONS: &str = "instructions";

enum Ended {
    Done,
    /// The block is void, for this reason.
    Void(String),
}

impl Blocks<'_> {
    /// Measures blocks until nothing is left to measure.
    pub fn run(&mut self, control: &mut RunControl<'_>) -> Result<Ending> {
        let start = Instant::now();
        let run = self.writer.run()?;
        let is_new = run.blocks.is_empty();
        let left = (is_new || self.forecast.is_told).then(|| self.forecast.left());
        self.record_progress(0.0, left, control)?;
        let counting = count::source(&self.setup.plan);
        // The process that began the run knows whether it was the plan or its budget that turned counting off.
        let is_known = run.meta.method_of(INSTRUCTIONS).is_some();
        let is_wanted = self.setup.plan.blocks().count_instructions;
        if self.setup.plan.work.can_count_instructions() && (is_wanted || !is_known) {
            self.writer.add_method(INSTRUCTIONS, &counting.text)?;
        }
        // Of a run that was killed while it removed its data, these are not made again.
        let ended = match self.ended_before()? {
            Some(stop) => Ok(self.end(stop, control)),
            None => {
                self.try_arms(control)?;
                let mut data = Data::prepare(self, control)?;
                let works = self.works(&data, control)?;
                self.blocks(&mut data, (&works, &counting, start), control)
            }
        };
        // Arms that were given up need their data on resume.
        if ended.is_ok() && !self.keep_data && self.given_up.is_empty() {
            self.setup.place.remove()?;
        }
        ended
    }

    /// Why nothing is left to measure, if blocks of earlier processes suffice.
    fn ended_before(&self) -> Result<Option<Stop>> {
        let run = self.writer.run()?;
        if run.blocks_done() == 0 {
            return Ok(None);
        }
        let made = (1..=LOADS).collect();
        match next::next(&self.setup.plan, &run, &made, self.limits, &|_| false)?.what {
            Next::Stop(stop) => Ok(Some(stop)),
            Next::Measure { .. } => Ok(None),
        }
    }

    /// Says why no more is measured.
    fn end(&self, stop: Stop, control: &mut RunControl<'_>) -> Ending {
        let Stop { why, resume_s, short_text, is_without_verdict } = stop;
        let text = match (resume_s, self.continued_by) {
            (Some(_), Some(how)) => format!("{why}: {how}"),
            (Some(seconds), None) => format!("{why}: {}", resume_command(self.writer.folder(), seconds)),
            (None, _) => why,
        };
        control.progress.stage(&text);
        Ending { why: short_text, is_without_verdict, resume_s }
    }

    /// Shows the progress and stores it in the run folder. The time tells the share that is done, loads and all; after
    /// the first verdicts, those that are reached may tell of more.
    fn record_progress(
        &mut self,
        share: f64,
        left: Option<TimeLeft>,
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        let (by_time, then) = left.map_or((0.0, 0.0), |left| self.forecast.shares(left));
        let progress = progress_of(share.max(by_time), (left, then));
        control.progress.overall(self.writer.record_progress(progress)?);
        Ok(())
    }

    /// Starts every arm once before any is loaded.
    fn try_arms(&mut self, control: &mut RunControl<'_>) -> Result<()> {
        let run = self.writer.run()?;
        if !run.loads.is_empty() || !run.blocks.is_empty() {
            return Ok(());
        }
        let mut trial = Trial { setup: self.setup, writer: self.writer };
        trial.failures(control)?.into_iter().try_for_each(|(_, error)| self.give_up(error, control))
    }

    fn blocks(
        &mut self,
        data: &mut Data,
        (works, counting, start): (&BTreeMap<String, TestWork>, &count::Source, Instant),
        control: &mut RunControl<'_>,
    ) -> Result<Ending> {
        let (mut told_doubt, mut reached) = (None, BTreeSet::new());
        loop {
            let run = self.writer.run()?;
            let made = data.loads_made(self);
            let given_up = |arm| self.given_up.contains_key(&arm);
            let next =
                next::next(&self.setup.plan, &run, &made, self.limits.after(start.elapsed()), &given_up)?;
            let ahead = next.ahead.map(|ahead| ahead.beside_others(self.forecast.block_longer));
            self.record_progress(next.share, ahead.map(|ahead| ahead.after(0.0, 0.0)), control)?;
            control.progress.blocks(run.blocks_done() as u32, self.limits.blocks_max as u32);
            control.check()?;
            let back: Vec<&str> = reached.difference(&next.reached).map(String::as_str).collect();
            if !back.is_empty() && self.given_up.is_empty() {
                let back = back.join(", ");
                control
                    .progress
                    .note(&format!("inconclusive again, since the new block widened the interval: {back}"));
            }
            reached = next.reached;
            let (tests, windows) = match next.what {
                Next::Stop(stop) => return Ok(self.end(stop, control)),
                Next::Measure { tests, windows_of_reads } => (tests, windows_of_reads),
            };
            let number = self.writer.last_block()?.unwrap_or(0) + 1;
            data.provide_all(self, load_of(number), control)?;
            // What is told to begin is in the run from then on.
            control.progress.stage(&next.why);
            if let Some(Doubt { text, enough, .. }) = &next.doubt
                && told_doubt.as_ref() != Some(text)
            {
                control.progress.note(&format!("{text}{enough}; measuring anyway, as asked"));
            }
            told_doubt = next.doubt.map(|doubt| doubt.text);
            let began = Instant::now();
            let keeps_state = run.blocks_done() == 0;
            let progress = BlockProgress { share: next.share, ahead, open: next.open, began };
            let cost_decided = next.cost_decided;
            let context = BlockContext { data, works, counting, cost_decided, keeps_state, progress };
            let ended = self.block(number, (&tests, windows), &context, control);
            self.conclude(number, ended, began.elapsed(), control)?;
        }
    }

    /// Records how a block ended. An error makes it void; the arm at fault is given up unless a retry may
    /// succeed.
    fn conclude(
        &mut self,
        number: u32,
        ended: Result<Ended>,
        took: Duration,
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        let seconds = took.as_secs_f64();
        match ended {
            Ok(Ended::Done) => {
                self.writer.finish_block(number, BlockStatus::Done, None)?;
                self.died.clear();
                control.progress.stage(&format!("block {number}: done in {seconds:.0} s"));
                Ok(())
            }
            Ok(Ended::Void(why)) => {
                self.writer.finish_block(number, BlockStatus::Void, Some(&why))?;
                control.progress.stage(&format!("block {number}: void, will be repeated: {why}"));
                Ok(())
            }
            Err(_) if control.stopped() => {
                self.writer.finish_block(number, BlockStatus::Void, Some(CUT_OFF))?;
                Err(Error::Interrupted)
            }
            Err(error) => {
                let why = error.short_text();
                self.writer.finish_block(number, BlockStatus::Void, Some(&why))?;
                let arm = self.arm_at_fault(&error);
                if error.is_transient() && arm.is_some_and(|arm| self.died.insert(arm)) {
                    control.progress.note(&format!("block {number}: void, will be repeated: {why}"));
                    self.writer.add_note(None, &format!("block {number} is void: {why}"))?;
                    return Ok(());
                }
                self.give_up(error, control)
            }
        }
    }

    fn arm_at_fault(&self, error: &Error) -> Option<usize> {
        let name = error.faulty_arm()?;
        self.setup.plan.arms.iter().position(|arm| arm.name == name)
    }

    /// Gives up the arm at fault, so that blocks continue without it.
    ///
    /// # Errors
    /// That error, if blocks can't continue: no arm is at fault, it is base, no candidate is left, or the
    /// plan has `on_server_death = "stop"`.
    pub(super) fn give_up(&mut self, error: Error, control: &mut RunControl<'_>) -> Result<()> {
        let arms = &self.setup.plan.arms;
        let Some(arm) = self.arm_at_fault(&error) else {
            return Err(error);
        };
        control.check()?;
        let is_left = |other: usize| other != arm && !self.given_up.contains_key(&other);
        let base = self.setup.plan.base_index();
        let compares = (0..arms.len()).any(|other| other != base && !arms[other].control && is_left(other));
        if arm == base || !compares || self.setup.plan.on_server_death == OnServerDeath::Stop {
            return Err(error);
        }
        let name = &arms[arm].name;
        let text = format!("{}; giving up {name}; blocks continue without it", error.short_text());
        control.progress.note(&text);
        let why = error.short_text_of(name);
        self.writer
            .add_note(Some(name), &format!("{why}; given up, blocks continue without it; see logs/{name}"))?;
        self.given_up.insert(arm, error);
        Ok(())
    }

    /// Begins an action under the journal's next number.
    fn begin(&mut self) -> Result<Begun> {
        let seq = self.writer.next_seq()?;
        Ok(Begun { seq, attempt: self.writer.begin_action(seq)? })
    }

    /// Journals an action as finished now.
    fn finish(&mut self, begun: Begun, done: Done<'_>, observation: Option<&Observation>) -> Result<()> {
        let record = ActionRecord {
            seq: begun.seq,
            arm: done.arm.to_owned(),
            kind: done.kind.to_owned(),
            step: done.step.to_owned(),
            attempt: begun.attempt,
            started_at_ms: done.started_at_ms,
            finished_at_ms: now_ms(),
            outcome: if done.invalid.is_some() { Outcome::Invalid } else { Outcome::Done },
            note: done.invalid,
        };
        Ok(self.writer.finish_action(&record, observation)?)
    }
}

/// An action that has begun.
struct Begun {
    seq: u32,
    attempt: u32,
}

/// An action that is done.
struct Done<'a> {
    arm: &'a str,
    kind: &'static str,
    step: &'a str,
    started_at_ms: i64,
    /// Why its result must not be used, if it must not.
    invalid: Option<String>,
}

/// Inputs of a block.
struct BlockContext<'a> {
    data: &'a Data,
    /// Fixed work by test.
    works: &'a BTreeMap<String, TestWork>,
    counting: &'a count::Source,
    /// Tests whose cost needs no further counting.
    cost_decided: BTreeSet<String>,
    /// Whether query plans and fingerprints are stored with the first windows.
    keeps_state: bool,
    progress: BlockProgress,
}

/// The progress when a block begins.
struct BlockProgress {
    share: f64,
    ahead: Option<Ahead>,
    /// Tests with verdicts that more blocks can decide, after the first verdicts.
    open: Option<usize>,
    began: Instant,
}

impl BlockProgress {
    /// The share and the time left after a part of the block.
    fn after(&self, part: f64) -> (f64, Option<TimeLeft>) {
        let elapsed_s = self.began.elapsed().as_secs_f64();
        let left = self.ahead.map(|ahead| ahead.after(part, elapsed_s));
        (self.share, left)
    }
}
