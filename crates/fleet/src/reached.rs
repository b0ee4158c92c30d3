//! How far a running task is. Its job writes it beside the run, since a run's database must not be read from another
//! host while it is written.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;

use serde::{Deserialize, Serialize};

use crate::claim::Claim;
use crate::error::{Error, Result};
use crate::files::read_json;
use crate::folder::Fleet;
use crate::spec::Task;

const FILE: &str = "progress.json";

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reached {
    /// When its job began, milliseconds since 1970 (UTC).
    pub began_at_ms: i64,
    /// Blocks that count, or steps.
    pub done: u32,
    /// The most that it may have.
    pub most: u32,
    /// Whether these are blocks, of which fewer may do.
    pub are_blocks: bool,
    /// Estimated.
    pub seconds_left: Option<f64>,
}

impl Claim<'_> {
    /// Records how far the task is. False if the fleet's folder is gone, so that no result could be recorded either.
    ///
    /// # Errors
    /// If it cannot be written for another reason.
    pub fn reached(&self, reached: &Reached) -> Result<bool> {
        let path = self.runs().join(FILE);
        let partial = path.with_extension("new");
        let text = serde_json::to_vec(reached).map_err(|error| Error::file("write", &path)(error.into()))?;
        match fs::write(&partial, text).and_then(|()| fs::rename(&partial, &path)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::file("write", &path)(error)),
            Ok(()) => Ok(true),
        }
    }
}

impl Fleet {
    /// How far a task's newest job came; `None` if it has not begun to measure.
    pub fn reached(&self, task: &Task) -> Option<Reached> {
        read_json(&self.task_folder(task).join(FILE)).ok()
    }

    /// Whether a process of this host works on a task.
    pub(crate) fn is_claimed(&self, task: &Task) -> bool {
        let lock = File::open(self.task_folder(task).join("lock"));
        lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
    }
}
