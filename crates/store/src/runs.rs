//! Lists runs and opens them for reading or writing.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::block::BlockStatus;
use crate::error::{Error, Result};
use crate::folder::RunFolder;
use crate::journal::RunStatus;
use crate::observation::{Recorded, Window};
use crate::read::Run;
use crate::writer::RunWriter;

impl RunFolder {
    /// Reads the run at `path`. Changes nothing, except that a run of an older schema is migrated first.
    pub fn open(path: &Path) -> Result<Run> {
        Run::open(Self::at(path)?)
    }

    /// Reads the run at `path`, which is complete: faster if there are many of them.
    pub fn open_unchanging(path: &Path) -> Result<Run> {
        Run::open_unchanging(Self::at(path)?)
    }

    /// Opens the run at `path` for writing; [`Error::InUse`] names the process that has it open.
    pub fn open_for_writing(path: &Path) -> Result<RunWriter> {
        RunWriter::open(Self::unchecked(path))
    }

    /// All runs in `results_dir`, oldest first; none if it does not exist. An unreadable run is listed with its
    /// problem.
    pub fn list(results_dir: &Path) -> Result<Vec<RunSummary>> {
        let entries = match fs::read_dir(results_dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io("read", results_dir)(error)),
        };
        let mut runs: Vec<RunSummary> = entries
            .filter_map(|entry| Self::at(&entry.ok()?.path()).ok())
            .map(|folder| RunSummary::of(&folder))
            .collect();
        runs.sort_by(|a, b| (a.created_at_ms, a.folder.path()).cmp(&(b.created_at_ms, b.folder.path())));
        Ok(runs)
    }
}

/// One line of a list of runs.
#[derive(Debug)]
pub struct RunSummary {
    pub folder: RunFolder,
    /// Milliseconds since 1970 (UTC); 0 if unreadable.
    pub created_at_ms: i64,
    /// `None` if unreadable.
    pub status: Option<RunStatus>,
    /// Labels of the arms, in the plan's order.
    pub variants: Vec<String>,
    pub actions_done: u32,
    /// Actions in the schedule; 0: open-ended, block by block.
    pub actions_total: u32,
    pub blocks_done: u32,
    /// Windows that were measured; in a run of blocks, those of blocks that are done.
    pub windows: usize,
    /// Why it is unreadable.
    pub problem: Option<String>,
}

impl RunSummary {
    /// Whether something was measured: a block, a pass or a window of a sequence.
    pub fn has_results(&self) -> bool {
        self.windows > 0
    }

    pub fn of(folder: &RunFolder) -> Self {
        match RunFolder::open(folder.path()) {
            Ok(run) => {
                let done = run.blocks.iter().filter(|block| block.status == BlockStatus::Done);
                let done: BTreeSet<u32> = done.map(|block| block.number).collect();
                let is_isolated = run.meta.protocol == "isolated";
                let is_result = |window: &&Recorded<Window>| {
                    !is_isolated || window.placement.is_some_and(|at| done.contains(&at.block))
                };
                Self {
                    created_at_ms: run.meta.created_at_ms,
                    variants: run.arms.iter().map(crate::Arm::variant).collect(),
                    actions_done: run.scheduled().count() as u32,
                    actions_total: run.meta.actions_total,
                    blocks_done: done.len() as u32,
                    windows: run.windows.iter().filter(is_result).count(),
                    status: Some(run.status),
                    problem: None,
                    folder: folder.clone(),
                }
            }
            Err(error) => Self {
                folder: folder.clone(),
                created_at_ms: 0,
                status: None,
                variants: Vec::new(),
                actions_done: 0,
                actions_total: 0,
                blocks_done: 0,
                windows: 0,
                problem: Some(error.to_string()),
            },
        }
    }

    /// `12/40` actions, or `5 blocks`.
    pub fn progress(&self) -> String {
        match self.actions_total {
            0 => rqps_model::counted(self.blocks_done, "block"),
            total => format!("{}/{total}", self.actions_done),
        }
    }
}
