//! Restores the data of a block's arms from snapshots and starts their servers, each on a side: a directory
//! and socket.

use super::Blocks;
use super::loads::{Origin, Snapshot, journaled, origins};
use crate::arm::{ActiveArm, not_started};
use crate::control::RunControl;
use crate::error::{Error, Result};
use crate::place::Place;
use crate::spec::{server_spec, session_cpus};
use crate::system::System;
use rqps_builds::{CpuSet, Pinned, drop_from_page_cache, pin_this_thread};
use rqps_servers::{HowCopied, Instrument, ServerSpec};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Rows of each table that are read before a block's first window: more do not fit into memory anyway.
pub(crate) const WARM_ROWS_MAX: u64 = 50_000_000;

/// The snapshots that blocks start from. Arms are given by their index in the plan's arms.
pub(super) struct Data {
    place: Place,
    /// Where each arm's data come from.
    pub origins: Vec<Origin>,
    /// Existing snapshots, with the numbers of the actions that made them.
    pub snapshots: BTreeMap<Snapshot, u32>,
    /// What servers of arms warned of when they made snapshots, with the user's config; blocks run with fewer options.
    pub load_warnings: BTreeMap<usize, Vec<String>>,
    /// How a snapshot was last copied to a side.
    pub restored_by: HowCopied,
    online: CpuSet,
}

/// Where and how an arm's server starts.
#[derive(Clone, Copy)]
pub(super) struct StartOptions<'a> {
    pub side: usize,
    pub cpu_turn: u32,
    /// Number of the load to start from.
    pub load: u32,
    /// The copy of the arm's build to run.
    pub copy: u32,
    /// Instrumenting program to run the server under.
    pub instrument: Option<&'a Instrument>,
    /// Starts on the data that the side holds instead of restoring them.
    pub reuses_data: bool,
}

impl StartOptions<'_> {
    /// The first of everything, as before any block.
    pub const FIRST: Self =
        Self { side: 0, cpu_turn: 0, load: 1, copy: 1, instrument: None, reuses_data: false };
}

impl Data {
    /// Finds snapshots of earlier processes, makes missing ones of the first load, and starts every arm once.
    pub fn prepare(blocks: &mut Blocks<'_>, control: &mut RunControl<'_>) -> Result<Self> {
        let run = blocks.writer.run()?;
        let mut data = Self {
            place: blocks.setup.place.clone(),
            origins: origins(&blocks.setup.plan, &blocks.setup.ingredients),
            load_warnings: BTreeMap::new(),
            snapshots: journaled(&blocks.setup.plan, &run),
            restored_by: HowCopied::Reflink,
            online: CpuSet::online()?,
        };
        data.start_all_once(blocks, control)?;
        Ok(data)
    }

    /// Number of the action that made the snapshot that an arm starts from.
    pub fn data_seq(&self, arm: usize, load: u32) -> Option<u32> {
        self.snapshots.get(&self.origins[arm].snapshot(load)).copied()
    }

    /// The CPU that a test's client and session share; see [`session_cpus`].
    pub fn session_cpus(&self, clients: u32, cpu_turn: u32) -> Option<CpuSet> {
        session_cpus(&self.online, clients, cpu_turn)
    }

    /// Pins this thread, and those that it starts, to the CPU of a test's session until the returned guard is
    /// dropped.
    pub fn pin(&self, clients: u32, cpu_turn: u32) -> Result<Option<Pinned>> {
        let cpus = self.session_cpus(clients, cpu_turn);
        Ok(cpus.map(|cpus| pin_this_thread(&cpus)).transpose()?)
    }

    pub fn online(&self) -> &CpuSet {
        &self.online
    }

    /// Restores an arm's data on a side. Must not run in parallel: arms may share a snapshot, which is locked
    /// while it is copied.
    pub fn restore(
        &self,
        blocks: &Blocks<'_>,
        arm: usize,
        options: &StartOptions<'_>,
        control: &RunControl<'_>,
    ) -> Result<HowCopied> {
        let snapshot =
            self.place.data_dir(&self.origins[arm].snapshot(options.load).dir_name(&blocks.setup.plan));
        let data_dir = self.place.data_dir(&side_name(options.side));
        let system = blocks.setup.ingredients[arm].system;
        let restored = system.copy_data(&snapshot, &data_dir, control.stop);
        restored.map_err(not_started(&blocks.setup.plan.arms[arm].name, &data_dir))
    }

    /// Restores an arm's data on a side, unless they are to be reused, and starts its server there.
    pub fn start(
        &self,
        blocks: &Blocks<'_>,
        arm: usize,
        options: StartOptions<'_>,
        control: &mut RunControl<'_>,
    ) -> Result<ActiveArm> {
        let mut started = self.start_together(blocks, &[(arm, options)], control)?;
        started.pop().ok_or(Error::Interrupted)
    }

    /// As [`Data::start`] for several arms, whose servers start in parallel.
    pub fn start_together(
        &self,
        blocks: &Blocks<'_>,
        arms: &[(usize, StartOptions<'_>)],
        control: &mut RunControl<'_>,
    ) -> Result<Vec<ActiveArm>> {
        for (arm, options) in arms.iter().filter(|(_, options)| !options.reuses_data) {
            control.check()?;
            control.doing(&format!("restoring the data of {}", blocks.setup.plan.arms[*arm].name));
            self.restore(blocks, *arm, options, control)?;
        }
        let specs: Vec<(usize, ServerSpec)> =
            arms.iter().map(|(arm, options)| (*arm, self.spec(blocks, *arm, options))).collect();
        // Where a build's code lies in memory moves its figures; in each block it lies elsewhere.
        specs.iter().for_each(|(_, spec)| drop_from_page_cache(&spec.build));
        let stop = control.stop;
        let works = specs.iter().map(|(arm, spec)| {
            let system = blocks.setup.ingredients[*arm].system;
            move || system.open(spec, stop)
        });
        let doing = match specs.as_slice() {
            [(_, spec)] => format!("starting {}", spec.build.label()),
            several => format!("starting {} servers", several.len()),
        };
        let opened =
            in_parallel(works, |elapsed_s| control.progress.action_progress(&doing, elapsed_s, None));
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
            if let Some(cpus) = self.cpus_of(blocks, options) {
                active.instance.pin_sessions(&cpus)?;
            }
        }
        Ok(started)
    }

    fn spec(&self, blocks: &Blocks<'_>, arm: usize, options: &StartOptions<'_>) -> ServerSpec {
        let session_cpus = self.cpus_of(blocks, options);
        let data_dir = self.place.data_dir(&side_name(options.side));
        let spec = ServerSpec {
            cpus: match options.instrument {
                Some(_) => session_cpus,
                None => session_cpus.and_then(|cpus| self.online.without(&cpus)),
            },
            instrument: options.instrument.cloned(),
            build: blocks.setup.ingredients[arm].copy(options.copy).1.clone(),
            ..spec_on(blocks, arm, data_dir)
        };
        with_config_of_blocks(blocks.setup.ingredients[arm].system, spec)
    }

    /// The CPU that the arm's session and its client share, if any.
    fn cpus_of(&self, blocks: &Blocks<'_>, options: &StartOptions<'_>) -> Option<CpuSet> {
        let clients = if options.instrument.is_some() { 1 } else { blocks.setup.plan.workload.clients };
        self.session_cpus(clients, options.cpu_turn)
    }
}

/// How often [`in_parallel`] tells that it still waits.
const TICK: Duration = Duration::from_secs(1);

/// Runs each work in a thread of its own; meanwhile, tells every second how many seconds it has waited. Results are in
/// the order of `works`. Panics if one of them panics.
pub(super) fn in_parallel<T: Send, W: FnOnce() -> T + Send>(
    works: impl Iterator<Item = W>,
    mut waiting: impl FnMut(f64),
) -> Vec<T> {
    let began = Instant::now();
    std::thread::scope(|scope| {
        let (running, ended) = mpsc::channel::<Infallible>();
        let started = works.map(|work| {
            let running = running.clone();
            scope.spawn(move || {
                let _running = running;
                work()
            })
        });
        let started: Vec<_> = started.collect();
        drop(running);
        while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            waiting(began.elapsed().as_secs_f64());
        }
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

/// The server spec of an arm with data in `data_dir`.
pub(super) fn spec_on(blocks: &Blocks<'_>, arm: usize, data_dir: PathBuf) -> ServerSpec {
    server_spec(&blocks.setup.plan, arm, &blocks.setup.ingredients[arm], data_dir, blocks.writer.folder())
}

/// The spec with its config replaced by [`System::config_of_blocks`].
pub(crate) fn with_config_of_blocks(system: &dyn System, spec: ServerSpec) -> ServerSpec {
    ServerSpec { config: system.config_of_blocks(&spec.config), ..spec }
}
