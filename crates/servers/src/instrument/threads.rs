//! Counts of a server's threads between two moments, asked for while it runs: all sessions of a threaded server are
//! one process, whose file at the end would tell them from nothing.
//!
//! Valgrind's callgrind keeps a count for each thread, and writes and zeroes them at a command that valgrind's own vgdb
//! brings. While it is not told to count it only runs the server, which is three times as fast as counting. On one CPU
//! with its client a session's reads take the same number of instructions within 0.1 %: a server that finds the next
//! question there already takes another way through its code than one that waits for it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rqps_builds::{ServerUser, server_user};

use crate::error::{Error, Result};
use crate::private::read_private;

/// How long the server may take to answer; it takes seconds, even on a busy machine.
const ANSWER_MAX: Duration = Duration::from_secs(120);

/// A server that was started under [`super::Instrument::ValgrindThreads`].
#[derive(Debug, Clone)]
pub struct ThreadCounter {
    counts_dir: PathBuf,
    pid: u32,
    user: ServerUser,
}

impl ThreadCounter {
    /// The counter of the server with this main process, whose instrument has this directory.
    ///
    /// # Errors
    /// When there is no user to run servers as.
    pub fn new(counts_dir: &Path, pid: u32) -> Result<Self> {
        let counts_dir = std::path::absolute(counts_dir).map_err(Error::file("find", counts_dir))?;
        Ok(Self { counts_dir, pid, user: server_user()? })
    }

    /// Valgrind's number of a kernel thread; none if there is no such thread.
    ///
    /// # Errors
    /// When the server can't be asked.
    pub fn number_of(&self, kernel_thread: u32) -> Result<Option<u32>> {
        Ok(number_in(&self.tell(&["v.info", "scheduler"])?, kernel_thread))
    }

    /// Has all threads count from 0, from now on.
    ///
    /// # Errors
    /// As for [`ThreadCounter::number_of`].
    pub fn begin(&self) -> Result<()> {
        self.tell(&["instrumentation", "on"])?;
        self.take().map(|_| ())
    }

    /// Instructions that each thread, by valgrind's number, has executed in user space since [`ThreadCounter::begin`].
    /// The server runs on without counting.
    ///
    /// # Errors
    /// As for [`ThreadCounter::number_of`], or when a count can't be read.
    pub fn end(&self) -> Result<BTreeMap<u32, u64>> {
        let counts = self.take()?;
        self.tell(&["instrumentation", "off"])?;
        Ok(counts)
    }

    fn take(&self) -> Result<BTreeMap<u32, u64>> {
        self.tell(&["dump"])?;
        let mut counts = BTreeMap::new();
        let listed = fs::read_dir(&self.counts_dir).map_err(Error::file("list", &self.counts_dir))?;
        for entry in listed {
            let path = entry.map_err(Error::file("list", &self.counts_dir))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let Some(thread) = thread_of(&name, self.pid) else { continue };
            let content = read_private(&path, self.user.uid)?;
            let total = total(&content)
                .ok_or_else(|| Error::NoCounts { pid: self.pid, reason: format!("{name} has no total") })?;
            *counts.entry(thread).or_default() += total;
            fs::remove_file(&path).map_err(Error::file("remove", &path))?;
        }
        Ok(counts)
    }

    /// Sends a command to the server and returns its answer, as the server's user: valgrind accepts none from others.
    fn tell(&self, words: &[&str]) -> Result<String> {
        let failed = |reason: String| Error::NoCounts { pid: self.pid, reason };
        let mut command = Command::new("vgdb");
        command
            .arg(prefix(&self.counts_dir))
            .arg(format!("--pid={}", self.pid))
            .args(words)
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
                    // It ends on its own with the server otherwise.
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(failed(format!("no answer to {words:?} within {} s", ANSWER_MAX.as_secs())));
                }
            }
        }
        let output = child.wait_with_output().map_err(|cause| failed(cause.to_string()))?;
        if !output.status.success() {
            return Err(failed(format!("vgdb {words:?}: {}", output.status)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Valgrind's and vgdb's option for where they meet.
pub(super) fn prefix(counts_dir: &Path) -> String {
    format!("--vgdb-prefix={}/vgdb", counts_dir.display())
}

/// Valgrind's number in a line such as `Thread 28: status = VgTs_WaitSys syscall 7 (lwpid 27535)`.
fn number_in(threads: &str, kernel_thread: u32) -> Option<u32> {
    let end = format!("(lwpid {kernel_thread})");
    let line = threads.lines().find(|line| line.trim_end().ends_with(&end))?;
    line.split_once("Thread ")?.1.split(':').next()?.parse().ok()
}

/// The thread in the name of a file of counts such as `27231.4-28`.
fn thread_of(name: &str, pid: u32) -> Option<u32> {
    let (_, thread) = name.strip_prefix(&format!("{pid}."))?.split_once('-')?;
    thread.parse().ok()
}

/// The number in a file of counts, behind all lines of code.
fn total(content: &[u8]) -> Option<u64> {
    let mut lines = content.rsplit(|&byte| byte == b'\n');
    let number = lines.find_map(|line| line.strip_prefix(b"totals:"))?;
    std::str::from_utf8(number).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_found_by_what_the_kernel_calls_them() {
        let told = "Thread 1: status = VgTs_WaitSys syscall 7 (lwpid 27231)\n==27231==    at 0x5: poll\n\
                    Thread 28: status = VgTs_Runnable (lwpid 272)\n";
        assert_eq!(number_in(told, 272), Some(28));
        assert_eq!(number_in(told, 7231), None);
        assert_eq!(thread_of("27231.4-28", 27231), Some(28));
        assert_eq!(thread_of("27231.4-28", 2723), None);
        assert_eq!(thread_of("vgdb-from-vgdb-to-27231-by-???-on-???", 27231), None);
        assert_eq!(total(b"events: Ir\nfn=(1)\n0 5\n\ntotals: 81606062\n\n"), Some(81_606_062));
    }
}
