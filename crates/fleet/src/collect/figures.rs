//! What a comparison needs of a run, kept beside it by the job that measured it: opening ten thousand databases takes
//! minutes, reading as many of these files seconds. The run stays the truth: what is kept counts only while the run's
//! database is as it was.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rqps_stats::{Experiment, Rules};
use rqps_store::{Arm, Role, Run, RunFolder};
use rqps_verdicts::{experiment, has_blocks, rules_of};
use serde::{Deserialize, Serialize};

use super::{Doubts, facts};
use crate::error::{Error, Result};
use crate::files::{read_json, write_synced};
use crate::folder::Fleet;
use crate::spec::Task;

/// Increment when something else is taken from runs.
const FORMAT: u32 = 2;

/// What a comparison needs of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Figures {
    pub facts: BTreeMap<String, String>,
    pub doubts: Doubts,
    /// By index of the experiment's.
    pub arms: Vec<MeasuredArm>,
    pub base: String,
    pub control: Option<String>,
    pub experiment: Experiment,
}

/// An arm as it was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredArm {
    pub name: String,
    /// `postgres-18.1`; empty before it was measured on a host.
    pub build: String,
    /// That of the build's program files.
    pub hash: String,
    /// The config's name.
    pub config: String,
}

impl MeasuredArm {
    fn of(arm: &Arm) -> Self {
        Self {
            name: arm.name.clone(),
            build: format!("{}-{}", arm.dbms, arm.build_version),
            hash: arm.build_hash.clone(),
            config: arm.config_name.clone(),
        }
    }
}

/// Figures, and the state of the database that they are from.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    format: u32,
    /// The program's: another one may take other figures from the same run.
    version: String,
    run: String,
    state: State,
    figures: Figures,
}

/// Size and time of change of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    bytes: u64,
    changed_s: u64,
    changed_ns: u32,
}

impl State {
    /// `None` if the database is being written.
    fn of(run: &Path) -> Option<Self> {
        let database = RunFolder::at(run).ok()?.db_path();
        if database.with_extension("db-wal").exists() {
            return None;
        }
        let metadata = fs::metadata(&database).ok()?;
        let changed = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(Self { bytes: metadata.len(), changed_s: changed.as_secs(), changed_ns: changed.subsec_nanos() })
    }
}

/// Takes the figures of a run and keeps them beside it. Without them the run is read, so a failure is not an error.
pub fn keep(fleet: &Fleet, task: &Task, run: &Path) {
    let kept = || {
        let state = State::of(run)?;
        let figures = of(&task.id, run).ok()?;
        let run = run.file_name()?.to_string_lossy().into_owned();
        write_synced(&path(fleet, task), &Kept { format: FORMAT, version: version(), run, state, figures })
            .ok()
    };
    let _ = kept();
}

/// The figures of a task's run: kept ones if they are of its present state.
pub(super) fn read(fleet: &Fleet, task: &Task, run: &Path) -> Result<Figures> {
    let is_current = |kept: &Kept| {
        let is_of_run = run.file_name().is_some_and(|name| *name == *kept.run);
        kept.format == FORMAT && kept.version == version() && is_of_run && State::of(run) == Some(kept.state)
    };
    match read_json::<Kept>(&path(fleet, task)).ok().filter(is_current) {
        Some(kept) => Ok(kept.figures),
        None => of(&task.id, run),
    }
}

/// The rules of a run.
pub(super) fn rules(run: &Path) -> Result<Rules> {
    Ok(rules_of(&RunFolder::open_unchanging(run)?)?)
}

fn of(task: &str, path: &Path) -> Result<Figures> {
    let run = RunFolder::open_unchanging(path)?;
    // Of a budget that ended before the first block nothing is left, which a warning says.
    if !has_blocks(&run) && run.meta.protocol != "isolated" {
        return Err(Error::NoBlocks { path: path.to_owned() });
    }
    let (experiment, rules) = (experiment(&run)?, rules_of(&run)?);
    Ok(Figures {
        facts: facts::of(&run),
        doubts: Doubts::of(task, &run, &rules),
        arms: run.arms.iter().map(MeasuredArm::of).collect(),
        base: run.arms.get(experiment.base).map(|arm| arm.name.clone()).unwrap_or_default(),
        control: control_of(&run),
        experiment,
    })
}

fn control_of(run: &Run) -> Option<String> {
    run.arms.iter().find(|arm| arm.control && arm.role != Role::Base).map(|arm| arm.name.clone())
}

fn path(fleet: &Fleet, task: &Task) -> PathBuf {
    fleet.task_folder(task).join("figures.json")
}

fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
