//! Walking the schedule.

use crate::arm::{ActiveArm, Ingredients, record};
use crate::error::{Error, Result};
use crate::measure::{StepInput, measure};
use crate::observe::{WORK_WARMUP, WORK_WINDOW};
use crate::postgres::load::{LoadTimes, Tables, load};
use crate::postgres::settle::{Debt, settle, vacuum};
use crate::watch::Watcher;
use rqps_driver::Work;
use rqps_plan::{Action, ActionKind, Limit, OnServerDeath, Plan, Schedule, Transport, WriteWork};
use rqps_servers::{Dirs, Server, ServerSpec, remove_data_dir};
use rqps_store::{
    ActionRecord, Load, Measured, Observation, Outcome, Run, RunWriter, Status, now_ms,
};
use rqps_workloads::random::name_word;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How a run ended that did not fail as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finish {
    /// Every action is done.
    Complete,
    /// Some arms were given up; what is left of them can be resumed.
    Partly(Vec<String>),
}

/// A run in hand.
pub struct Execution {
    plan: Plan,
    schedule: Schedule,
    ingredients: Vec<Ingredients>,
    dirs: Dirs,
    writer: RunWriter,
    done: BTreeSet<u32>,
    /// What base did, by step.
    base_work: BTreeMap<String, Work>,
    keep_data: bool,
}

/// What an action gave.
struct Done {
    observation: Option<Observation>,
    invalid: Option<String>,
    note: Option<String>,
    summary: String,
}

impl Done {
    fn plain(summary: impl Into<String>) -> Self {
        Self {
            observation: None,
            invalid: None,
            note: None,
            summary: summary.into(),
        }
    }
}

impl Execution {
    pub(crate) fn new(
        plan: Plan,
        schedule: Schedule,
        ingredients: Vec<Ingredients>,
        dirs: Dirs,
        writer: RunWriter,
    ) -> Self {
        Self {
            plan,
            schedule,
            ingredients,
            dirs,
            writer,
            done: BTreeSet::new(),
            base_work: BTreeMap::new(),
            keep_data: false,
        }
    }

    /// Data directories stay when their arm is finished.
    pub fn keep_data(&mut self) {
        self.keep_data = true;
    }

    /// The plan that is carried out.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Its schedule.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Numbers of the actions that need not be done again.
    pub fn done(&self) -> &BTreeSet<u32> {
        &self.done
    }

    /// Where the run is kept.
    pub fn folder(&self) -> PathBuf {
        self.writer.folder().path().to_owned()
    }

    /// Reads back what an earlier process finished.
    pub(crate) fn take_up(&mut self, run: &Run) -> Result<()> {
        self.done = self.writer.done_actions()?;
        for action in &run.actions {
            if action.arm != self.plan.base
                || action.kind != "measure"
                || action.outcome != Outcome::Done
            {
                continue;
            }
            let series = run.series(action.seq)?;
            let counts = |name: &str| {
                let found = series.iter().find(|series| series.name == name);
                found
                    .map(|s| s.values.iter().map(|n| *n as u64).collect::<Vec<_>>())
                    .unwrap_or_default()
            };
            let work = Work {
                warmup: counts(WORK_WARMUP),
                window: counts(WORK_WINDOW),
            };
            self.base_work.insert(action.step.clone(), work);
        }
        self.writer.add_note(None, "resumed")?;
        Ok(())
    }

    /// Does what is not done yet. Servers are stopped however it ends, and the run folder says why it ended.
    pub fn run(&mut self, watcher: &mut dyn Watcher, stop: &AtomicBool) -> Result<Finish> {
        self.writer.set_status(Status::Running, None)?;
        let outcome = self.walk(watcher, stop);
        let (status, reason) = match &outcome {
            Ok(Finish::Complete) => (Status::Complete, None),
            Ok(Finish::Partly(arms)) => (
                Status::Failed,
                Some(format!("given up: {}", arms.join(", "))),
            ),
            Err(Error::Interrupted) => (Status::Interrupted, Some("by the user".to_owned())),
            Err(error) => (Status::Failed, Some(error.to_string())),
        };
        let recorded = self.writer.set_status(status, reason.as_deref());
        let finish = outcome?;
        recorded?;
        Ok(finish)
    }

    fn walk(&mut self, watcher: &mut dyn Watcher, stop: &AtomicBool) -> Result<Finish> {
        let mut active: Option<ActiveArm> = None;
        let mut given_up: BTreeSet<usize> = BTreeSet::new();
        let actions = self.schedule.actions.clone();
        for action in &actions {
            if self.done.contains(&action.seq) || given_up.contains(&action.arm) {
                continue;
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            match self.one_action(action, &mut active, watcher, stop) {
                Ok(()) => {}
                Err(error @ Error::ServerDied { .. }) if self.may_go_on(action.arm) => {
                    active = None;
                    given_up.insert(action.arm);
                    let text = error.to_string();
                    watcher.note(&text);
                    self.writer
                        .add_note(Some(&self.plan.arms[action.arm].name), &text)?;
                }
                Err(error) => return Err(error),
            }
        }
        if given_up.is_empty() {
            return Ok(Finish::Complete);
        }
        Ok(Finish::Partly(
            given_up
                .iter()
                .map(|arm| self.plan.arms[*arm].name.clone())
                .collect(),
        ))
    }

    /// Whether the next arm may follow when this one's server died: not when it still owes the others their work.
    fn may_go_on(&self, arm: usize) -> bool {
        let sets_work = arm == self.plan.base_index()
            && self.plan.workload.write_work == WriteWork::AsBase
            && self.plan.arms.len() > 1;
        self.plan.on_server_death == OnServerDeath::NextArm && !sets_work
    }

    fn one_action(
        &mut self,
        action: &Action,
        active: &mut Option<ActiveArm>,
        watcher: &mut dyn Watcher,
        stop: &AtomicBool,
    ) -> Result<()> {
        let name = self.plan.arms[action.arm].name.clone();
        watcher.begins(action.seq, &name, action.kind.name());
        let attempt = self.writer.begin_action(action.seq)?;
        let started_at_ms = now_ms();
        if active.as_ref().is_some_and(|arm| arm.index != action.arm) {
            stop_server(active)?;
        }
        let done = match &action.kind {
            ActionKind::Start => {
                *active = Some(self.start_fresh(action.arm)?);
                Done::plain("started")
            }
            ActionKind::Stop => {
                stop_server(active)?;
                self.remove_data(action.arm)?;
                Done::plain("stopped")
            }
            _ => {
                let again = matches!(action.kind, ActionKind::Load) && attempt > 1;
                if active.is_none() {
                    *active = Some(if again {
                        self.start_fresh(action.arm)?
                    } else {
                        self.start_again(action.arm)?
                    });
                }
                let Some(arm) = active.as_mut() else {
                    return Ok(());
                };
                self.on_server(action, arm, attempt, watcher, stop)?
            }
        };
        let outcome = if done.invalid.is_some() {
            Outcome::Invalid
        } else {
            Outcome::Done
        };
        let note = done.invalid.or(done.note);
        let record = ActionRecord {
            seq: action.seq,
            arm: name.clone(),
            kind: kind_name(&action.kind).to_owned(),
            step: step_name(&action.kind).to_owned(),
            attempt,
            started_at_ms,
            finished_at_ms: now_ms(),
            outcome,
            note: note.clone(),
        };
        self.writer
            .finish_action(&record, done.observation.as_ref())?;
        self.done.insert(action.seq);
        let mut result = done.summary;
        if outcome == Outcome::Invalid {
            result = format!("INVALID: {} ({result})", note.unwrap_or_default());
        }
        watcher.ends(action.seq, &name, action.kind.name(), &result);
        Ok(())
    }

    fn on_server(
        &mut self,
        action: &Action,
        arm: &mut ActiveArm,
        attempt: u32,
        watcher: &mut dyn Watcher,
        stop: &AtomicBool,
    ) -> Result<Done> {
        let step = action.kind.name();
        let outcome = match &action.kind {
            ActionKind::Load => self.load(arm, watcher, stop),
            ActionKind::Vacuum => self.vacuum(arm, watcher, stop),
            ActionKind::Settle(what) => self.settle(arm, what.seconds_max, watcher, stop),
            ActionKind::Measure(what) => {
                let base_work = self.base_work.get(&what.step).cloned();
                let lacks_work = matches!(what.limit, Limit::AsBase { .. }) && base_work.is_none();
                let input = StepInput {
                    plan: &self.plan,
                    measure: what,
                    attempt,
                    base_work,
                    stop,
                };
                measure(arm, &input, watcher).map(|output| {
                    if arm.name == self.plan.base {
                        self.base_work.insert(what.step.clone(), output.work);
                    }
                    Done {
                        observation: Some(output.observation),
                        invalid: output.invalid,
                        note: lacks_work
                            .then(|| "base has no valid result: ran by time".to_owned()),
                        summary: output.summary,
                    }
                })
            }
            ActionKind::Start | ActionKind::Stop => Ok(Done::plain("")),
        };
        match outcome {
            Ok(_) if stop.load(Ordering::Relaxed) => Err(Error::Interrupted),
            Err(_) if stop.load(Ordering::Relaxed) => Err(Error::Interrupted),
            Err(error @ (Error::Session { .. } | Error::Probe(_))) => {
                match arm.death(Some(error.to_string())) {
                    Some(cause) => Err(arm.died(step, cause)),
                    None => Err(error),
                }
            }
            other => other,
        }
    }

    fn load(&self, arm: &ActiveArm, watcher: &mut dyn Watcher, stop: &AtomicBool) -> Result<Done> {
        let workload = &self.plan.workload;
        let tables = Tables {
            tables: workload.tables,
            rows: workload.rows,
            seed: self.plan.seed,
        };
        let start = Instant::now();
        let loaded = load(&arm.endpoint, tables, |what, rows| {
            let elapsed_s = start.elapsed().as_secs_f64();
            let rate = (rows > 0).then_some((rows as f64 / elapsed_s, "rows/s"));
            watcher.goes_on(what, elapsed_s, rate);
            !stop.load(Ordering::Relaxed)
        });
        let loaded = loaded.map_err(Error::session(&arm.name, "loading"))?;
        let Some(LoadTimes { rows, indexes }) = loaded else {
            return Err(Error::Interrupted);
        };
        let load = Load {
            tables: workload.tables,
            rows: workload.rows_total(),
            load_us: rows.as_micros() as u64,
            index_us: indexes.as_micros() as u64,
        };
        let summary = format!(
            "{:.0} rows/s with indexes",
            load.rows_per_s().unwrap_or(0.0)
        );
        Ok(Done {
            observation: Some(Observation::new(Measured::Load(load))),
            ..Done::plain(summary)
        })
    }

    fn vacuum(
        &self,
        arm: &ActiveArm,
        watcher: &mut dyn Watcher,
        stop: &AtomicBool,
    ) -> Result<Done> {
        let start = Instant::now();
        let finished = vacuum(
            &arm.endpoint,
            arm.version_num,
            self.plan.workload.tables,
            || {
                watcher.goes_on("vacuum", start.elapsed().as_secs_f64(), None);
                !stop.load(Ordering::Relaxed)
            },
        );
        if !finished.map_err(Error::session(&arm.name, "vacuum"))? {
            return Err(Error::Interrupted);
        }
        Ok(Done::plain(format!(
            "{:.1} s",
            start.elapsed().as_secs_f64()
        )))
    }

    fn settle(
        &self,
        arm: &ActiveArm,
        seconds_max: u32,
        watcher: &mut dyn Watcher,
        stop: &AtomicBool,
    ) -> Result<Done> {
        let debt = Debt {
            tables: self.plan.workload.tables,
            rows_total: self.plan.workload.rows_total(),
            cap: Duration::from_secs(u64::from(seconds_max)),
        };
        let mut admin = arm.admin("settling")?;
        let settled = settle(
            &arm.name,
            &mut admin,
            &arm.endpoint,
            &self.data_dir(arm.index),
            debt,
            |what, elapsed_s| {
                watcher.goes_on(what, elapsed_s, None);
                !stop.load(Ordering::Relaxed)
            },
        )?;
        let Some(settled) = settled else {
            return Err(Error::Interrupted);
        };
        let seconds = settled.elapsed_us as f64 / 1e6;
        let open: Vec<_> = settled
            .conditions
            .iter()
            .filter(|c| c.after > c.target)
            .map(|c| format!("{} {} above {}", c.name, c.after, c.target))
            .collect();
        let (summary, note) = if settled.reached {
            (format!("at rest after {seconds:.1} s"), None)
        } else {
            let open = open.join(", ");
            (
                format!("cap of {seconds_max} s reached: {open}"),
                Some(open),
            )
        };
        Ok(Done {
            observation: Some(Observation::new(Measured::Settle(settled))),
            note,
            ..Done::plain(summary)
        })
    }

    fn spec(&self, arm: usize) -> ServerSpec {
        let Ingredients { build, config } = self.ingredients[arm].clone();
        ServerSpec {
            build,
            config,
            data_dir: self.data_dir(arm),
            log_dir: self
                .writer
                .folder()
                .logs_dir()
                .join(&self.plan.arms[arm].name),
            clients_max: self.schedule.clients_max(),
            tcp: self.plan.workload.transport == Transport::Tcp,
        }
    }

    /// Below the work directory, under a name that belongs to this run folder alone.
    fn data_dir(&self, arm: usize) -> PathBuf {
        let folder = self.writer.folder();
        let path = folder
            .path()
            .canonicalize()
            .unwrap_or_else(|_| folder.path().to_owned());
        let run = format!(
            "{}-{:016x}",
            folder.name(),
            name_word(&path.to_string_lossy())
        );
        self.dirs
            .work
            .join(run)
            .join(&self.plan.arms[arm].name)
            .join("data")
    }

    /// A new data directory and a server on it.
    fn start_fresh(&mut self, index: usize) -> Result<ActiveArm> {
        let spec = self.spec(index);
        let applied = Server::init(&spec)?;
        let arm = &self.plan.arms[index];
        let active = ActiveArm::start(index, &arm.name, &spec)?;
        let is_base = arm.name == self.plan.base;
        let version_text = Some(active.version_text()?);
        let entry = record(
            arm,
            is_base,
            &self.ingredients[index],
            Some(&applied),
            version_text,
        );
        self.writer.put_arm(&entry)?;
        Ok(active)
    }

    /// A server on the data directory that an earlier process left.
    fn start_again(&mut self, index: usize) -> Result<ActiveArm> {
        let name = &self.plan.arms[index].name;
        let active = ActiveArm::start(index, name, &self.spec(index))?;
        self.writer
            .add_note(Some(name), "server started again on the data it left")?;
        Ok(active)
    }

    fn remove_data(&self, arm: usize) -> Result<()> {
        if !self.keep_data {
            remove_data_dir(&self.data_dir(arm))?;
        }
        Ok(())
    }
}

fn stop_server(active: &mut Option<ActiveArm>) -> Result<()> {
    match active.take() {
        Some(arm) => Ok(arm.server.stop()?),
        None => Ok(()),
    }
}

fn kind_name(kind: &ActionKind) -> &'static str {
    match kind {
        ActionKind::Start => "start",
        ActionKind::Load => "load",
        ActionKind::Vacuum => "vacuum",
        ActionKind::Settle(_) => "settle",
        ActionKind::Measure(_) => "measure",
        ActionKind::Stop => "stop",
    }
}

fn step_name(kind: &ActionKind) -> &str {
    match kind {
        ActionKind::Start | ActionKind::Stop => "",
        other => other.name(),
    }
}
