//! A server's log file: appended to over restarts, read back from its end.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rqps_builds::dirs::create_open_dir;
use rustix::fs::OFlags;

use crate::error::{Error, Result};

/// How much is read back at most.
const TAIL_BYTES_MAX: u64 = 64 * 1024;

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

    /// The last lines since this start; an error reading them is told in their place.
    pub fn tail(&self, lines: usize) -> String {
        let read = || -> std::io::Result<Vec<u8>> {
            let mut file = File::open(&self.path)?;
            let end = file.metadata()?.len();
            file.seek(SeekFrom::Start(self.start_bytes.max(end.saturating_sub(TAIL_BYTES_MAX))))?;
            let mut bytes = Vec::new();
            file.take(TAIL_BYTES_MAX).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        match read() {
            Ok(bytes) => last_lines(&String::from_utf8_lossy(&bytes), lines),
            Err(error) => format!("(the log cannot be read: {error})"),
        }
    }
}

/// The last lines of a text.
pub(crate) fn last_lines(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.trim_end().lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}
