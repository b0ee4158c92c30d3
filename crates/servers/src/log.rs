//! A server's log file, appended to across restarts.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rqps_builds::dirs::create_open_dir;
use rqps_builds::log_tail::tail;
use rustix::fs::OFlags;

use crate::error::{Error, Result};

/// Log lines shown in an error.
pub(crate) const TAIL_LINES: usize = 15;

/// A log file and the offset of the current start.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    pub path: PathBuf,
    start_bytes: u64,
}

impl Log {
    /// Opens `<dir>/<name>.log` for a program to append to. Makes the directory and the one above it; what both are in,
    /// the run's folder, was deleted or moved if it is not there, and stays so.
    pub fn open(dir: &Path, name: &str) -> Result<(Log, File)> {
        if let Some(run) = dir.ancestors().nth(2).filter(|run| !run.as_os_str().is_empty()) {
            run.metadata().map_err(Error::file("find", run))?;
        }
        create_open_dir(dir)?;
        let path = dir.join(format!("{name}.log"));
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path)
            .map_err(Error::file("open", &path))?;
        let start_bytes = file.metadata().map_err(Error::file("examine", &path))?.len();
        Ok((Log { path, start_bytes }, file))
    }

    /// File size in bytes, including earlier starts.
    pub fn len_bytes(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |meta| meta.len())
    }

    /// The last lines since this start; a read error is returned as text.
    pub fn tail(&self, lines: usize) -> String {
        tail(&self.path, self.start_bytes, lines)
    }
}
