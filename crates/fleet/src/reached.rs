//! How far a running task is. Its job writes it beside the run, since a run's database must not be read from another
//! host while it is written.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::time::Duration;

use crate::ask::Reached;
use crate::error::{Error, Result};
use crate::files::read_json;
use crate::folder::Fleet;
use crate::spec::Task;

const FILE: &str = "progress.json";
/// Of a task that a host holds which shares no folder: the host's name, written anew every 15 s.
pub(crate) const HELD: &str = "held";
const CUT_OFF_AFTER: Duration = Duration::from_secs(60);

impl Fleet {
    /// Records how far a task is. False if the fleet's folder is gone.
    pub(crate) fn record_reached(&self, task: &Task, reached: &Reached) -> Result<bool> {
        let path = self.task_folder(task).join(FILE);
        let partial = path.with_extension("new");
        let text = serde_json::to_vec(reached).map_err(|error| Error::file("write", &path)(error.into()))?;
        match fs::write(&partial, text).and_then(|()| fs::rename(&partial, &path)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::file("write", &path)(error)),
            Ok(()) => Ok(true),
        }
    }

    /// How far a task's newest job came; `None` if it has not begun to measure.
    pub fn reached(&self, task: &Task) -> Option<Reached> {
        read_json(&self.task_folder(task).join(FILE)).ok()
    }

    /// Whether a job of another host that shares no folder held the task, and shows no more that it works on it.
    pub fn is_cut_off(&self, task: &Task) -> bool {
        let held = fs::metadata(self.task_folder(task).join(HELD)).and_then(|file| file.modified());
        held.is_ok_and(|at| at.elapsed().is_ok_and(|since| since > CUT_OFF_AFTER))
    }

    /// Whether a process of this host works on a task.
    pub(crate) fn is_claimed(&self, task: &Task) -> bool {
        let lock = File::open(self.task_folder(task).join("lock"));
        lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
    }
}
