//! Runs the programs of a build one after the other as the unprivileged user, logs their output, reports
//! progress, and kills them with all their children when the build is stopped.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::code::Step;
use super::flavour::Flavour;
use super::tools;
use super::watch::{BuildProgress, Watch};
use crate::error::{Error, Result};
use crate::guard::Guarded;
use crate::log_tail::tail;
use crate::user::ServerUser;

/// Polling interval for the running program.
const POLL: Duration = Duration::from_millis(200);

/// Time after SIGTERM for the programs to end their children and exit.
const GRACE: Duration = Duration::from_secs(5);

/// Log lines shown in an error.
const TAIL_LINES: usize = 25;

pub(crate) struct Runner<'a, 'w> {
    /// What is being built, for messages.
    pub what: &'a str,
    pub flavour: &'a Flavour,
    pub user: &'a ServerUser,
    /// Working and home directory of the programs.
    pub directory: &'a Path,
    pub log: PathBuf,
    /// Environment that makes it share objects with other builds.
    pub shared: &'a BTreeMap<String, String>,
    pub watch: &'a mut Watch<'w>,
    pub start: Instant,
}

impl Runner<'_, '_> {
    pub fn run(&mut self, step: &Step) -> Result<()> {
        let mut log = File::options()
            .create(true)
            .append(true)
            .open(&self.log)
            .map_err(Error::file("write", &self.log))?;
        writeln!(log, "# {} {}", step.program, step.arguments.join(" "))
            .map_err(Error::file("write", &self.log))?;
        let path = tools::search_path(self.flavour);
        let program = tools::find(&step.program, path).unwrap_or_else(|| PathBuf::from(&step.program));
        let mut guarded = Guarded::new(&program, self.user, Signal::KILL)?;
        let error_log = log.try_clone().map_err(Error::file("write", &self.log))?;
        let log_start = log.metadata().map_or(0, |meta| meta.len());
        guarded
            .command()
            .args(&step.arguments)
            .env("PATH", path)
            .env("HOME", self.directory)
            .env("CC", &self.flavour.cc)
            .env("CXX", &self.flavour.cxx)
            .envs(&self.flavour.env)
            .envs(self.shared)
            .current_dir(self.directory)
            .stdout(log)
            .stderr(error_log);
        let mut child = guarded.spawn()?;
        let status = self.wait(&mut child, step.phase, log_start)?;
        let status = status.ok_or_else(|| Error::Interrupted { what: self.what.to_owned() })?;
        if status.success() {
            return Ok(());
        }
        Err(Error::BuildFailed {
            what: self.what.to_owned(),
            phase: step.phase,
            status: status.to_string(),
            tail: tail(&self.log, 0, TAIL_LINES),
            log: self.log.clone(),
        })
    }

    /// Waits for the program. Returns None if it was ended because the build was stopped.
    fn wait(&mut self, child: &mut Child, phase: &'static str, log_start: u64) -> Result<Option<ExitStatus>> {
        let mut log = LogReader { at: log_start, lines: 0, last: String::new() };
        loop {
            let status =
                child.try_wait().map_err(Error::file("wait for the build's program, log", &self.log))?;
            if status.is_some() {
                return Ok(status);
            }
            if self.watch.is_stopped() {
                end_group(child);
                return Ok(None);
            }
            log.update(&self.log);
            (self.watch.progress)(&BuildProgress {
                what: self.what,
                phase,
                elapsed_s: self.start.elapsed().as_secs_f64(),
                lines: log.lines,
                steps: parse_steps(&log.last),
            });
            thread::sleep(POLL);
        }
    }
}

/// Ends the process group that the program leads, and so everything it started.
fn end_group(child: &mut Child) {
    let group = Pid::from_child(child);
    // An error means that the group is gone.
    let _sent = kill_process_group(group, Signal::TERM);
    let deadline = Instant::now() + GRACE;
    while Instant::now() < deadline && matches!(child.try_wait(), Ok(None)) {
        thread::sleep(Duration::from_millis(50));
    }
    // Processes that outlived the leader are still in the group.
    let _sent = kill_process_group(group, Signal::KILL);
    let _reaped = child.wait();
}

/// Reads a growing log.
struct LogReader {
    at: u64,
    lines: u64,
    /// The last line, which may be incomplete.
    last: String,
}

impl LogReader {
    /// An unreadable log is not an error; only progress suffers.
    fn update(&mut self, log: &Path) {
        let mut new = Vec::new();
        let read = File::open(log).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.at))?;
            file.read_to_end(&mut new)
        });
        if read.is_err() || new.is_empty() {
            return;
        }
        self.at += new.len() as u64;
        self.lines += new.iter().filter(|byte| **byte == b'\n').count() as u64;
        let text = String::from_utf8_lossy(&new);
        self.last = text.lines().last().unwrap_or_default().to_owned();
    }
}

/// Parses `[12/345]` or `[ 12%]` at the start of a line, as printed by ninja and by CMake's makefiles.
fn parse_steps(line: &str) -> Option<(u32, u32)> {
    let (inside, _) = line.strip_prefix('[')?.split_once(']')?;
    if let Some(percent) = inside.trim().strip_suffix('%') {
        return Some((percent.parse().ok()?, 100));
    }
    let (done, all) = inside.split_once('/')?;
    Some((done.trim().parse().ok()?, all.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_ninja_and_cmake_are_parsed() {
        assert_eq!(parse_steps("[12/345] Compiling C object x.o"), Some((12, 345)));
        assert_eq!(parse_steps("[  7%] Building CXX object y.o"), Some((7, 100)));
        assert_eq!(parse_steps("gcc -c x.c [1/2]"), None);
        assert_eq!(parse_steps("[note] x"), None);
    }
}
