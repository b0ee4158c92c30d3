//! Loads: what the arms of blocks start from, each made once and kept as a snapshot.
//!
//! Arms whose builds can read each other's data directory share their loads, so that what a load happens to leave
//! is on both sides of their comparison. The control has loads of its own: it shows what loads differ by. Statements
//! that an arm alone is given run on a copy of the shared load. Every load is made [`rqps_plan::isolated::LOADS`]
//! times, when the first block needs it.

use super::data::{Data, StartOptions, in_place};
use super::{Blocks, Done};
use crate::arm::{ActiveArm, Ingredients, not_started, record};
use crate::control::RunControl;
use crate::error::{Error, Result};
use crate::work::{Task, after_load, load_tables, settle};
use rqps_plan::Plan;
use rqps_plan::isolated::LOADS;
use rqps_servers::ServerSpec;
use rqps_store::{Observation, Outcome, Run, now_ms};
use std::collections::BTreeMap;

/// Where an arm's data come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin {
    /// The arm that loads the tables.
    pub loader: usize,
    /// The arm whose own statements follow the load, where there are any.
    pub changer: Option<usize>,
}

/// A snapshot, by what made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Made {
    /// Whose name the action has.
    arm: usize,
    /// Whether it holds what that arm's statements made of the load, or the load itself.
    changed: bool,
    /// From 1.
    load: u32,
}

impl Origin {
    /// What an arm is restored from.
    pub fn made(&self, load: u32) -> Made {
        match self.changer {
            Some(arm) => Made { arm, changed: true, load },
            None => self.loaded(load),
        }
    }

    fn loaded(&self, load: u32) -> Made {
        Made { arm: self.loader, changed: false, load }
    }
}

impl Made {
    /// Its name in the run's place.
    pub fn dir_name(&self, plan: &Plan) -> String {
        let kind = if self.changed { "changed" } else { "load" };
        format!("{kind}-{}-{}", self.load, plan.arms[self.arm].name)
    }

    /// The step of its action.
    fn step(&self) -> String {
        let kind = if self.changed { "after load" } else { "load" };
        if self.load == 1 { kind.to_owned() } else { format!("{kind} {}", self.load) }
    }
}

/// Where each arm's data come from, by index of the plan's arms, as far as versions and options tell.
pub(super) fn origins(plan: &Plan, ingredients: &[Ingredients]) -> Vec<Origin> {
    let key = |arm: usize| {
        let Ingredients { build, config, system } = &ingredients[arm];
        let planned = &plan.arms[arm];
        (system.data_key(build, config), (planned.control || planned.own_load).then_some(arm))
    };
    let first = |is_like: &dyn Fn(usize) -> bool| (0..plan.arms.len()).find(|arm| is_like(*arm));
    let origin = |arm: usize| {
        let own = &plan.arms[arm].after_load;
        let is_like = |other: usize| key(other) == key(arm);
        let changes_alike = |other: usize| is_like(other) && plan.arms[other].after_load == *own;
        Origin {
            loader: first(&is_like).unwrap_or(arm),
            changer: first(&changes_alike).filter(|_| !own.is_empty()),
        }
    };
    (0..plan.arms.len()).map(origin).collect()
}

/// Snapshots that are journaled, with the numbers of their actions.
pub(super) fn journaled(plan: &Plan, run: &Run) -> BTreeMap<Made, u32> {
    let loads = run.loads.iter().map(|load| &load.action).filter(|action| action.outcome == Outcome::Done);
    let changes = run.settles.iter().map(|settle| &settle.action);
    let mut made = BTreeMap::new();
    for (action, changed) in loads.map(|load| (load, false)).chain(changes.map(|settle| (settle, true))) {
        let arm = plan.arms.iter().position(|arm| arm.name == action.arm);
        let of = |load| Some(Made { arm: arm?, changed, load }).filter(|made| made.step() == action.step);
        if let Some(found) = (1..=LOADS).find_map(of) {
            made.insert(found, action.seq);
        }
    }
    made
}

/// Something that is done for an arm.
type ForArm<'a> = dyn Fn(&mut Data, &mut Blocks<'_>, usize, &mut RunControl<'_>) -> Result<()> + 'a;

impl Data {
    /// Makes what all arms start from with this load, where it is not there yet.
    pub fn provide_all(
        &mut self,
        blocks: &mut Blocks<'_>,
        load: u32,
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        self.for_all(blocks, control, &|data, blocks, arm, control| data.provide(blocks, arm, load, control))
    }

    /// Starts every arm once on its data, and notes what its server says of itself.
    pub fn introduce_all(&mut self, blocks: &mut Blocks<'_>, control: &mut RunControl<'_>) -> Result<()> {
        self.for_all(blocks, control, &Self::introduce)
    }

    /// Does this for every arm that is not given up. An arm whose server does not start on what another loaded gets
    /// loads of its own; one that cannot even so, or that refuses its own statements, is given up.
    fn for_all(
        &mut self,
        blocks: &mut Blocks<'_>,
        control: &mut RunControl<'_>,
        work: &ForArm<'_>,
    ) -> Result<()> {
        for arm in 0..blocks.setup.plan.arms.len() {
            Blocks::go_on(control)?;
            if blocks.given_up.contains_key(&arm) {
                continue;
            }
            let mut done = work(self, blocks, arm, control);
            if let Err(error) = &done
                && self.origins[arm].loader != arm
                && error.faulty_arm().is_some()
                && matches!(error, Error::NotStarted { .. } | Error::ServerDied { .. })
            {
                self.load_by_itself(blocks, arm, error, control)?;
                done = work(self, blocks, arm, control);
            }
            if let Err(error) = done {
                blocks.give_up(error, control)?;
                blocks.setup.place.remove_arm(&blocks.setup.plan.arms[arm].name)?;
            }
        }
        Ok(())
    }

    /// Has an arm, and those of its build, start from loads of their own from now on, and says so.
    fn load_by_itself(
        &mut self,
        blocks: &mut Blocks<'_>,
        arm: usize,
        why: &Error,
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        let loader = self.origins[arm].loader;
        let arms = &blocks.setup.plan.arms;
        blocks.setup.place.remove_arm(&arms[loader].name)?;
        let (name, of) = (&arms[arm].name, &arms[loader].name);
        let text = format!("{name} gets its own loads because it cannot start on those of {of}: ");
        let text = text + &why.in_short();
        control.progress.note(&text);
        blocks.writer.add_note(Some(name), &text)?;
        let hash = |arm: usize| &blocks.setup.ingredients[arm].build.hash;
        for other in arm..arms.len() {
            if self.origins[other].loader == loader && hash(other) == hash(arm) {
                self.origins[other].loader = arm;
            }
        }
        Ok(())
    }

    fn provide(
        &mut self,
        blocks: &mut Blocks<'_>,
        arm: usize,
        load: u32,
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        let origin = self.origins[arm];
        for made in [origin.loaded(load), origin.made(load)] {
            let is_there = blocks.setup.place.data_dir(&made.dir_name(&blocks.setup.plan)).exists();
            if !is_there || !self.made.contains_key(&made) {
                self.make(blocks, made, origin, control)?;
            }
        }
        Ok(())
    }

    fn introduce(&mut self, blocks: &mut Blocks<'_>, arm: usize, control: &mut RunControl<'_>) -> Result<()> {
        self.provide(blocks, arm, 1, control)?;
        let options = StartOptions { side: 0, cpu_turn: 0, load: 1, instrument: None, as_left: true };
        self.restored_by = self.restore(blocks, arm, &options, control)?;
        let mut active = self.start(blocks, arm, options, control)?;
        let (facts, applied) = (active.facts()?, active.instance.applied().clone());
        active.instance.discard();
        let planned = &blocks.setup.plan.arms[arm];
        let is_base = planned.name == blocks.setup.plan.base;
        let entry = record(planned, is_base, &blocks.setup.ingredients[arm], Some(&applied), Some(facts));
        Ok(blocks.writer.put_arm(&entry)?)
    }

    /// Makes a snapshot, and journals it with the state that it holds.
    fn make(
        &mut self,
        blocks: &mut Blocks<'_>,
        made: Made,
        origin: Origin,
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        let plan = &blocks.setup.plan;
        let name = plan.arms[made.arm].name.clone();
        let system = blocks.setup.ingredients[made.arm].system;
        let data_dir = blocks.setup.place.data_dir(&name);
        let spec = in_place(blocks, made.arm, data_dir.clone());
        // Arms that share what is loaded may differ in their environment.
        let spec = ServerSpec { env: BTreeMap::new(), ..spec };
        if made.changed {
            let from = blocks.setup.place.data_dir(&origin.loaded(made.load).dir_name(plan));
            system.copy_data(&from, &data_dir, control.stop).map_err(not_started(&name, &data_dir))?;
        } else {
            system.create(&spec, control.stop).map_err(not_started(&name, &data_dir))?;
            blocks.setup.place.sign()?;
        }
        let begun = blocks.begin()?;
        let (seq, started_at_ms, step) = (begun.seq, now_ms(), made.step());
        control.progress.action_started(seq, &name, &step);
        let mut active = ActiveArm::start(made.arm, &name, (system, &spec), control)?;
        let task = Task { plan, driver: blocks.setup.driver, arm: &active };
        let filled = fill(&task, made.changed, control);
        let Filled { observation, summary, open } = filled.map_err(|failure| {
            if control.stopped() { Error::Interrupted } else { active.judge(&step, failure) }
        })?;
        active.instance.stop(control.stop).map_err(not_started(&name, &data_dir))?;
        let to = blocks.setup.place.data_dir(&made.dir_name(plan));
        system.copy_data(&data_dir, &to, control.stop).map_err(not_started(&name, &to))?;
        blocks.setup.place.remove_arm(&name)?;
        if let Some(open) = open {
            blocks.writer.add_note(Some(&name), &format!("{step}: not at rest when it was kept: {open}"))?;
        }
        let kind = if made.changed { "settle" } else { "load" };
        let done = Done { arm: &name, kind, step: &step, started_at_ms, invalid: None };
        blocks.finish(begun, done, observation.as_ref())?;
        self.made.insert(made, seq);
        control.progress.action_finished(seq, &name, &step, &summary);
        Ok(())
    }
}

/// What a server holds that is about to be kept.
struct Filled {
    /// With the state as fingerprint.
    observation: Option<Observation>,
    summary: String,
    /// Conditions of rest that were not reached.
    open: Option<String>,
}

/// Loads the tables, or runs the arm's statements on them; then brings the server to rest.
fn fill(task: &Task<'_>, is_loaded: bool, control: &mut RunControl<'_>) -> Result<Filled> {
    let loaded = match is_loaded {
        true => after_load(task, control).map(|()| None)?,
        false => Some(load_tables(task, control)?),
    };
    let settled = settle(task, (0, task.plan.workload.settle_seconds_max), control)?;
    let open = settled.note.clone();
    let done = loaded.unwrap_or(settled);
    let doing = "reading the state that a load left";
    let mut admin = task.arm.admin(doing)?;
    let fingerprint = admin.fingerprint()?;
    admin.before_keeping().map_err(Error::session(&task.arm.name, doing))?;
    let observation = done.observation.map(|observation| Observation { fingerprint, ..observation });
    Ok(Filled { observation, summary: done.summary, open })
}
