//! Where arms of blocks live: each restored from a load on a side, which is a directory and a socket, and started
//! there.

use super::Blocks;
use super::loads::{Made, Origin, journaled, origins};
use crate::arm::{ActiveArm, not_started};
use crate::control::RunControl;
use crate::error::{Error, Result};
use crate::place::Place;
use crate::spec::{server_spec, session_cpus};
use crate::system::{Asked, Instance, System};
use rqps_builds::{CpuSet, Pinned, pin_this_thread};
use rqps_plan::Plan;
use rqps_servers::{HowCopied, Instrument, ServerSpec};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Rows of a table that are read before a block's first window: what is beyond does not fit into memory by any luck.
pub(crate) const WARM_ROWS_MAX: u64 = 50_000_000;

/// What blocks start from.
pub(super) struct Data {
    place: Place,
    /// Where each arm's data come from, by index of the plan's arms.
    pub origins: Vec<Origin>,
    /// The snapshots that are there, with the numbers of the actions that made them.
    pub made: BTreeMap<Made, u32>,
    /// How the last of them was copied to a side.
    pub restored_by: HowCopied,
    online: CpuSet,
}

/// Where an arm's server runs in a block.
#[derive(Clone, Copy)]
pub(super) struct StartOptions<'a> {
    pub side: usize,
    pub cpu_turn: u32,
    /// Which load it starts from.
    pub load: u32,
    /// Run under an instrumenting program.
    pub instrument: Option<&'a Instrument>,
    /// On what the server before it has left there, instead of restored data.
    pub as_left: bool,
}

impl Data {
    /// Finds what an earlier process made, makes the first load of what is missing, and starts every arm on it once.
    pub fn prepare(blocks: &mut Blocks<'_>, control: &mut RunControl<'_>) -> Result<Self> {
        let run = blocks.writer.run()?;
        let mut data = Self {
            place: blocks.setup.place.clone(),
            origins: origins(&blocks.setup.plan, &blocks.setup.ingredients),
            made: journaled(&blocks.setup.plan, &run),
            restored_by: HowCopied::Reflink,
            online: CpuSet::online()?,
        };
        data.introduce_all(blocks, control)?;
        Ok(data)
    }

    /// The number of the action that made what an arm starts from.
    pub fn data_seq(&self, arm: usize, load: u32) -> Option<u32> {
        self.made.get(&self.origins[arm].made(load)).copied()
    }

    /// The CPU that a test's client and its session share, if they do.
    pub fn session_cpus(&self, clients: u32, cpu_turn: u32) -> Option<CpuSet> {
        session_cpus(&self.online, clients, cpu_turn)
    }

    /// Has this thread, and those it starts, run where a test's sessions do, until what is returned is dropped.
    pub fn pin(&self, clients: u32, cpu_turn: u32) -> Result<Option<Pinned>> {
        let cpus = self.session_cpus(clients, cpu_turn);
        Ok(cpus.map(|cpus| pin_this_thread(&cpus)).transpose()?)
    }

    pub fn online(&self) -> &CpuSet {
        &self.online
    }

    /// Makes an arm's data anew on a side. One after the other: arms may share a snapshot, which is locked while it is
    /// copied.
    pub fn restore(
        &self,
        blocks: &Blocks<'_>,
        arm: usize,
        options: &StartOptions<'_>,
        control: &RunControl<'_>,
    ) -> Result<HowCopied> {
        let snapshot =
            self.place.data_dir(&self.origins[arm].made(options.load).dir_name(&blocks.setup.plan));
        let data_dir = self.place.data_dir(&side_name(options.side));
        let system = blocks.setup.ingredients[arm].system;
        let restored = system.copy_data(&snapshot, &data_dir, control.stop);
        restored.map_err(not_started(&blocks.setup.plan.arms[arm].name, &data_dir))
    }

    /// Restores an arm's data on a side, unless they are there as they should be, and starts its server there.
    pub fn start(
        &self,
        blocks: &Blocks<'_>,
        arm: usize,
        options: StartOptions<'_>,
        control: &RunControl<'_>,
    ) -> Result<ActiveArm> {
        let mut started = self.start_together(blocks, &[(arm, options)], control)?;
        started.pop().ok_or(Error::Interrupted)
    }

    /// The same for several arms, whose servers start at the same time.
    pub fn start_together(
        &self,
        blocks: &Blocks<'_>,
        arms: &[(usize, StartOptions<'_>)],
        control: &RunControl<'_>,
    ) -> Result<Vec<ActiveArm>> {
        for (arm, options) in arms.iter().filter(|(_, options)| !options.as_left) {
            Blocks::go_on(control)?;
            self.restore(blocks, *arm, options, control)?;
        }
        let specs = arms.iter().map(|(arm, options)| Ok((*arm, self.spec(blocks, *arm, options)?)));
        let specs: Vec<(usize, ServerSpec)> = specs.collect::<Result<_>>()?;
        let stop = control.stop;
        let opened = in_parallel(specs.iter().map(|(arm, spec)| {
            let system = blocks.setup.ingredients[*arm].system;
            move || system.open(spec, stop)
        }));
        let started: Result<Vec<ActiveArm>> = opened
            .into_iter()
            .zip(&specs)
            .map(|(instance, (arm, spec))| {
                let name = &blocks.setup.plan.arms[*arm].name;
                let instance = instance.map_err(not_started(name, &spec.data_dir))?;
                let system = blocks.setup.ingredients[*arm].system;
                Ok(ActiveArm::with_instance(*arm, name, (system, spec), instance, control))
            })
            .collect();
        let started = started?;
        for (active, (_, options)) in started.iter().zip(arms) {
            if let Some(cpus) = self.options_cpus(blocks, options) {
                active.instance.place_sessions(&cpus)?;
            }
        }
        Ok(started)
    }

    fn spec(&self, blocks: &Blocks<'_>, arm: usize, options: &StartOptions<'_>) -> Result<ServerSpec> {
        let session_cpus = self.options_cpus(blocks, options);
        let data_dir = self.place.data_dir(&side_name(options.side));
        let spec = ServerSpec {
            cpus: match options.instrument {
                Some(_) => session_cpus,
                None => session_cpus.and_then(|cpus| self.online.without(&cpus)),
            },
            instrument: options.instrument.cloned(),
            ..in_place(blocks, arm, data_dir)
        };
        undisturbed(blocks.setup.ingredients[arm].system, spec)
    }

    fn options_cpus(&self, blocks: &Blocks<'_>, options: &StartOptions<'_>) -> Option<CpuSet> {
        let clients = if options.instrument.is_some() { 1 } else { blocks.setup.plan.workload.clients };
        self.session_cpus(clients, options.cpu_turn)
    }
}

/// Does all of this at the same time; results are in the order of the work.
pub(super) fn in_parallel<T: Send, W: FnOnce() -> T + Send>(works: impl Iterator<Item = W>) -> Vec<T> {
    std::thread::scope(|scope| {
        let started: Vec<_> = works.map(|work| scope.spawn(work)).collect();
        let ended = started.into_iter().map(std::thread::ScopedJoinHandle::join);
        ended.map(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

fn side_name(side: usize) -> String {
    format!("side-{}", (b'a' + (side % 26) as u8) as char)
        + &if side >= 26 { (side / 26).to_string() } else { String::new() }
}

/// The side's letter in run folders.
pub(super) fn side_letter(side: usize) -> String {
    side_name(side).trim_start_matches("side-").to_owned()
}

/// The server of an arm on data in this place.
pub(super) fn in_place(blocks: &Blocks<'_>, arm: usize, data_dir: PathBuf) -> ServerSpec {
    server_spec(&blocks.setup.plan, arm, &blocks.setup.ingredients[arm], data_dir, blocks.writer.folder())
}

/// Without what runs when the clock says so.
pub(crate) fn undisturbed(system: &dyn System, spec: ServerSpec) -> Result<ServerSpec> {
    let config = system.config_of_blocks(spec.build.dbms, &spec.config)?;
    Ok(ServerSpec { config, ..spec })
}

/// What an arm's instance does while it is warmed.
pub(crate) const WARMING: &str = "reading the tables once";

/// Reads tables and indexes once, so that no window pays for what another arm's window finds in memory.
pub(crate) fn warm(arm: &ActiveArm, plan: &Plan, rows_max: u64) -> Result<()> {
    warm_instance(&*arm.instance, plan, rows_max).map_err(Error::session(&arm.name, WARMING))
}

pub(super) fn warm_instance(instance: &dyn Instance, plan: &Plan, rows_max: u64) -> Asked<()> {
    instance.warm(plan.work.tables(), plan.work.rows_per_table().min(rows_max))
}
