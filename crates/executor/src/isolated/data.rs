//! The data of arms: made once by load, vacuum and a clean stop, then restored on the sides of every block.
//!
//! Arms of the same build and config share what was loaded, so that base and its control start from the very same
//! bytes.

use super::{Blocks, Done};
use crate::arm::{ActiveArm, Ingredients, Says, not_started, record};
use crate::error::{Error, Result};
use crate::outside::Outside;
use crate::place::Place;
use crate::work::{Task, load, settle};
use rqps_plan::{Plan, Transport};
use rqps_servers::{
    CpuSet, HowCopied, Instrument, Pinned, Server, ServerSpec, config_from_text, pin_this_thread, restore,
    snapshot,
};
use rqps_store::now_ms;
use rqps_wire::postgres::Connection;
use rqps_workloads::dialect;
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
    /// Which CPU single clients and their sessions share, by turns; empty where there is one CPU only.
    cpus: Vec<usize>,
    online: CpuSet,
}

/// Where an arm's server runs in a block.
pub(super) struct Seat<'a> {
    pub side: usize,
    pub cpu_turn: u32,
    /// Run under an instrumenting program.
    pub instrument: Option<&'a Instrument>,
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
                how = make(blocks, index, &snapshot_dir, outside)?;
            } else if owner == index {
                // It is there from an earlier process: how it is copied shows when it is.
                let side = blocks.place.data_dir(&side_name(0));
                how = restore(&snapshot_dir, &side).map_err(not_started(&plan.arms[index].name, &side))?.how;
            }
            snapshots.push(snapshot_dir);
        }
        let online = CpuSet::online()?;
        Ok(Self {
            place: blocks.place.clone(),
            snapshots,
            restored_by: how.name().to_owned(),
            cpus: if online.len() > 1 { online.cpus().collect() } else { Vec::new() },
            online,
        })
    }

    /// The CPUs of a test's clients and their sessions: one that they share for a single client, since client and
    /// session take turns; else all. None where the host has one CPU.
    pub fn session_cpus(&self, clients: u32, cpu_turn: u32) -> Option<CpuSet> {
        if clients > 1 || self.cpus.is_empty() {
            return None;
        }
        CpuSet::of([self.cpus[cpu_turn as usize % self.cpus.len()]])
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

    /// Restores an arm's data on a side and starts its server there.
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
        restore(&self.snapshots[arm], &data_dir).map_err(not_started(name, &data_dir))?;
        let spec = ServerSpec {
            cpus: match seat.instrument {
                Some(_) => session_cpus.clone(),
                None => session_cpus.as_ref().and_then(|cpus| self.online.without(cpus)),
            },
            instrument: seat.instrument.cloned(),
            env: plan.arms[arm].env.clone(),
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
    let made_of = blocks.ingredients[arm].clone();
    let plan = blocks.plan;
    ServerSpec {
        build: made_of.build,
        config: made_of.config,
        data_dir,
        log_dir: blocks.writer.folder().logs_dir().join(&plan.arms[arm].name),
        clients_max: plan
            .workload
            .steps
            .iter()
            .map(|test| plan.clients_of(test))
            .max()
            .unwrap_or(plan.workload.clients),
        tcp: plan.workload.transport == Transport::Tcp,
        env: BTreeMap::new(),
        cpus: None,
        instrument: None,
    }
}

/// Without autovacuum, which runs when the clock says so: in the window of one arm and not in that of another. It
/// added a tenth to the log of one window in twenty of a test that updates, and 2 million instructions to a counted
/// session. What vacuum debt costs is the question of a sequence. A setting behind others of its name wins.
pub(crate) fn undisturbed(spec: ServerSpec) -> Result<ServerSpec> {
    let text = format!("{}\nautovacuum = off\n", spec.config.text);
    let config = config_from_text(spec.build.dbms, &spec.config.name, &text)?;
    Ok(ServerSpec { config, ..spec })
}

/// What a server that was asked while it loaded will say in blocks.
fn in_blocks(mut says: Says) -> Says {
    for setting in says.settings.iter_mut().filter(|setting| setting.name == "autovacuum") {
        setting.value = "off".to_owned();
        setting.source = "rqps: off in blocks".to_owned();
        setting.default = false;
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
    let spec = spec(blocks, arm, data_dir.clone());
    let applied = Server::init(&spec).map_err(not_started(&name, &data_dir))?;
    blocks.place.sign()?;
    let begun = blocks.begin()?;
    let (seq, started_at_ms) = (begun.seq, now_ms());
    outside.watcher.begins(seq, &name, "load");
    let active = ActiveArm::start(arm, &name, &spec, outside)?;
    let task = Task { plan, arm: &active };
    let loaded = load(&task, outside)?;
    settle(&task, plan.workload.settle_seconds_max, outside)?;
    let says = in_blocks(active.says()?);
    active.server.stop().map_err(not_started(&name, &data_dir))?;
    let how = snapshot(&data_dir, to).map_err(not_started(&name, to))?;
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
    let mut admin: Connection = arm.admin(doing)?;
    let rows = plan.workload.rows.min(rows_max);
    let mut say = |sql: &str| admin.query(sql).map(|_| ()).map_err(Error::session(&arm.name, doing));
    for option in ["enable_seqscan", "enable_bitmapscan"] {
        say(&format!("SET {option} = off"))?;
    }
    for table in 1..=plan.workload.tables {
        let table = dialect::table_name(table);
        say(&format!("SELECT max(length(c)) FROM {table} WHERE id <= {rows}"))?;
        say(&format!("SELECT count(k) FROM {table} WHERE k <= {rows}"))?;
    }
    Ok(())
}
