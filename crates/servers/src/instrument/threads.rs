//! Counts instructions of a running server's threads between two points in time. All sessions of a threaded
//! server are in one process, whose file at the end would not separate them.
//!
//! Valgrind's callgrind keeps a count per thread, and writes and resets it on a command sent through
//! valgrind's own vgdb. While counting is off, the server runs three times as fast. On one CPU together with
//! its client, a session's reads take the same number of instructions within 0.1 %: a server that finds the
//! next query already there takes a different code path than one that waits for it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rqps_builds::{ServerUser, server_user};

use crate::error::{Error, Result};
use crate::private::read_private;

/// Time limit for the server's answer, which takes seconds even on a busy machine.
const ANSWER_MAX: Duration = Duration::from_secs(120);

/// Counts the instructions of a server started under [`super::Instrument::ValgrindThreads`].
#[derive(Debug, Clone)]
pub struct ThreadCounter {
    counts_dir: PathBuf,
    pid: u32,
    user: ServerUser,
}

impl ThreadCounter {
    /// The counter of the server with this main process and this instrument directory.
    ///
    /// # Errors
    /// If there is no user to run servers as.
    pub fn new(counts_dir: &Path, pid: u32) -> Result<Self> {
        let counts_dir = std::path::absolute(counts_dir).map_err(Error::file("find", counts_dir))?;
        Ok(Self { counts_dir, pid, user: server_user()? })
    }

    /// Valgrind's number of a kernel thread; None if there is no such thread.
    ///
    /// # Errors
    /// If the server does not answer.
    pub fn number_of(&self, kernel_thread: u32) -> Result<Option<u32>> {
        Ok(parse_number(&self.send(&["v.info", "scheduler"])?, kernel_thread))
    }

    /// Resets all threads' counts and starts counting.
    ///
    /// # Errors
    /// As for [`ThreadCounter::number_of`].
    pub fn begin(&self) -> Result<()> {
        self.send(&["instrumentation", "on"])?;
        self.dump_counts().map(|_| ())
    }

    /// Instructions that each thread, by valgrind's number, executed in user space since
    /// [`ThreadCounter::begin`]. Stops counting.
    ///
    /// # Errors
    /// As for [`ThreadCounter::number_of`], or if a count cannot be read.
    pub fn end(&self) -> Result<BTreeMap<u32, u64>> {
        let counts = self.dump_counts()?;
        self.send(&["instrumentation", "off"])?;
        Ok(counts)
    }

    fn dump_counts(&self) -> Result<BTreeMap<u32, u64>> {
        self.send(&["dump"])?;
        let mut counts = BTreeMap::new();
        let listed = fs::read_dir(&self.counts_dir).map_err(Error::file("list", &self.counts_dir))?;
        for entry in listed {
            let path = entry.map_err(Error::file("list", &self.counts_dir))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let Some(thread) = parse_thread(&name, self.pid) else { continue };
            let content = read_private(&path, self.user.uid)?;
            let total = parse_total(&content)
                .ok_or_else(|| Error::NoCounts { pid: self.pid, reason: format!("{name} has no total") })?;
            *counts.entry(thread).or_default() += total;
            fs::remove_file(&path).map_err(Error::file("remove", &path))?;
        }
        Ok(counts)
    }

    /// Sends a command to the server and returns its answer. Runs as the server's user: valgrind accepts
    /// commands only from it.
    fn send(&self, command_words: &[&str]) -> Result<String> {
        let failed = |reason: String| Error::NoCounts { pid: self.pid, reason };
        let mut command = Command::new("vgdb");
        command
            .arg(prefix(&self.counts_dir))
            .arg(format!("--pid={}", self.pid))
            .args(command_words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        self.user.apply(&mut command);
        let mut child = command.spawn().map_err(|cause| failed(format!("cannot run vgdb: {cause}")))?;
        let since = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(_)) => break,
                Ok(None) if since.elapsed() < ANSWER_MAX => std::thread::sleep(Duration::from_millis(5)),
                _ => {
                    // Otherwise it would end with the server.
                    let _ = child.kill();
                    let _ = child.wait();
                    let (command, waited_s) = (command_words.join(" "), ANSWER_MAX.as_secs());
                    return Err(Error::NoAnswer { pid: self.pid, command, waited_s });
                }
            }
        }
        let output = child.wait_with_output().map_err(|cause| failed(cause.to_string()))?;
        if !output.status.success() {
            return Err(failed(format!("vgdb {command_words:?}: {}", output.status)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// The option for valgrind and vgdb with the prefix of vgdb's files.
pub(super) fn prefix(counts_dir: &Path) -> String {
    format!("--vgdb-prefix={}/vgdb", counts_dir.display())
}

/// Parses valgrind's number from a line such as `Thread 28: status = VgTs_WaitSys syscall 7 (lwpid 27535)`.
fn parse_number(threads: &str, kernel_thread: u32) -> Option<u32> {
    let end = format!("(lwpid {kernel_thread})");
    let line = threads.lines().find(|line| line.trim_end().ends_with(&end))?;
    line.split_once("Thread ")?.1.split(':').next()?.parse().ok()
}

/// Parses the thread from a file name such as `27231.4-28`.
fn parse_thread(name: &str, pid: u32) -> Option<u32> {
    let (_, thread) = name.strip_prefix(&format!("{pid}."))?.split_once('-')?;
    thread.parse().ok()
}

/// Parses the total in a count file, which follows the lines of code.
fn parse_total(content: &[u8]) -> Option<u64> {
    let mut lines = content.rsplit(|&byte| byte == b'\n');
    let number = lines.find_map(|line| line.strip_prefix(b"totals:"))?;
    std::str::from_utf8(number).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_found_by_kernel_id_and_file_name() {
        let listing = "Thread 1: status = VgTs_WaitSys syscall 7 (lwpid 27231)\n==27231==    at 0x5: poll\n\
                    Thread 28: status = VgTs_Runnable (lwpid 272)\n";
        assert_eq!(parse_number(listing, 272), Some(28));
        assert_eq!(parse_number(listing, 7231), None);
        assert_eq!(parse_thread("27231.4-28", 27231), Some(28));
        assert_eq!(parse_thread("27231.4-28", 2723), None);
        assert_eq!(parse_thread("vgdb-from-vgdb-to-27231-by-???-on-???", 27231), None);
        assert_eq!(parse_total(b"events: Ir\nfn=(1)\n0 5\n\ntotals: 81606062\n\n"), Some(81_606_062));
    }
}
