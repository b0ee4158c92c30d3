//! A server's log file: appended to over restarts, read back from its end.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rqps_builds::dirs::create_open_dir;
use rqps_builds::log_tail::tail;
use rustix::fs::OFlags;

use crate::error::{Error, Result};

/// How many lines an error shows.
pub(crate) const TAIL_LINES: usize = 15;

/// A log file from where the present start began.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    pub path: PathBuf,
    start_bytes: u64,
}

impl Log {
    /// Opens `<dir>/<name>.log` for a program to append to.
    pub fn open(dir: &Path, name: &str) -> Result<(Log, File)> {
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

    /// Bytes in it, of earlier starts too.
    pub fn len_bytes(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |meta| meta.len())
    }

    /// The last lines since this start; a read error is shown instead of them.
    pub fn tail(&self, lines: usize) -> String {
        tail(&self.path, self.start_bytes, lines)
    }
}
