//! One process at a time works on a task, on whichever host, and its result counts once.
//!
//! A claim is a lock on a file of the shared folder, which the kernel (or the file server) releases when its holder
//! dies. That covers a job that Slurm has given up on and started elsewhere while its processes live on. And where
//! locks do not reach other hosts, a result is still published once: the name of its file can be taken only once.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::collect::keep;
use crate::error::{Error, Result};
use crate::files::{read_json, write_synced};
use crate::folder::Fleet;
use crate::slurm::this_host;
use crate::spec::Task;

const PAUSE: Duration = Duration::from_millis(500);

/// A run of a task, as its host recorded it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// The run's folder, relative to the task's.
    pub run: String,
    pub host: String,
}

/// The right to work on a task, until it is dropped.
#[derive(Debug)]
pub struct Claim<'f> {
    fleet: &'f Fleet,
    task: &'f Task,
    _lock: File,
}

/// The outcome of asking for a claim.
#[derive(Debug)]
pub enum Claimed<'f> {
    Mine(Claim<'f>),
    /// The task is done.
    Done,
    /// Another process works on it.
    Taken,
    /// Stopped while it waited.
    Stopped,
}

impl<'f> Claim<'f> {
    /// Whether the user has cancelled the fleet.
    pub fn is_cancelled(&self) -> bool {
        self.fleet.is_cancelled()
    }

    /// Asks for a task, for at most `patience`; `waits` is called once if another process works on it.
    ///
    /// # Errors
    /// If the task's folder cannot be written.
    pub fn take(
        fleet: &'f Fleet,
        task: &'f Task,
        patience: Duration,
        stop: &AtomicBool,
        waits: impl FnOnce(),
    ) -> Result<Claimed<'f>> {
        let folder = fleet.task_folder(task);
        match std::fs::create_dir(&folder) {
            // Not what it is in: a fleet that was deleted stays so.
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(Error::file("create", &folder)(error));
            }
            _ => {}
        }
        let path = folder.join("lock");
        let options = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let lock = options.map_err(Error::file("open", &path))?;
        let until = Instant::now() + patience;
        let mut waits = Some(waits);
        loop {
            if fleet.is_done(task) {
                return Ok(Claimed::Done);
            }
            match lock.try_lock() {
                // It may have been done just before.
                Ok(()) if fleet.is_done(task) => return Ok(Claimed::Done),
                Ok(()) => return Ok(Claimed::Mine(Self { fleet, task, _lock: lock })),
                Err(TryLockError::Error(error)) => return Err(Error::file("lock", &path)(error)),
                Err(TryLockError::WouldBlock) => {}
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(Claimed::Stopped);
            }
            if Instant::now() >= until {
                return Ok(Claimed::Taken);
            }
            if let Some(waits) = waits.take() {
                waits();
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Where the task's runs are.
    pub fn runs(&self) -> PathBuf {
        self.fleet.task_folder(self.task)
    }

    /// The newest run of this task; `None` if it has not begun or if the record was cut off.
    pub fn begun(&self) -> Option<Begun> {
        read_json(&self.runs().join("begun.json")).ok()
    }

    /// Records the run in which the task is measured on this host.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn begin(&self, run: &Path) -> Result<()> {
        write_synced(&self.runs().join("begun.json"), &begun(run))
    }

    /// Makes the run the task's result. False if there is one already.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn publish(&self, run: &Path, host: &str) -> Result<bool> {
        keep(self.fleet, self.task, run);
        let path = self.fleet.done_path(self.task);
        let partial = self.runs().join("done.partial");
        write_synced(&partial, &Begun { host: host.to_owned(), ..begun(run) })?;
        // Unlike a rename, this fails if the name is taken.
        let linked = std::fs::hard_link(&partial, &path);
        // If it stays, the next attempt overwrites it.
        let _removed = std::fs::remove_file(&partial);
        match linked {
            Ok(()) => {
                let directory = path.parent().unwrap_or(&path);
                File::open(directory)
                    .and_then(|file| file.sync_all())
                    .map_err(Error::file("sync", directory))?;
                Ok(true)
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(Error::file("create", &path)(error)),
        }
    }

    /// Records that the task failed on this host, and why.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn fail(&self, why: &str) -> Result<()> {
        let path = self.fleet.failures_path(self.task);
        let line = format!("{}: {}\n", this_host(), why.replace('\n', " "));
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let written =
            file.and_then(|mut file| file.write_all(line.as_bytes()).and_then(|()| file.sync_data()));
        written.map_err(Error::file("write", &path))
    }
}

fn begun(run: &Path) -> Begun {
    let name = run.file_name().unwrap_or(run.as_os_str());
    Begun { run: name.to_string_lossy().into_owned(), host: this_host() }
}
