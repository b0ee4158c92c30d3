//! Runs a server under a program that counts its instructions, for hosts without hardware counters.
//!
//! Valgrind's cachegrind counts every instruction in user space, with the same result for the same work; a
//! server is one to two orders of magnitude slower under it. Each process writes one file when it ends. A
//! forked process starts with its parent's count, so the cost of some work is the difference between two
//! sessions. If sessions are threads, callgrind is used instead: see [`ThreadCounter`].

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
        /// Where each process writes its count when it ends. Use a new directory for each start: files are
        /// named by pid, and pids are reused.
        counts_dir: PathBuf,
    },
    /// Valgrind, counting the instructions of each thread when a [`ThreadCounter`] asks it to.
    ValgrindThreads {
        /// The directory of vgdb's files, and of counts until they are read.
        counts_dir: PathBuf,
    },
}

impl Instrument {
    /// Program and arguments that precede the server's command.
    pub(crate) fn command(&self) -> Result<Vec<OsString>> {
        let program = valgrind().ok_or(Error::NoValgrind)?;
        let counts_dir = self.counts_dir();
        let counts_dir = std::path::absolute(counts_dir).map_err(Error::file("find", counts_dir))?;
        let vgdb_prefix = threads::prefix(&counts_dir);
        let (mut file, options) = match self {
            Instrument::Valgrind { .. } => (
                OsString::from("--cachegrind-out-file="),
                // Sessions are short: code that is translated fast matters more than code that runs fast.
                vec![
                    "--tool=cachegrind",
                    "--cache-sim=no",
                    "--trace-children=no",
                    "--vex-guest-chase=no",
                    "--vex-iropt-level=0",
                    "-q",
                ],
            ),
            Instrument::ValgrindThreads { .. } => (
                OsString::from("--callgrind-out-file="),
                vec!["--tool=callgrind", "--separate-threads=yes", "--instr-atstart=no", &vgdb_prefix, "-q"],
            ),
        };
        // A percent sign starts a placeholder.
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

    /// Creates the directory for counts, writable by the server's user.
    pub(crate) fn prepare(&self, user: &ServerUser) -> Result<()> {
        let counts_dir = self.counts_dir();
        create_open_dir(counts_dir)?;
        held_dir::chown_to(counts_dir, user)?;
        Ok(user.check_reachable(counts_dir, "name another directory for the counts")?)
    }
}

/// Whether an executable is an instrument, by its file name.
pub(crate) fn is_instrument(exe: &Path) -> bool {
    let tools: [&[u8]; 2] = [b"cachegrind-", b"callgrind-"];
    exe.file_name().is_some_and(|name| tools.iter().any(|tool| name.as_encoded_bytes().starts_with(tool)))
}

fn valgrind() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join("valgrind")).find(|program| program.is_file())
}

/// The installed valgrind's version, such as `valgrind-3.19.0`; None if it is not installed.
pub fn available() -> Option<String> {
    let output = Command::new(valgrind()?).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// Instructions that a process executed in user space until it ended, including those of its ancestors before
/// each fork; None while it runs or writes.
///
/// # Errors
/// If the file cannot be read.
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

/// Parses the last line, which is written last; without its newline it may be cut off.
fn summary(content: &[u8]) -> Option<u64> {
    let last = content.strip_suffix(b"\n")?.rsplit(|&byte| byte == b'\n').next()?;
    std::str::from_utf8(last).ok()?.strip_prefix("summary:")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_count_is_ignored() {
        assert_eq!(summary(b"events: Ir\nfn=main\n3 17\nsummary: 1234567\n"), Some(1_234_567));
        assert_eq!(summary(b"events: Ir\nfn=main\n3 17\nsummary: 12345"), None);
        assert_eq!(summary(b"events: Ir\nfn=main\n3 17\n"), None);
    }
}
