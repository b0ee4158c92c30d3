//! Programs that a server is run under to count what it executes, for hosts whose processor does not tell.
//!
//! Valgrind's cachegrind counts every instruction of user space, the same number for the same work; a server is slower
//! under it by one to two orders of magnitude. It writes one file for each process when that ends. A process carries
//! the count of the one that forked it, so that what a stretch of work took is the difference of two sessions. Where
//! sessions are threads, callgrind takes its place: see [`ThreadCounter`].

mod threads;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use rqps_builds::dirs::create_open_dir;
use rqps_builds::{Error as BuildError, ServerUser, held_dir, server_user};

use crate::error::{Error, Result};
use crate::private::read_private;

pub use threads::ThreadCounter;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instrument {
    /// Valgrind, counting the instructions of each process of the server.
    Valgrind {
        /// Where each process leaves its count when it ends. Take a new directory for each start: a file is named by
        /// its process's pid, and pids are used again.
        counts_dir: PathBuf,
    },
    /// Valgrind, counting the instructions of each thread when a [`ThreadCounter`] asks it to.
    ValgrindThreads {
        /// Where the two meet, and where counts lie until they are read.
        counts_dir: PathBuf,
    },
}

impl Instrument {
    /// The program and its arguments that come before the server's own.
    pub(crate) fn command(&self) -> Result<Vec<OsString>> {
        let program = valgrind().ok_or(Error::NoValgrind)?;
        let counts_dir = self.counts_dir();
        let counts_dir = std::path::absolute(counts_dir).map_err(Error::file("find", counts_dir))?;
        let meeting = threads::prefix(&counts_dir);
        let (mut file, options) = match self {
            Instrument::Valgrind { .. } => (
                OsString::from("--cachegrind-out-file="),
                vec!["--tool=cachegrind", "--cache-sim=no", "--trace-children=no", "-q"],
            ),
            Instrument::ValgrindThreads { .. } => (
                OsString::from("--callgrind-out-file="),
                vec!["--tool=callgrind", "--separate-threads=yes", "--instr-atstart=no", &meeting, "-q"],
            ),
        };
        // A percent sign would be taken for the start of a placeholder.
        file.push(counts_dir.to_string_lossy().replace('%', "%%"));
        file.push("/%p");
        let options = options.into_iter().map(OsString::from);
        Ok([program.into_os_string()].into_iter().chain(options).chain([file]).collect())
    }

    fn counts_dir(&self) -> &Path {
        match self {
            Instrument::Valgrind { counts_dir } | Instrument::ValgrindThreads { counts_dir } => counts_dir,
        }
    }

    /// Makes the directory for counts, where the server's user may write.
    pub(crate) fn prepare(&self, user: &ServerUser) -> Result<()> {
        let counts_dir = self.counts_dir();
        create_open_dir(counts_dir)?;
        held_dir::give(counts_dir, user)?;
        Ok(user.check_reachable(counts_dir, "name another directory for the counts")?)
    }
}

/// Whether a program is one that servers are run under, by its file name.
pub(crate) fn is_instrument(exe: &Path) -> bool {
    let tools: [&[u8]; 2] = [b"cachegrind-", b"callgrind-"];
    exe.file_name().is_some_and(|name| tools.iter().any(|tool| name.as_encoded_bytes().starts_with(tool)))
}

fn valgrind() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join("valgrind")).find(|program| program.is_file())
}

/// The valgrind of this host, such as `valgrind-3.19.0`; none when it is not installed.
pub fn available() -> Option<String> {
    let output = Command::new(valgrind()?).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// Instructions that a process executed in user space before it ended, those of its ancestors before each fork
/// included; none while it lives or still writes.
///
/// # Errors
/// When the file cannot be read.
pub fn instructions_of(counts_dir: &Path, pid: u32) -> Result<Option<u64>> {
    match read_private(&counts_dir.join(pid.to_string()), server_user()?.uid) {
        Ok(content) => Ok(summary(&content)),
        Err(Error::Build(BuildError::File { source, .. }))
            if source.kind() == std::io::ErrorKind::NotFound =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The number in the last line, which is written last: without its end it may be cut off.
fn summary(content: &[u8]) -> Option<u64> {
    let last = content.strip_suffix(b"\n")?.rsplit(|&byte| byte == b'\n').next()?;
    std::str::from_utf8(last).ok()?.strip_prefix("summary:")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_cut_off_is_not_taken() {
        assert_eq!(summary(b"events: Ir\nfn=main\n3 17\nsummary: 1234567\n"), Some(1_234_567));
        assert_eq!(summary(b"events: Ir\nfn=main\n3 17\nsummary: 12345"), None);
        assert_eq!(summary(b"events: Ir\nfn=main\n3 17\n"), None);
    }
}
