//! The lock that keeps two rqps from writing one run. The kernel releases it when its holder dies, so that a killed run
//! can be resumed immediately.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result};

const FILE: &str = "run.lock";
const UNTIL_VERDICTS: &str = "first-verdicts";
/// A reader that looks for the holder takes a shared lock for an instant, so a writer retries.
const TRIES: u32 = 6;
const PAUSE: Duration = Duration::from_millis(50);

/// Progress of a run, as estimated by the process that writes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunProgress {
    /// Share of the work that is done, 0 to 1.
    pub share: f64,
    /// Expected end, milliseconds since 1970 (UTC); `None` if unknown.
    pub ends_at_ms: Option<i64>,
    /// Whether that is the end of what the first verdicts need: more may follow.
    pub until_verdicts: bool,
}

/// An exclusive lock on a run folder, released on drop. The file has one line: process id, share, expected end, and
/// [`UNTIL_VERDICTS`] if that is what it says.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    file: File,
    /// The share that was last published, by an earlier process too, if it did not end the run.
    share: f64,
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
                    return Ok(Self { path, file, share });
                }
                Err(TryLockError::Error(source)) => return Err(Error::io("lock", &path)(source)),
                Err(TryLockError::WouldBlock) if attempt < TRIES => std::thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => {}
            }
        }
        Err(Error::InUse { path: folder.to_owned(), pid: read_pid(&path) })
    }

    /// Publishes the holder's progress in the file. What was done stays done, however the estimate of the rest changes:
    /// returns the share that is published.
    pub(crate) fn record_progress(&mut self, progress: RunProgress) -> Result<f64> {
        self.share = self.share.max(progress.share);
        let what = if progress.until_verdicts { format!(" {UNTIL_VERDICTS}") } else { String::new() };
        let end = progress.ends_at_ms.map(|at| format!(" {at}{what}")).unwrap_or_default();
        let line = format!(" {:.4}{end}", self.share);
        write_line(&mut self.file, &line).map_err(Error::io("write", &self.path))?;
        Ok(self.share)
    }
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
    let share = words.next()?.parse().ok()?;
    let ends_at_ms = words.next().and_then(|word| word.parse().ok());
    Some(RunProgress { share, ends_at_ms, until_verdicts: words.next() == Some(UNTIL_VERDICTS) })
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
