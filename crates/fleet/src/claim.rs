//! One process at a time works on a task, on whichever host, and its result counts once.
//!
//! A claim is a lock on a file of the shared folder, which the kernel (or the file server) releases when its holder
//! dies. That covers a job that Slurm has given up on and started elsewhere while its processes live on. And where
//! locks do not reach other hosts, a result is still published once: the name of its file can be taken only once.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::ask::{Answer, Ask, Reached};
use crate::collect::keep;
use crate::error::{Error, Result};
use crate::files::{read_json, write_synced};
use crate::folder::Fleet;
use crate::home::{Held, Home};
use crate::slurm::this_host;
use crate::spec::Task;

/// Names the newest run of a task.
const BEGUN: &str = "begun.json";
const PAUSE: Duration = Duration::from_millis(500);
/// The same where asking takes a connection.
const PAUSE_OVER_SSH: Duration = Duration::from_secs(10);

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
    /// Where `fleet` is a mirror: the fleet's home, and the right to work on the task there.
    home: Option<(&'f Home, Held)>,
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
    /// Asks for a task, for at most `patience`, also at the fleet's home if it has one; `waits` is called once if
    /// another process works on it.
    ///
    /// # Errors
    /// If the task's folder cannot be written or the home cannot be reached.
    pub fn take(
        fleet: &'f Fleet,
        task: &'f Task,
        patience: Duration,
        stop: &AtomicBool,
        home: Option<&'f Home>,
        waits: impl FnOnce(),
    ) -> Result<Claimed<'f>> {
        let folder = fleet.task_folder(task);
        match fs::create_dir(&folder) {
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
            // Linux grants a lock again that is held already.
            let pause = match lock.try_lock() {
                // It may have been done just before.
                Ok(()) if fleet.is_done(task) => return Ok(Claimed::Done),
                Ok(()) => match home.map(Home::hold).transpose()? {
                    Some(Err(Answer::Done)) => return Ok(Claimed::Done),
                    Some(Err(_)) => PAUSE_OVER_SSH,
                    held => {
                        let home = home.zip(held.and_then(std::result::Result::ok));
                        return Ok(Claimed::Mine(Self { fleet, task, _lock: lock, home }));
                    }
                },
                Err(TryLockError::Error(error)) => return Err(Error::file("lock", &path)(error)),
                Err(TryLockError::WouldBlock) => PAUSE,
            };
            if stop.load(Ordering::Relaxed) {
                return Ok(Claimed::Stopped);
            }
            if Instant::now() >= until {
                return Ok(Claimed::Taken);
            }
            if let Some(waits) = waits.take() {
                waits();
            }
            std::thread::sleep(pause);
        }
    }

    /// Where the task's runs are.
    pub fn runs(&self) -> PathBuf {
        self.fleet.task_folder(self.task)
    }

    /// The newest run of this task; `None` if it has not begun or if the record was cut off.
    pub fn begun(&self) -> Option<Begun> {
        read_json(&self.runs().join(BEGUN)).ok()
    }

    /// Records the run in which the task is measured on this host.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn begin(&self, run: &Path) -> Result<()> {
        write_synced(&self.runs().join(BEGUN), &begun(run, &this_host()))
    }

    /// Makes sure that this host has the builds of these arms, which are copied from the fleet's home if it has one.
    ///
    /// # Errors
    /// If they cannot be copied.
    pub fn fetch_builds(&self, arms: &[&str]) -> Result<()> {
        match &self.home {
            None => Ok(()),
            Some((home, _)) => home.fetch_builds(&self.fleet.spec, arms),
        }
    }

    /// How often the task has failed, on all hosts.
    pub fn failures(&self) -> usize {
        self.home.as_ref().map_or_else(|| self.fleet.failures(self.task).len(), |(_, held)| held.failures)
    }

    /// Makes the run the task's result. False if there is one already.
    ///
    /// # Errors
    /// If it cannot be written. Where the fleet's home cannot be reached, the run stays, and can be published later.
    pub fn publish(&self, run: &Path, host: &str) -> Result<bool> {
        let Some((home, _)) = &self.home else { return self.fleet.record_result(self.task, run, host) };
        let answer = home.send(&self.runs(), &begun(run, host).run)?;
        // It is at home now.
        for path in [run, &self.runs().join(BEGUN)] {
            let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
        Ok(answer == Answer::Published)
    }

    /// Records that the task failed on this host, and why.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn fail(&self, why: &str) -> Result<()> {
        match &self.home {
            None => self.fleet.record_failure(self.task, &this_host(), why),
            Some((home, _)) => {
                let ask = Ask::Failed { host: this_host(), why: why.to_owned() };
                home.ask::<Answer>(&ask).map(|_noted| ())
            }
        }
    }

    /// Records how far the task is.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn reached(&self, reached: &Reached) -> Result<Heard> {
        let Some((home, _)) = &self.home else {
            let is_there = self.fleet.record_reached(self.task, reached)?;
            return Ok(if !is_there {
                Heard::Gone
            } else if self.fleet.is_cancelled() {
                Heard::Cancelled
            } else {
                Heard::Noted
            });
        };
        match home.ask(&Ask::Reached(*reached)) {
            Ok(Answer::Noted { is_cancelled: true }) => Ok(Heard::Cancelled),
            Ok(_) => Ok(Heard::Noted),
            Err(Error::NoHome { .. }) => Ok(Heard::Gone),
            Err(error) => Err(error),
        }
    }

    /// Whether what is recorded takes a connection to another host.
    pub fn is_remote(&self) -> bool {
        self.home.is_some()
    }
}

/// What the fleet's folder says to a job that records its progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    Noted,
    /// The user has cancelled the fleet.
    Cancelled,
    /// There is no folder any more, so that no result could be recorded either.
    Gone,
}

impl Fleet {
    /// Records that a host begins with a task, in what its jobs print.
    pub(crate) fn record_begin(&self, task: &Task, host: &str) -> Result<()> {
        let path = self.output_path(task);
        append(
            &path,
            &format!(
                "{host}: task {} begins; what it prints is on {host} in {}\n",
                task.id,
                self.spec.output(&self.folder, task)
            ),
        )
    }

    pub(crate) fn record_failure(&self, task: &Task, host: &str, why: &str) -> Result<()> {
        append(&self.failures_path(task), &format!("{host}: {}\n", why.replace('\n', " ")))
    }

    /// Makes a run of the task's folder its result. False if there is one already.
    pub(crate) fn record_result(&self, task: &Task, run: &Path, host: &str) -> Result<bool> {
        keep(self, task, run);
        let path = self.done_path(task);
        let partial = self.task_folder(task).join("done.partial");
        write_synced(&partial, &begun(run, host))?;
        // Unlike a rename, this fails if the name is taken.
        let linked = fs::hard_link(&partial, &path);
        // If it stays, the next attempt overwrites it.
        let _removed = fs::remove_file(&partial);
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
}

fn append(path: &Path, line: &str) -> Result<()> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()).and_then(|()| file.sync_data()));
    written.map_err(Error::file("write", path))
}

fn begun(run: &Path, host: &str) -> Begun {
    let name = run.file_name().unwrap_or(run.as_os_str());
    Begun { run: name.to_string_lossy().into_owned(), host: host.to_owned() }
}
