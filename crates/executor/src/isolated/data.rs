//! Where arms of blocks live: each restored from a load on a side, which is a directory and a socket, and started
//! there.

use super::Blocks;
use super::loads::{Made, Origin, journaled, origins};
use crate::adapters::adapter;
use crate::arm::{ActiveArm, not_started};
use crate::error::{Error, Result};
use crate::outside::Outside;
use crate::place::Place;
use crate::seat::{server_spec, session_cpus};
use rqps_builds::{CpuSet, Pinned, pin_this_thread};
use rqps_plan::Plan;
use rqps_servers::{HowCopied, Instrument, ServerSpec, config_from_text, restore};
use rqps_store::RunFolder;
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
pub(super) struct Seat<'a> {
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
    pub fn prepare(blocks: &mut Blocks<'_>, outside: &mut Outside<'_>) -> Result<Self> {
        let run = RunFolder::open(blocks.writer.folder().path())?;
        let mut data = Self {
            place: blocks.place.clone(),
            origins: origins(blocks.plan, blocks.ingredients),
            made: journaled(blocks.plan, &run),
            restored_by: HowCopied::Reflink,
            online: CpuSet::online()?,
        };
        data.introduce_all(blocks, outside)?;
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

    /// Makes an arm's data anew on a side.
    pub fn restore(
        &self,
        blocks: &Blocks<'_>,
        arm: usize,
        seat: &Seat<'_>,
        outside: &Outside<'_>,
    ) -> Result<HowCopied> {
        let snapshot = self.place.data_dir(&self.origins[arm].made(seat.load).dir_name(blocks.plan));
        let data_dir = self.place.data_dir(&side_name(seat.side));
        let restored = restore(&snapshot, &data_dir, outside.stop);
        Ok(restored.map_err(not_started(&blocks.plan.arms[arm].name, &data_dir))?.how)
    }

    /// Restores an arm's data on a side, unless they are there as they should be, and starts its server there.
    pub fn start(
        &self,
        blocks: &Blocks<'_>,
        arm: usize,
        seat: &Seat<'_>,
        outside: &Outside<'_>,
    ) -> Result<ActiveArm> {
        if !seat.as_left {
            self.restore(blocks, arm, seat, outside)?;
        }
        let plan = blocks.plan;
        let name = &plan.arms[arm].name;
        let clients = if seat.instrument.is_some() { 1 } else { plan.workload.clients };
        let session_cpus = self.session_cpus(clients, seat.cpu_turn);
        let data_dir = self.place.data_dir(&side_name(seat.side));
        let spec = ServerSpec {
            cpus: match seat.instrument {
                Some(_) => session_cpus.clone(),
                None => session_cpus.as_ref().and_then(|cpus| self.online.without(cpus)),
            },
            instrument: seat.instrument.cloned(),
            ..in_place(blocks, arm, data_dir)
        };
        let spec = undisturbed(spec)?;
        let active = ActiveArm::start(arm, name, &spec, outside)?;
        if let Some(cpus) = session_cpus {
            active.server.place_sessions(&cpus)?;
        }
        Ok(active)
    }
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
    server_spec(blocks.plan, arm, &blocks.ingredients[arm], data_dir, blocks.writer.folder())
}

/// Without what runs when the clock says so. A setting behind others of its name wins.
pub(crate) fn undisturbed(spec: ServerSpec) -> Result<ServerSpec> {
    let options = adapter(spec.build.dbms).options_of_blocks();
    let lines = options.iter().map(|(name, value)| format!("{name} = {value}\n"));
    let text = std::iter::once(format!("{}\n", spec.config.text)).chain(lines).collect::<String>();
    let config = config_from_text(spec.build.dbms, &spec.config.name, &text)?;
    Ok(ServerSpec { config, ..spec })
}

/// Reads tables and indexes once, so that no window pays for what another arm's window finds in memory.
pub(crate) fn warm(arm: &ActiveArm, plan: &Plan, rows_max: u64) -> Result<()> {
    let doing = "reading the tables once";
    let mut admin = arm.admin(doing)?;
    let rows = plan.work.rows_per_table().min(rows_max);
    let statements = arm.adapter.warm_sql(plan.work.tables().len() as u32, rows);
    let mut say = |sql: &String| match admin.query(sql) {
        Err(error) if !arm.adapter.lacks_index(&error) => Err(Error::session(&arm.name, doing)(error)),
        _ => Ok(()),
    };
    statements.iter().try_for_each(&mut say)
}
