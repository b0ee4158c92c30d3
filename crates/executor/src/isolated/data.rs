//! The data of arms: made once by load, vacuum and a clean stop, then restored on the sides of every block.
//!
//! Arms of the same build and config share what was loaded, so that base and its control start from the very same
//! bytes.

use super::{Blocks, Done};
use crate::adapter::{Adapter, adapter};
use crate::arm::{ActiveArm, Ingredients, Says, not_started, record};
use crate::error::{Error, Result};
use crate::outside::Outside;
use crate::place::Place;
use crate::seat::{server_spec, session_cpus};
use crate::work::{Task, load, settle};
use rqps_plan::Plan;
use rqps_servers::{
    CpuSet, HowCopied, Instrument, Pinned, Server, ServerSpec, config_from_text, pin_this_thread,
    restore_unless, snapshot_unless,
};
use rqps_store::now_ms;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Rows of a table that are read before a block's first window: what is beyond does not fit into memory by any luck.
pub(crate) const WARM_ROWS_MAX: u64 = 50_000_000;

/// What blocks start from.
pub(super) struct Data {
    place: Place,
    /// The snapshot of each arm, by index of the plan's arms.
    snapshots: Vec<PathBuf>,
    pub restored_by: String,
    online: CpuSet,
}

/// Where an arm's server runs in a block.
pub(super) struct Seat<'a> {
    pub side: usize,
    pub cpu_turn: u32,
    /// Run under an instrumenting program.
    pub instrument: Option<&'a Instrument>,
    /// On what the server before it has left there, instead of restored data.
    pub as_left: bool,
}

impl Data {
    /// Makes the data that are not there yet.
    pub fn prepare(blocks: &mut Blocks<'_>, outside: &mut Outside<'_>) -> Result<Self> {
        let plan = blocks.plan;
        let mut owners: BTreeMap<Variant<'_>, usize> = BTreeMap::new();
        let mut snapshots = Vec::new();
        let mut how = HowCopied::Reflink;
        let ingredients = blocks.ingredients;
        for (index, made_of) in ingredients.iter().enumerate() {
            let owner = *owners.entry(variant(plan, index, made_of)).or_insert(index);
            let snapshot_dir = blocks.place.data_dir(&snapshot_name(plan, owner));
            if owner == index && !snapshot_dir.exists() {
                match make(blocks, index, &snapshot_dir, outside) {
                    Ok(copied) => how = copied,
                    Err(error) => {
                        // Another arm of its kind is no better off, but says so under its own name.
                        owners.retain(|_, first| *first != index);
                        blocks.give_up(error, outside)?;
                        blocks.place.remove_arm(&plan.arms[index].name)?;
                    }
                }
            } else if owner == index {
                // It is there from an earlier process: how it is copied shows when it is.
                let side = blocks.place.data_dir(&side_name(0));
                how = restore_unless(&snapshot_dir, &side, outside.stop)
                    .map_err(not_started(&plan.arms[index].name, &side))?
                    .how;
            }
            snapshots.push(snapshot_dir);
        }
        let online = CpuSet::online()?;
        Ok(Self { place: blocks.place.clone(), snapshots, restored_by: how.name().to_owned(), online })
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

    /// All CPUs.
    pub fn online(&self) -> &CpuSet {
        &self.online
    }

    /// Restores an arm's data on a side, unless they are there as they should be, and starts its server there.
    pub fn start(
        &self,
        blocks: &Blocks<'_>,
        arm: usize,
        seat: &Seat<'_>,
        outside: &Outside<'_>,
    ) -> Result<ActiveArm> {
        let plan = blocks.plan;
        let name = &plan.arms[arm].name;
        let clients = if seat.instrument.is_some() { 1 } else { plan.workload.clients };
        let session_cpus = self.session_cpus(clients, seat.cpu_turn);
        let data_dir = self.place.data_dir(&side_name(seat.side));
        if !seat.as_left {
            restore_unless(&self.snapshots[arm], &data_dir, outside.stop)
                .map_err(not_started(name, &data_dir))?;
        }
        let spec = ServerSpec {
            cpus: match seat.instrument {
                Some(_) => session_cpus.clone(),
                None => session_cpus.as_ref().and_then(|cpus| self.online.without(cpus)),
            },
            instrument: seat.instrument.cloned(),
            ..spec(blocks, arm, data_dir)
        };
        let spec = undisturbed(spec)?;
        let active = ActiveArm::start(arm, name, &spec, outside)?;
        if let Some(cpus) = session_cpus {
            active.server.place_sessions(&cpus)?;
        }
        Ok(active)
    }
}

/// What makes the data of arms alike: hashes of build and config, and what is run after the load.
type Variant<'a> = (&'a str, &'a str, &'a [String]);

fn variant<'a>(plan: &'a Plan, arm: usize, made_of: &'a Ingredients) -> Variant<'a> {
    (&made_of.build.hash, &made_of.config.hash, &plan.arms[arm].after_load)
}

fn side_name(side: usize) -> String {
    format!("side-{}", (b'a' + (side % 26) as u8) as char)
        + &if side >= 26 { (side / 26).to_string() } else { String::new() }
}

/// The side's letter in run folders.
pub(super) fn side_letter(side: usize) -> String {
    side_name(side).trim_start_matches("side-").to_owned()
}

fn snapshot_name(plan: &Plan, owner: usize) -> String {
    format!("snapshot-{}", plan.arms[owner].name)
}

fn spec(blocks: &Blocks<'_>, arm: usize, data_dir: PathBuf) -> ServerSpec {
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

/// What a server that was asked while it loaded will say in blocks.
fn in_blocks(adapter: &dyn Adapter, mut says: Says) -> Says {
    for (name, value) in adapter.options_of_blocks() {
        for setting in says.settings.iter_mut().filter(|setting| setting.name == *name) {
            setting.value = (*value).to_owned();
            setting.source = format!("rqps: {value} in blocks");
            setting.default = false;
        }
    }
    says
}

/// Loads an arm's tables, brings the server to rest, stops it, and keeps its data directory.
fn make(
    blocks: &mut Blocks<'_>,
    arm: usize,
    to: &std::path::Path,
    outside: &mut Outside<'_>,
) -> Result<HowCopied> {
    let plan = blocks.plan;
    let name = plan.arms[arm].name.clone();
    let data_dir = blocks.place.data_dir(&name);
    // Arms that share what is loaded may differ in their environment.
    let spec = ServerSpec { env: BTreeMap::new(), ..spec(blocks, arm, data_dir.clone()) };
    let applied = Server::init_unless(&spec, outside.stop).map_err(not_started(&name, &data_dir))?;
    blocks.place.sign()?;
    let begun = blocks.begin()?;
    let (seq, started_at_ms) = (begun.seq, now_ms());
    outside.watcher.begins(seq, &name, "load");
    let mut active = ActiveArm::start(arm, &name, &spec, outside)?;
    let task = Task { plan, arm: &active };
    let made = load(&task, outside).and_then(|loaded| {
        settle(&task, (0, plan.workload.settle_seconds_max), outside)?;
        Ok((loaded, in_blocks(active.adapter, active.says()?)))
    });
    let (loaded, says) =
        made.map_err(
            |failure| {
                if outside.stopped() { Error::Interrupted } else { active.judge("load", failure) }
            },
        )?;
    active.server.stop_unless(outside.stop).map_err(not_started(&name, &data_dir))?;
    let how = snapshot_unless(&data_dir, to, outside.stop).map_err(not_started(&name, to))?;
    blocks.place.remove_arm(&name)?;
    for (index, other) in plan.arms.iter().enumerate() {
        let of = |arm: usize| variant(plan, arm, &blocks.ingredients[arm]);
        if of(index) == of(arm) {
            let is_base = other.name == plan.base;
            let entry =
                record(other, is_base, &blocks.ingredients[index], Some(&applied), Some(says.clone()));
            blocks.writer.put_arm(&entry)?;
        }
    }
    let done = Done { arm: &name, kind: "load", step: "load", started_at_ms, invalid: None };
    blocks.finish(begun, done, loaded.observation.as_ref())?;
    outside.watcher.ends(seq, &name, "load", &loaded.summary);
    Ok(how.how)
}

/// Reads tables and indexes once, so that no window pays for what another arm's window finds in memory.
pub(crate) fn warm(arm: &ActiveArm, plan: &Plan, rows_max: u64) -> Result<()> {
    let doing = "reading the tables once";
    let mut admin = arm.admin(doing)?;
    let rows = plan.workload.rows.min(rows_max);
    let statements = arm.adapter.warm_sql(plan.workload.tables, rows);
    let mut say = |sql: &String| match admin.query(sql) {
        Err(error) if !arm.adapter.lacks_index(&error) => Err(Error::session(&arm.name, doing)(error)),
        _ => Ok(()),
    };
    statements.iter().try_for_each(&mut say)
}
