//! Loads that the arms of blocks start from, each made once and kept as a snapshot.
//!
//! Arms whose builds can read each other's data directories share their loads, so that chance differences
//! between loads don't affect their comparison. The control has loads of its own and shows how much loads
//! differ. An arm's `after_load` statements run on a copy of the shared load. Every load is made
//! [`LOADS`] times, each when the first block needs it.

use super::data::{Data, StartOptions, spec_on};
use super::{Blocks, Done};
use crate::arm::{ActiveArm, Ingredients, InstanceFacts, not_started, record};
use crate::control::RunControl;
use crate::error::{Error, Result};
use crate::setup::Setup;
use crate::work::{Task, after_load, load_tables, settle};
use rqps_model::{BLOCKS_SET, LOADS, SET_IN_BLOCKS, START_WARNING, Setting};
use rqps_plan::{Plan, Protocol};
use rqps_servers::{Applied, ServerSpec};
use rqps_store::{Observation, Outcome, Run, now_ms};
use std::collections::{BTreeMap, BTreeSet};

/// An option that blocks set otherwise than an arm's config, or that this lacks.
struct OfBlocks {
    option: String,
    value: String,
    in_config: Option<String>,
}

fn set_by_blocks(Ingredients { config, system, .. }: &Ingredients) -> impl Iterator<Item = OfBlocks> {
    system.config_of_blocks(config).options.into_iter().filter_map(|(option, value)| {
        let in_config =
            config.options.iter().find(|(name, _)| *name == option).map(|(_, value)| value.clone());
        let is_other = in_config.as_ref().is_none_or(|own| !own.eq_ignore_ascii_case(&value));
        is_other.then_some(OfBlocks { option, value, in_config })
    })
}

/// Those that an arm's config sets otherwise.
fn set_in_blocks(ingredients: &Ingredients) -> impl Iterator<Item = Setting> {
    set_by_blocks(ingredients).filter_map(|OfBlocks { option, value, in_config }| {
        let value = format!("{option} = {value} ({} in the config)", in_config?);
        Some(Setting { name: SET_IN_BLOCKS.to_owned(), value })
    })
}

/// What a server warned of when it was started with its config as written, without what blocks set.
fn at_trial(arm: &rqps_store::Arm) -> Vec<String> {
    let warnings = arm.facts.iter().filter(|fact| fact.name == START_WARNING);
    warnings.map(|fact| fact.value.clone()).collect()
}

/// A server's message without its directories, which differ from start to start.
fn without_paths(warning: &str) -> String {
    warning.split(' ').filter(|word| !word.contains('/')).collect::<Vec<_>>().join(" ")
}

/// An arm's entry in the run folder, with what its server said.
pub(crate) fn entry(
    setup: &Setup,
    arm: usize,
    applied: &Applied,
    mut facts: InstanceFacts,
) -> rqps_store::Arm {
    let (planned, ingredients) = (&setup.plan.arms[arm], &setup.ingredients[arm]);
    if setup.plan.protocol == Protocol::Isolated {
        facts.facts.extend(set_in_blocks(ingredients));
    }
    record(planned, planned.name == setup.plan.base, ingredients, Some(applied), Some(facts))
}

/// Where an arm's data come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin {
    /// The arm that loads the tables.
    pub loader: usize,
    /// The arm whose `after_load` statements follow, if it has any.
    pub changer: Option<usize>,
}

/// Identifies a snapshot by how it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Snapshot {
    /// The arm whose server makes it.
    arm: usize,
    /// Whether that arm's `after_load` statements have run on the load.
    changed: bool,
    /// Number of the load, from 1.
    load: u32,
}

impl Origin {
    /// The snapshot that an arm is restored from.
    pub fn snapshot(&self, load: u32) -> Snapshot {
        match self.changer {
            Some(arm) => Snapshot { arm, changed: true, load },
            None => self.loaded(load),
        }
    }

    /// The snapshot of the load itself.
    fn loaded(&self, load: u32) -> Snapshot {
        Snapshot { arm: self.loader, changed: false, load }
    }
}

impl Snapshot {
    /// Its directory in the run's place.
    pub fn dir_name(&self, plan: &Plan) -> String {
        let kind = if self.changed { "changed" } else { "load" };
        format!("{kind}-{}-{}", self.load, plan.arms[self.arm].name)
    }

    /// The step name of its action.
    fn step(&self) -> String {
        let kind = if self.changed { "after load" } else { "load" };
        if self.load == 1 { kind.to_owned() } else { format!("{kind} {}", self.load) }
    }
}

/// Where each arm's data come from, judged by data keys, by index in the plan's arms.
pub(super) fn origins(plan: &Plan, ingredients: &[Ingredients]) -> Vec<Origin> {
    let key = |arm: usize| {
        let Ingredients { build, config, system, .. } = &ingredients[arm];
        let planned = &plan.arms[arm];
        (system.data_key(build, config), (planned.control || planned.own_load).then_some(arm))
    };
    let origin = |arm: usize| {
        let own = &plan.arms[arm].after_load;
        let shares_load = |other: &usize| key(*other) == key(arm);
        let shares_changes = |other: &usize| shares_load(other) && plan.arms[*other].after_load == *own;
        Origin {
            loader: (0..plan.arms.len()).find(shares_load).unwrap_or(arm),
            changer: (0..plan.arms.len()).find(shares_changes).filter(|_| !own.is_empty()),
        }
    };
    (0..plan.arms.len()).map(origin).collect()
}

/// The number of snapshots that all loads of a run make.
pub(crate) fn snapshots_to_make(plan: &Plan, ingredients: &[Ingredients]) -> u64 {
    let snapshots =
        origins(plan, ingredients).into_iter().flat_map(|origin| [origin.loaded(1), origin.snapshot(1)]);
    snapshots.collect::<BTreeSet<Snapshot>>().len() as u64 * u64::from(LOADS)
}

/// Journaled snapshots, with the numbers of their actions.
pub(super) fn journaled(plan: &Plan, run: &Run) -> BTreeMap<Snapshot, u32> {
    let loads = run.loads.iter().map(|load| &load.action).filter(|action| action.outcome == Outcome::Done);
    let changes = run.settles.iter().map(|settle| &settle.action);
    let mut snapshots = BTreeMap::new();
    for (action, changed) in loads.map(|load| (load, false)).chain(changes.map(|settle| (settle, true))) {
        let Some(arm) = plan.arms.iter().position(|arm| arm.name == action.arm) else { continue };
        let all = (1..=LOADS).map(|load| Snapshot { arm, changed, load });
        for snapshot in all.filter(|snapshot| snapshot.step() == action.step) {
            snapshots.insert(snapshot, action.seq);
        }
    }
    snapshots
}

/// Of a run that is resumed: the loads that all its arms have, and how many snapshots are to be made.
pub(super) fn found(setup: &Setup, run: &Run) -> (BTreeSet<u32>, u64) {
    let (origins, journaled) = (origins(&setup.plan, &setup.ingredients), journaled(&setup.plan, run));
    let is_made = |snapshot: &Snapshot| {
        journaled.contains_key(snapshot) && setup.place.data_dir(&snapshot.dir_name(&setup.plan)).exists()
    };
    let of_load = |load: u32| origins.iter().flat_map(move |one| [one.loaded(load), one.snapshot(load)]);
    let made = (1..=LOADS).filter(|load| of_load(*load).all(|snapshot| is_made(&snapshot))).collect();
    let missing: BTreeSet<Snapshot> =
        (1..=LOADS).flat_map(of_load).filter(|snapshot| !is_made(snapshot)).collect();
    (made, missing.len() as u64)
}

/// Work on one arm.
type ForArm<'a> = dyn Fn(&mut Data, &mut Blocks<'_>, usize, &mut RunControl<'_>) -> Result<()> + 'a;

impl Data {
    /// Makes the missing snapshots of this load, for all arms.
    pub fn provide_all(
        &mut self,
        blocks: &mut Blocks<'_>,
        load: u32,
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        self.for_all(blocks, control, &|data, blocks, arm, control| data.provide(blocks, arm, load, control))
    }

    /// Starts every arm once on its data and stores what its server reports about itself.
    pub fn start_all_once(&mut self, blocks: &mut Blocks<'_>, control: &mut RunControl<'_>) -> Result<()> {
        self.for_all(blocks, control, &Self::start_once)
    }

    /// Does `work` for every arm that is not given up. An arm whose server does not start on another arm's
    /// load gets loads of its own. An arm that fails even so, or whose own statements fail, is given up.
    fn for_all(
        &mut self,
        blocks: &mut Blocks<'_>,
        control: &mut RunControl<'_>,
        work: &ForArm<'_>,
    ) -> Result<()> {
        for arm in 0..blocks.setup.plan.arms.len() {
            control.check()?;
            if blocks.given_up.contains_key(&arm) {
                continue;
            }
            let mut done = work(self, blocks, arm, control);
            if let Err(error) = &done
                && self.origins[arm].loader != arm
                && error.faulty_arm().is_some()
                && matches!(error, Error::NotStarted { .. } | Error::ServerDied { .. })
            {
                self.use_own_loads(blocks, arm, error, control)?;
                done = work(self, blocks, arm, control);
            }
            if let Err(error) = done {
                blocks.give_up(error, control)?;
                blocks.setup.place.remove_arm(&blocks.setup.plan.arms[arm].name)?;
            }
        }
        Ok(())
    }

    /// Makes an arm, and later ones of its build, start from loads of their own from now on, and notes it.
    fn use_own_loads(
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
        let because = match why {
            Error::ServerDied { .. } => "its server died on",
            _ => "it cannot start on",
        };
        let text = format!("{name} gets its own loads because {because} those of {of}: ");
        let text = text + &why.short_text();
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
        for snapshot in [origin.loaded(load), origin.snapshot(load)] {
            if !self.is_made(blocks, snapshot) {
                self.make(blocks, snapshot, origin, control)?;
                blocks.foresee_after_load(self, control)?;
            }
        }
        Ok(())
    }

    fn is_made(&self, blocks: &Blocks<'_>, snapshot: Snapshot) -> bool {
        let exists = blocks.setup.place.data_dir(&snapshot.dir_name(&blocks.setup.plan)).exists();
        exists && self.snapshots.contains_key(&snapshot)
    }

    /// The numbers of the loads that all arms have which are not given up.
    pub fn loads_made(&self, blocks: &Blocks<'_>) -> BTreeSet<u32> {
        let arms = self.origins.iter().enumerate().filter(|(arm, _)| !blocks.given_up.contains_key(arm));
        let has_all =
            |load: &u32| arms.clone().all(|(_, origin)| self.is_made(blocks, origin.snapshot(*load)));
        (1..=LOADS).filter(has_all).collect()
    }

    /// The number of snapshots that blocks will need and that are not made.
    pub fn missing(&self, blocks: &Blocks<'_>) -> usize {
        let arms = self.origins.iter().enumerate().filter(|(arm, _)| !blocks.given_up.contains_key(arm));
        let needed = arms.flat_map(|(_, origin)| {
            (1..=LOADS).flat_map(|load| [origin.loaded(load), origin.snapshot(load)])
        });
        let needed: BTreeSet<Snapshot> = needed.collect();
        needed.into_iter().filter(|snapshot| !self.is_made(blocks, *snapshot)).count()
    }

    fn start_once(
        &mut self,
        blocks: &mut Blocks<'_>,
        arm: usize,
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        self.provide(blocks, arm, 1, control)?;
        let options = StartOptions { reuses_data: true, ..StartOptions::FIRST };
        self.restored_by = self.restore(blocks, arm, &options, control)?;
        let mut active = self.start(blocks, arm, options, control)?;
        let (mut facts, applied) = (active.facts(control)?, active.instance.applied().clone());
        let mut earlier = at_trial(&blocks.writer.run()?.arms[arm]);
        earlier.extend(self.load_warnings.get(&arm).into_iter().flatten().cloned());
        for warning in earlier {
            if !facts.warnings.iter().any(|one| without_paths(one) == without_paths(&warning)) {
                facts.warnings.push(warning);
            }
        }
        active.instance.discard();
        let of_blocks = set_by_blocks(&blocks.setup.ingredients[arm]);
        facts.facts.extend(of_blocks.map(|one| Setting { name: BLOCKS_SET.to_owned(), value: one.option }));
        Ok(blocks.writer.put_arm(&entry(blocks.setup, arm, &applied, facts))?)
    }

    /// Makes a snapshot and journals it with its fingerprint.
    fn make(
        &mut self,
        blocks: &mut Blocks<'_>,
        snapshot: Snapshot,
        origin: Origin,
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        let plan = &blocks.setup.plan;
        let name = plan.arms[snapshot.arm].name.clone();
        let system = blocks.setup.ingredients[snapshot.arm].system;
        let data_dir = blocks.setup.place.data_dir(&name);
        let spec = spec_on(blocks, snapshot.arm, data_dir.clone());
        // Arms that share a load may differ in their environment.
        let spec = ServerSpec { env: BTreeMap::new(), ..spec };
        // The time of a load tells how long another one takes.
        let started_at_ms = now_ms();
        if snapshot.changed {
            let from = blocks.setup.place.data_dir(&origin.loaded(snapshot.load).dir_name(plan));
            system.copy_data(&from, &data_dir, control.stop).map_err(not_started(&name, &data_dir))?;
        } else {
            control.doing(&format!("creating a data directory for {}", spec.build.label()));
            system.create(&spec, control.stop).map_err(not_started(&name, &data_dir))?;
            blocks.setup.place.write_owner()?;
        }
        let begun = blocks.begin()?;
        let (seq, step) = (begun.seq, snapshot.step());
        control.progress.action_started(&[seq], &name, &step);
        let mut active = ActiveArm::start(snapshot.arm, &name, (system, &spec), control)?;
        let task = Task { plan, driver: blocks.setup.driver, arm: &active };
        if !snapshot.changed {
            self.load_warnings.insert(snapshot.arm, active.instance.warnings());
        }
        let filled = fill(&task, snapshot.changed, control);
        let Filled { observation, summary, unmet } =
            filled.map_err(|error| active.failed(&step, error, control))?;
        control.doing("stopping the server and copying its data");
        active.instance.stop(control.stop).map_err(not_started(&name, &data_dir))?;
        let to = blocks.setup.place.data_dir(&snapshot.dir_name(plan));
        system.copy_data(&data_dir, &to, control.stop).map_err(not_started(&name, &to))?;
        blocks.setup.place.remove_arm(&name)?;
        if let Some(unmet) = unmet {
            blocks.writer.add_note(
                Some(&name),
                &format!("{step}: not settled when the snapshot was taken: {unmet}"),
            )?;
        }
        let kind = if snapshot.changed { "settle" } else { "load" };
        let done = Done { arm: &name, kind, step: &step, started_at_ms, invalid: None };
        blocks.finish(begun, done, observation.as_ref())?;
        self.snapshots.insert(snapshot, seq);
        control.progress.action_finished(seq, &name, &step, &summary);
        Ok(())
    }
}

/// Result of [`fill`].
struct Filled {
    /// With the fingerprint of the settled server.
    observation: Option<Observation>,
    summary: String,
    /// Settle conditions that were not met.
    unmet: Option<String>,
}

/// Loads the tables, or runs the arm's `after_load` statements on loaded ones; then settles the server.
fn fill(task: &Task<'_>, is_loaded: bool, control: &mut RunControl<'_>) -> Result<Filled> {
    let loaded = match is_loaded {
        true => after_load(task, &task.plan.first_test(), control).map(|()| None)?,
        false => Some(load_tables(task, &task.plan.first_test(), control)?),
    };
    let settled = settle(task, (0, task.plan.workload.settle_seconds_max), control)?;
    let unmet = settled.note.clone();
    let done = loaded.unwrap_or(settled);
    let doing = "reading the state that a load left";
    let mut admin = task.arm.admin(doing)?;
    let fingerprint = admin.fingerprint()?;
    admin.before_keeping().map_err(Error::session(&task.arm.name, doing))?;
    let observation = done.observation.map(|observation| Observation { fingerprint, ..observation });
    Ok(Filled { observation, summary: done.summary, unmet })
}
