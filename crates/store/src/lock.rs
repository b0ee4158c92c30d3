//! The lock that keeps two rqps from writing one run. The system drops it when its holder dies, so that a killed run
//! can be resumed at once.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use crate::error::{Error, Result};

const FILE: &str = "run.lock";
/// A reader that asks who holds the lock holds it for an instant itself, so a writer tries again for a moment.
const TRIES: u32 = 6;
const PAUSE: Duration = Duration::from_millis(50);

/// An exclusive hold on a run folder, given up on drop.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock and leaves this process's id in the file, or says who holds it.
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
                    write_pid(&mut file).map_err(Error::io("write", &path))?;
                    return Ok(Self { _file: file });
                }
                Err(TryLockError::Error(source)) => return Err(Error::io("lock", &path)(source)),
                Err(TryLockError::WouldBlock) if attempt < TRIES => std::thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => {}
            }
        }
        Err(Error::InUse { path: folder.to_owned(), pid: read_pid(&path) })
    }
}

/// The process id of a living writer of this folder; none when nobody writes.
pub(crate) fn holder(folder: &Path) -> Option<String> {
    let path = folder.join(FILE);
    let file = File::open(&path).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(read_pid(&path)),
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

fn write_pid(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    write!(file, "{}", std::process::id())
}

fn read_pid(path: &Path) -> String {
    std::fs::read_to_string(path).ok().filter(|text| !text.is_empty()).unwrap_or_else(|| "?".to_owned())
}
