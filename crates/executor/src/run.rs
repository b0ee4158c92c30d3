//! Walks the schedule: one action after the other, each journaled before the next begins.

use crate::arm::{ActiveArm, not_started, record, recorded};
use crate::base::{self, BaseSteps};
use crate::control::{RunControl, with_watchdog};
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::isolated::{self, Blocks, Ending, Forecast, Limits};
use crate::kinds::{changes_data, kind_name, step_name};
use crate::passes::{GivenUp, Servers};
use crate::profile::{ProfileRequest, Profiles};
use crate::progress::{Progress, TimeLeft};
use crate::setup::Setup;
use crate::spec::server_spec;
use crate::trial::Trial;
use crate::work::{Done, Task, load, settle, vacuum};
use rqps_model::{FixedWork, HostFigure};
use rqps_plan::{Action, ActionKind, LoadDef, Plan, Protocol, Schedule, schedule};
use rqps_servers::ServerSpec;
use rqps_store::{ActionRecord, Moment, Outcome, Run, RunWriter, Status, now_ms};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How a run ended, unless it failed as a whole.
#[derive(Debug)]
pub enum Finish {
    Complete,
    /// Blocks ended: no verdict is left to decide, or the budget is used up.
    Ended(Ending),
    /// Some arms were given up because of these errors. They can be resumed.
    Partly(Vec<Error>),
}

/// A run in progress.
pub struct Execution {
    pub(crate) setup: Setup,
    schedule: Schedule,
    pub(crate) writer: RunWriter,
    /// Numbers of the actions that are done.
    done: BTreeSet<u32>,
    /// Numbers of the actions that are executed once more for the data they leave, with what they did; their
    /// results are kept.
    pub(crate) replays: BTreeMap<u32, Option<FixedWork>>,
    pub(crate) base_steps: BaseSteps,
    keep_data: bool,
    notes: Vec<String>,
    /// Time that earlier processes spent on blocks and loads.
    spent: Duration,
    /// Time for all of it that an earlier process was given.
    given: Option<Duration>,
    /// Budget of this process, in place of the rest of the plan's.
    more: Option<Duration>,
    continued_by: Option<&'static str>,
    /// What the user was told of the time.
    told: Option<TimeLeft>,
    /// How many times as long work takes as on a quiet host.
    longer: f64,
}

impl Execution {
    pub(crate) fn new(setup: Setup, writer: RunWriter) -> Self {
        Self {
            schedule: schedule(&setup.plan),
            setup,
            writer,
            done: BTreeSet::new(),
            replays: BTreeMap::new(),
            base_steps: BTreeMap::new(),
            keep_data: false,
            notes: Vec::new(),
            spent: Duration::ZERO,
            given: None,
            more: None,
            continued_by: None,
            told: None,
            longer: 1.0,
        }
    }

    /// Takes what the user was told of the time, on a host on which work takes so many times as long as on a quiet one.
    pub fn set_told(&mut self, left: TimeLeft, longer: f64) {
        (self.told, self.longer) = (Some(left), longer);
    }

    /// Sets what measures more of it, as part of something else; otherwise `rqps resume`.
    pub fn set_continued_by(&mut self, how: &'static str) {
        self.continued_by = Some(how);
    }

    /// Sets how long blocks may be measured from now on, whatever the plan's budget.
    pub fn give_time(&mut self, more: Duration) {
        self.more = Some(more);
    }

    /// What was given by [`Self::give_time`].
    pub fn given_time(&self) -> Option<Duration> {
        self.more
    }

    /// How long this process may measure blocks; `None`: until every verdict is reached.
    pub fn budget(&self) -> Option<Duration> {
        let all = || self.setup.plan.budget.max(self.given);
        self.more.or_else(|| Some(all()?.saturating_sub(self.spent)))
    }

    /// What ends this process' blocks besides verdicts. As part of something else it has the blocks that this plans.
    pub(crate) fn limits(&self) -> Limits {
        let is_given_more = self.continued_by.is_none() && self.more.or(self.given).is_some();
        Limits::of(&self.setup.plan, self.budget(), is_given_more)
    }

    /// Keeps data directories when their arm is finished.
    pub fn keep_data(&mut self) {
        self.keep_data = true;
    }

    pub fn plan(&self) -> &Plan {
        &self.setup.plan
    }

    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Numbers of the actions that are done.
    pub fn done(&self) -> &BTreeSet<u32> {
        &self.done
    }

    /// Whether nothing of its schedule was ever done.
    fn is_new(&self) -> bool {
        self.done.is_empty() && self.replays.is_empty()
    }

    /// What the user should know before the run continues.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(crate) fn add_note(&mut self, text: String) {
        self.notes.push(text);
    }

    pub(crate) fn measure_host(&self) -> Result<Vec<HostFigure>> {
        let base = &self.setup.ingredients[self.setup.plan.base_index()];
        let own_place = base.system.place(&base.build);
        self.setup.host.certificate(own_place.unwrap_or_else(|| self.setup.place.work()))
    }

    /// Whether the arms are places for files, not servers.
    pub(crate) fn measures_places(&self) -> bool {
        self.setup.ingredients.iter().any(|one| one.system.place(&one.build).is_some())
    }

    pub(crate) fn driver(&self) -> &dyn Driver {
        self.setup.driver
    }

    /// The arms as they are before their first start.
    pub fn arms(&self) -> Vec<rqps_store::Arm> {
        recorded(&self.setup.plan, &self.setup.ingredients)
    }

    /// Path of the run folder.
    pub fn folder(&self) -> PathBuf {
        self.writer.folder().path().to_owned()
    }

    /// Directory of its servers' data; `None` if there are none.
    pub fn data_place(&self) -> Option<&Path> {
        self.setup.place.path()
    }

    /// Restores the state that earlier processes left.
    pub(crate) fn restore(&mut self, run: &Run) -> Result<()> {
        // The run's state forgets it.
        let is_noted = |why: &str| {
            let given_up = run.notes.iter().filter_map(|note| note.text.split_once("; given up"));
            given_up.map(|(noted, _)| noted).any(|noted| why.ends_with(noted))
        };
        if let (Status::Failed, Some(why)) = (run.status.status, &run.status.reason)
            && !is_noted(why)
        {
            self.writer.add_note_at(run.status.changed_at_ms, None, &format!("failed: {why}"))?;
        }
        let restarted = self.restart_arms(run)?;
        let run = restarted.as_ref().unwrap_or(run);
        // Profiles of an unfinished run are journaled too, but not part of its schedule.
        let is_scheduled = |seq: &u32| *seq < self.schedule.actions.len() as u32;
        self.done = self.writer.done_actions()?.into_iter().filter(is_scheduled).collect();
        for seq in self.writer.replays()? {
            self.replays.insert(seq, base::work_of(run, seq)?);
        }
        if self.setup.plan.protocol == Protocol::Isolated {
            self.spent = isolated::spent(run);
            self.given = self.writer.budget()?;
        } else {
            self.base_steps = base::read(run, &self.setup.plan.base)?;
            if self.several_passes() {
                self.finish_passes(run, &GivenUp::default())?;
            }
        }
        self.writer.add_resume()?;
        Ok(())
    }

    /// Does all actions that are not done. However it ends, servers are stopped and the run folder records
    /// why.
    pub fn run(&mut self, progress: &mut dyn Progress, stop: &AtomicBool) -> Result<Finish> {
        self.writer.set_status(Status::Running, None)?;
        // What a kill cuts off is continued with the time that was given.
        if let Some(more) = self.more {
            self.writer.set_budget(self.spent + more)?;
        }
        for path in self.setup.reserved.iter().flat_map(|reserved| &reserved.removed) {
            progress.note(&format!("removed {}, which a killed run left", path.display()));
        }
        if self.is_new() && self.spent.is_zero() {
            self.certify(Moment::Before, progress)?;
        }
        let instances = Mutex::new(Vec::new());
        let outcome = with_watchdog(stop, &instances, || {
            let mut control = RunControl { progress, stop, instances: &instances };
            match self.setup.plan.protocol {
                Protocol::Sequence => self.walk(&mut control),
                Protocol::Isolated => self.measure_blocks(&mut control),
            }
        });
        // Errors after the user's stop are consequences of it.
        let outcome = outcome.map_err(|error| if stopped(stop) { Error::Interrupted } else { error });
        if outcome.is_ok() && self.writer.has_certificate(Moment::Before)? {
            self.certify(Moment::After, progress)?;
        }
        let (status, reason) = match &outcome {
            Ok(Finish::Complete) => (Status::Complete, None),
            Ok(Finish::Ended(ending)) => (Status::Complete, Some(ending.why.clone())),
            Ok(Finish::Partly(errors)) => {
                let each: Vec<String> = errors.iter().map(Error::short_text).collect();
                (Status::Failed, Some(each.join("; ")))
            }
            Err(Error::Interrupted) => (Status::Interrupted, Some("by the user".to_owned())),
            Err(error) => (Status::Failed, Some(error.short_text())),
        };
        let recorded = self.writer.set_status(status, reason.as_deref());
        let finish = outcome?;
        recorded?;
        if !matches!(finish, Finish::Partly(_)) {
            self.profile_at_the_end(progress, stop)?;
        }
        Ok(finish)
    }

    /// Takes CPU profiles if the plan asks for them. The run is complete, so a failure is only noted.
    fn profile_at_the_end(&mut self, progress: &mut dyn Progress, stop: &AtomicBool) -> Result<()> {
        let Some(request) = ProfileRequest::of(&self.setup.plan) else {
            return Ok(());
        };
        let why = match self.profile(&request, progress, stop) {
            Ok(0) => "no test is shown to be slower or faster".to_owned(),
            Ok(_) => return Ok(()),
            Err(error) => error.short_text(),
        };
        let note = format!("CPU profiles: {why}; `rqps profile` takes them");
        progress.note(&note);
        Ok(self.writer.add_note(None, &note)?)
    }

    /// Takes CPU profiles, on servers and data of their own. Returns their number.
    ///
    /// # Errors
    /// If one cannot be taken; those before it are kept.
    pub fn profile(
        &mut self,
        request: &ProfileRequest,
        progress: &mut dyn Progress,
        stop: &AtomicBool,
    ) -> Result<usize> {
        let instances = Mutex::new(Vec::new());
        let mut profiles = Profiles {
            setup: &self.setup,
            writer: &mut self.writer,
            first_seq: self.schedule.actions.len() as u32,
        };
        let taken = with_watchdog(stop, &instances, || {
            profiles.run(request, &mut RunControl { progress, stop, instances: &instances })
        });
        taken.map_err(|error| if stopped(stop) { Error::Interrupted } else { error })
    }

    fn measure_blocks(&mut self, control: &mut RunControl<'_>) -> Result<Finish> {
        let (limits, run) = (self.limits(), self.writer.run()?);
        let done = run.blocks_done();
        let mut blocks = Blocks {
            setup: &self.setup,
            writer: &mut self.writer,
            keep_data: self.keep_data,
            limits,
            continued_by: self.continued_by,
            died: BTreeSet::new(),
            given_up: BTreeMap::new(),
            invalid: BTreeSet::new(),
            forecast: Forecast::of(&self.setup, (limits, self.told, self.longer), (self.spent, done)),
        };
        let ending = blocks.run(control)?;
        Ok(match blocks.given_up.into_values().collect::<Vec<_>>() {
            errors if errors.is_empty() => Finish::Ended(ending),
            errors => Finish::Partly(errors),
        })
    }

    fn walk(&mut self, control: &mut RunControl<'_>) -> Result<Finish> {
        let mut active = Servers::default();
        let mut given_up = GivenUp::from(self.try_arms(control)?);
        let actions = self.schedule.actions.clone();
        let mut pass = 1;
        for action in &actions {
            if self.done.contains(&action.seq) || given_up.leaves_out(action) {
                continue;
            }
            if action.pass != pass {
                pass = action.pass;
                control.progress.stage(&format!("pass {pass} of {}", self.plan().passes));
            }
            let in_turns = self.in_turns(action, &given_up);
            if !in_turns.is_empty() {
                let outcomes =
                    control.check().and_then(|()| self.run_in_turns(&in_turns, &mut active, control))?;
                for (action, outcome) in in_turns.iter().zip(outcomes) {
                    self.conclude(action, outcome, (&mut active, &mut given_up), control)?;
                }
                continue;
            }
            let outcome = control.check().and_then(|()| self.run_action(action, &mut active, control));
            self.conclude(action, outcome, (&mut active, &mut given_up), control)?;
        }
        if given_up.is_empty() {
            return Ok(Finish::Complete);
        }
        Ok(Finish::Partly(given_up.into_errors()))
    }

    /// Continues after an action, without its arm if that failed and the run may do without it.
    fn conclude(
        &mut self,
        action: &Action,
        outcome: Result<()>,
        (active, given_up): (&mut Servers, &mut GivenUp),
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        let dbms = self.setup.plan.arms[action.arm].build.dbms;
        let is_damage = outcome.as_ref().is_err_and(|error| error.is_damage(dbms));
        if is_damage {
            self.load_anew(action)?;
        }
        match outcome {
            Ok(()) if self.several_passes() => self.finish_pass(action.pass, given_up)?,
            Ok(()) => {}
            Err(error)
                if error.faulty_arm().is_some()
                    && self.may_give_up(action.arm)
                    && (is_damage || error.is_mishap() || !self.is_useless_without(action.arm)) =>
            {
                drop(active.take(action.arm));
                let is_first = !given_up.has(action.arm) && (error.is_transient() || is_damage);
                let only_in = Some(action.pass).filter(|_| is_first && self.next_pass_can_measure(action));
                self.note_given_up(action.arm, only_in, &error, control)?;
                given_up.insert(action.arm, only_in, error);
                if self.several_passes() {
                    let run = self.writer.run()?;
                    self.finish_passes(&run, given_up)?;
                }
            }
            Err(error) => {
                if !active.is_empty() && matches!(error, Error::Interrupted) {
                    let text = format!(
                        "interrupted: stopping the {} (a second Ctrl-C ends it at once)",
                        dbms.terms().program
                    );
                    control.progress.note(&text);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Starts every arm once before the first action. Returns the arms that did not start, with their errors.
    fn try_arms(&mut self, control: &mut RunControl<'_>) -> Result<BTreeMap<usize, Error>> {
        if !self.is_new() {
            return Ok(BTreeMap::new());
        }
        let mut trial = Trial { setup: &self.setup, writer: &mut self.writer };
        let failures = trial.failures(control)?;
        let is_left = |arm: &usize| *arm != self.setup.plan.base_index() && !failures.contains_key(arm);
        let compares = (0..self.setup.plan.arms.len()).any(|arm| is_left(&arm));
        let mut given_up = BTreeMap::new();
        for (arm, error) in failures {
            if !compares || !self.may_give_up(arm) || self.is_useless_without(arm) {
                return Err(error);
            }
            self.note_given_up(arm, None, &error, control)?;
            given_up.insert(arm, error);
        }
        Ok(given_up)
    }

    fn run_action(
        &mut self,
        action: &Action,
        active: &mut Servers,
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        let arm = self.setup.plan.arms[action.arm].name.clone();
        if self.several_passes() {
            self.begin_pass(action.pass)?;
        }
        control.progress.action_started(&[action.seq], &arm, action.kind.name());
        let done = self.prepare(action, active, control).and_then(|()| {
            let attempt = self.writer.begin_action(action.seq)?;
            let started_at_ms = now_ms();
            let done = self.execute(action, attempt, active, control)?;
            Ok((attempt, started_at_ms, done))
        });
        // A stop may have cut the action short, even if it reports success.
        control.check()?;
        self.journal(action, done?, control)
    }

    /// Records an action that is done, with its attempt and when that started.
    pub(crate) fn journal(
        &mut self,
        action: &Action,
        (attempt, started_at_ms, done): (u32, i64, Done),
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        let arm = self.setup.plan.arms[action.arm].name.clone();
        let outcome = match &done.invalid {
            Some(_) => Outcome::Invalid,
            None => Outcome::Done,
        };
        let mut result = done.summary;
        if let Some(why) = &done.invalid {
            result = format!("INVALID: {why} ({result})");
        }
        let record = ActionRecord {
            seq: action.seq,
            arm: arm.clone(),
            kind: kind_name(&action.kind).to_owned(),
            step: step_name(&action.kind).to_owned(),
            attempt,
            started_at_ms,
            finished_at_ms: now_ms(),
            outcome,
            note: done.invalid.or(done.note),
        };
        if self.replays.remove(&action.seq).is_some() {
            self.writer.finish_replay(action.seq)?;
            result = format!("repeated for its data: {result}");
        } else {
            self.writer.finish_action(&record, done.observation.as_ref())?;
        }
        self.done.insert(action.seq);
        control.progress.action_finished(action.seq, &arm, action.kind.name(), &result);
        Ok(())
    }

    /// Starts the arm's server if the action needs one. The action has not begun if this fails.
    pub(crate) fn prepare(
        &mut self,
        action: &Action,
        active: &mut Servers,
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        active.run_only(action.arm, control)?;
        if active.has(action.arm) {
            return Ok(());
        }
        match &action.kind {
            ActionKind::Start | ActionKind::Stop => {}
            // An interrupted load starts over from an empty directory.
            ActionKind::Load(_) => active.put(self.start_fresh(action.arm, control)?),
            _ => active.put(self.start_again(action.arm, control)?),
        }
        Ok(())
    }

    fn execute(
        &mut self,
        action: &Action,
        attempt: u32,
        active: &mut Servers,
        control: &mut RunControl<'_>,
    ) -> Result<Done> {
        if matches!(action.kind, ActionKind::Start) {
            active.put(self.start_fresh(action.arm, control)?);
            return Ok(Done::plain("started"));
        }
        if matches!(action.kind, ActionKind::Stop) {
            return self.stop(action.arm, active.take(action.arm), control);
        }
        let Some(arm) = active.get(action.arm) else {
            return self.stop(action.arm, None, control);
        };
        let task = Task { plan: &self.setup.plan, driver: self.setup.driver, arm };
        let outcome = match &action.kind {
            ActionKind::Load(LoadDef { test, .. }) => load(&task, test, control),
            ActionKind::Vacuum => vacuum(&task, control),
            ActionKind::Settle(step) => settle(&task, (step.seconds_min, step.seconds_max), control),
            ActionKind::Measure(step) => self.measure(arm, step, (action, attempt), control),
            ActionKind::Start | ActionKind::Stop => Ok(Done::plain("")),
        };
        ended(arm, &action.kind, outcome, control)
    }

    fn spec(&self, arm: usize) -> ServerSpec {
        let data_dir = self.setup.place.data_dir(&self.setup.plan.arms[arm].name);
        server_spec(&self.setup.plan, arm, &self.setup.ingredients[arm], data_dir, self.writer.folder())
    }

    /// Creates a data directory and starts a server on it.
    fn start_fresh(&mut self, index: usize, control: &mut RunControl<'_>) -> Result<ActiveArm> {
        let spec = self.spec(index);
        let arm = &self.setup.plan.arms[index];
        let system = self.setup.ingredients[index].system;
        let applied = system.create(&spec, control.stop).map_err(not_started(&arm.name, &spec.data_dir))?;
        self.setup.place.write_owner()?;
        let mut active = ActiveArm::start(index, &arm.name, (system, &spec), control)?;
        let entry = record(
            arm,
            arm.name == self.setup.plan.base,
            &self.setup.ingredients[index],
            Some(&applied),
            Some(active.facts(control)?),
        );
        self.writer.put_arm(&entry)?;
        Ok(active)
    }

    /// Starts a server on the data directory that an earlier process left.
    fn start_again(&mut self, index: usize, control: &mut RunControl<'_>) -> Result<ActiveArm> {
        let name = &self.setup.plan.arms[index].name;
        let spec = self.spec(index);
        if !spec.data_dir.exists() {
            return Err(Error::DataGone { arm: name.clone(), place: spec.data_dir });
        }
        let active = ActiveArm::start(index, name, (self.setup.ingredients[index].system, &spec), control)?;
        let program = self.setup.plan.arms[index].build.dbms.terms().program;
        self.writer.add_note(Some(name), &format!("{program} started again on the data it left"))?;
        Ok(active)
    }

    /// Stops the arm's server. All results of the arm are journaled, so an unclean shutdown is only noted.
    fn stop(&mut self, index: usize, active: Option<ActiveArm>, control: &RunControl<'_>) -> Result<Done> {
        let arm = &self.setup.plan.arms[index].name;
        if !self.keep_data {
            if let Some(active) = active {
                active.instance.discard();
            }
            self.setup.place.remove_arm(arm)?;
            return Ok(Done::plain("stopped, data removed"));
        }
        let unclean = active.and_then(|active| active.instance.stop(control.stop).err());
        let data_dir = self.setup.place.data_dir(arm);
        Ok(Done {
            note: unclean.map(|error| error.to_string()),
            ..Done::plain(format!("stopped, data kept in {}", data_dir.display()))
        })
    }
}

fn stopped(stop: &AtomicBool) -> bool {
    stop.load(Ordering::Relaxed)
}

/// The outcome of an action, whose changes are durable then, or what its error comes from.
pub(crate) fn ended<T>(
    arm: &mut ActiveArm,
    kind: &ActionKind,
    outcome: Result<T>,
    control: &RunControl<'_>,
) -> Result<T> {
    let durable = outcome.and_then(|done| {
        if changes_data(kind) {
            arm.make_durable()?;
        }
        Ok(done)
    });
    durable.map_err(|error| arm.failed(kind.name(), error, control))
}
