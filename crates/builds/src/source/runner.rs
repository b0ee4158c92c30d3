//! Runs the programs of a build one after the other: as the unprivileged user, into one log, told about while they
//! work, and ended with everything they started when somebody wants to stop.

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

/// How often a running program is polled.
const POLL: Duration = Duration::from_millis(200);

/// What a build's programs get to end by themselves, so that their own children go first.
const GRACE: Duration = Duration::from_secs(5);

/// Lines of a log that an error shows.
const TAIL_LINES: usize = 25;

pub(crate) struct Runner<'a, 'w> {
    /// What is built, for messages.
    pub what: &'a str,
    pub flavour: &'a Flavour,
    pub user: &'a ServerUser,
    /// Where programs start, which is also their home.
    pub directory: &'a Path,
    pub log: PathBuf,
    pub watch: &'a mut Watch<'w>,
    pub began: Instant,
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
        let start = log.metadata().map_or(0, |meta| meta.len());
        guarded
            .command()
            .args(&step.arguments)
            .env("PATH", path)
            .env("HOME", self.directory)
            .env("CC", &self.flavour.cc)
            .env("CXX", &self.flavour.cxx)
            .envs(&self.flavour.env)
            .current_dir(self.directory)
            .stdout(log)
            .stderr(error_log);
        let mut child = guarded.spawn()?;
        let status = self.wait(&mut child, step.phase, start);
        let status = status?.ok_or_else(|| Error::Interrupted { what: self.what.to_owned() })?;
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

    /// How the program ended; nothing when it was ended because somebody wants to stop.
    fn wait(&mut self, child: &mut Child, phase: &'static str, start: u64) -> Result<Option<ExitStatus>> {
        let mut seen = Seen { at: start, lines: 0, last: String::new() };
        loop {
            let ended =
                child.try_wait().map_err(Error::file("wait for the build's program, log", &self.log))?;
            if ended.is_some() {
                return Ok(ended);
            }
            if self.watch.is_stopped() {
                end_group(child);
                return Ok(None);
            }
            seen.look(&self.log);
            (self.watch.progress)(&BuildProgress {
                what: self.what,
                phase,
                elapsed_s: self.began.elapsed().as_secs_f64(),
                lines: seen.lines,
                steps: steps_of(&seen.last),
            });
            thread::sleep(POLL);
        }
    }
}

/// The program leads a process group, which has all that it started.
fn end_group(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let send = |signal| group.is_some_and(|group| kill_process_group(group, signal).is_ok());
    send(Signal::TERM);
    let deadline = Instant::now() + GRACE;
    while Instant::now() < deadline && matches!(child.try_wait(), Ok(None)) {
        thread::sleep(Duration::from_millis(50));
    }
    // What outlived its leader is still in the group.
    send(Signal::KILL);
    let _reaped = child.wait();
}

/// How much of a growing log has been read.
struct Seen {
    at: u64,
    lines: u64,
    /// The last line as far as it is written.
    last: String,
}

impl Seen {
    /// A log that cannot be read is no reason to fail: it is not counted.
    fn look(&mut self, log: &Path) {
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

/// `[12/345]` or `[ 12%]` at the start of a line, as ninja and CMake's makefiles count.
fn steps_of(line: &str) -> Option<(u32, u32)> {
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
    fn steps_are_read_where_the_tool_counts_them() {
        assert_eq!(steps_of("[12/345] Compiling C object x.o"), Some((12, 345)));
        assert_eq!(steps_of("[  7%] Building CXX object y.o"), Some((7, 100)));
        assert_eq!(steps_of("gcc -c x.c [1/2]"), None);
        assert_eq!(steps_of("[note] x"), None);
    }
}
