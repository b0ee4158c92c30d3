//! The lock that keeps two rqps from writing one run. The kernel releases it when its holder dies, so that a killed run
//! can be resumed immediately.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result};

const FILE: &str = "run.lock";
/// A reader that looks for the holder takes a shared lock for an instant, so a writer retries.
const TRIES: u32 = 6;
const PAUSE: Duration = Duration::from_millis(50);

rqps_model::words! {
    /// What an estimated end is the end of.
    Until {
        /// The run.
        End = "end",
        /// What the first verdicts need: more may follow.
        FirstVerdicts = "first-verdicts",
        /// The run, whose budget is too short for verdicts.
        EndWithoutVerdicts = "no-verdicts",
    }
}

/// Progress of a run, as estimated by the process that writes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunProgress {
    /// Share of the work that is done, 0 to 1.
    pub share: f64,
    /// When that was so, milliseconds since 1970 (UTC).
    pub at_ms: i64,
    /// Expected end; `None` if unknown.
    pub ends_at_ms: Option<i64>,
    pub until: Until,
    /// Share of the work that is done at that end, to which it grows with time, whatever is done, such as loading; no
    /// more than `share` if time does not tell.
    pub share_then: f64,
}

/// Without news for so much of the time that was left, such as while an arm is 20 times as slow as base, nobody knows.
const SAID_SHARE: f64 = 0.75;

impl RunProgress {
    /// Until when the expected end may be said.
    pub fn said_until_ms(&self) -> Option<i64> {
        Some(self.at_ms + (SAID_SHARE * (self.ends_at_ms? - self.at_ms) as f64) as i64)
    }

    /// The share at a moment.
    pub fn share_at(&self, now_ms: i64) -> f64 {
        let Some(ends_at_ms) = self.ends_at_ms.filter(|end| *end > self.at_ms) else {
            return self.share;
        };
        let part = (now_ms - self.at_ms) as f64 / (ends_at_ms - self.at_ms) as f64;
        self.share + (self.share_then - self.share).max(0.0) * part.clamp(0.0, 1.0)
    }
}

/// An exclusive lock on a run folder, released on drop. The file has one line: process id and share; then, if known,
/// the expected end, what it is the end of, when that was written, and the share at that end.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    file: File,
    /// What was last published; of an earlier process the share, if it did not end the run.
    last: RunProgress,
}

impl Lock {
    /// Takes the lock and writes this process's id to the file; [`Error::InUse`] if another process holds it.
    pub(crate) fn take(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(Error::io("open", &path))?;
        for attempt in 1..=TRIES {
            match file.try_lock() {
                Ok(()) => {
                    let share = last_progress(folder).map_or(0.0, |earlier| earlier.share);
                    let share = if share < 1.0 { share } else { 0.0 };
                    let rest = if share > 0.0 { format!(" {share:.4}") } else { String::new() };
                    write_line(&mut file, &rest).map_err(Error::io("write", &path))?;
                    return Ok(Self { path, file, last: only_share(share) });
                }
                Err(TryLockError::Error(source)) => return Err(Error::io("lock", &path)(source)),
                Err(TryLockError::WouldBlock) if attempt < TRIES => std::thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => {}
            }
        }
        Err(Error::InUse { path: folder.to_owned(), pid: read_pid(&path) })
    }

    /// Publishes the holder's progress in the file. What was done stays done, however the estimate of the rest changes:
    /// returns what is published.
    pub(crate) fn record_progress(&mut self, progress: RunProgress) -> Result<RunProgress> {
        let RunProgress { share, at_ms, ends_at_ms, until, share_then } = progress;
        let share = share.max(self.last.share_at(at_ms));
        let end = ends_at_ms.map(|end| format!(" {end} {until} {at_ms} {share_then:.4}")).unwrap_or_default();
        write_line(&mut self.file, &format!(" {share:.4}{end}")).map_err(Error::io("write", &self.path))?;
        self.last = RunProgress { share, ..progress };
        Ok(self.last)
    }

    /// What was done is a smaller share from now on, since more is to be done.
    pub(crate) fn forget_progress(&mut self) {
        self.last = only_share(0.0);
    }
}

/// A share whose time nobody knows.
fn only_share(share: f64) -> RunProgress {
    RunProgress { share, at_ms: 0, ends_at_ms: None, until: Until::End, share_then: share }
}

/// The process id of the folder's writer; `None` without one.
pub(crate) fn holder(folder: &Path) -> Option<String> {
    let path = folder.join(FILE);
    let file = File::open(&path).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(read_pid(&path)),
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

/// The progress last published by a writer of the folder, which may have ended; `None` without any.
pub(crate) fn last_progress(folder: &Path) -> Option<RunProgress> {
    let line = std::fs::read_to_string(folder.join(FILE)).ok()?;
    let mut words = line.split(' ').skip(1);
    let share: f64 = words.next()?.parse().ok()?;
    let ends_at_ms = words.next().and_then(|word| word.parse().ok());
    let until = words.next().and_then(|word| word.parse().ok()).unwrap_or(Until::End);
    let at_ms = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    let share_then = words.next().and_then(|word| word.parse().ok()).unwrap_or(share);
    Some(RunProgress { share, at_ms, ends_at_ms, until, share_then })
}

fn write_line(file: &mut File, rest: &str) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{}{rest}", std::process::id())
}

fn read_pid(path: &Path) -> String {
    let line = std::fs::read_to_string(path).unwrap_or_default();
    line.split(' ').next().filter(|pid| !pid.is_empty()).unwrap_or("?").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn until_the_first_verdicts_work_is_done_as_time_passes() {
        let dir = tempfile::tempdir().unwrap();
        let mut lock = Lock::take(dir.path()).unwrap();
        let at = |at_ms, left_ms, share_then| RunProgress {
            share: 0.0,
            at_ms,
            ends_at_ms: Some(at_ms + left_ms),
            until: Until::FirstVerdicts,
            share_then,
        };
        let first = at(1000, 1000, 0.5);
        assert_eq!([500, 1000, 1500, 2000, 9000].map(|now| first.share_at(now)), [0.0, 0.0, 0.25, 0.5, 0.5]);
        assert_eq!(at(1000, 1000, 0.0).share_at(1500), 0.0, "verdicts come when they come");
        assert_eq!(at(1000, 1000, 1.0).share_at(1990), 0.99, "the run ends with them");
        assert_eq!(lock.record_progress(first).unwrap().share, 0.0);
        let later = lock.record_progress(at(1500, 8000, 0.5)).unwrap();
        assert_eq!(later.share, 0.25, "a later end takes nothing back that was shown");
        assert_eq!(last_progress(dir.path()), Some(later), "as readers see it");
        lock.forget_progress();
        assert_eq!(lock.record_progress(first).unwrap().share, 0.0, "of what is more");
    }
}
