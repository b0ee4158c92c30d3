//! Identifies processes across pid reuse: once a process has ended, another one may get its pid.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use procfs::process::Stat;
use rqps_probe::stat_of;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde::{Deserialize, Serialize};

/// One process during its life: a later process with the same pid differs in the other fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub pid: u32,
    /// Start time in clock ticks since boot.
    pub start_ticks: u64,
    pub boot_id: String,
    pub exe: PathBuf,
}

impl Identity {
    /// The process that has this pid now; None if there is none, it is a zombie, or its executable cannot be
    /// read.
    pub fn read(pid: u32) -> Option<Identity> {
        let stat = stat_of(pid)?;
        if stat.state == 'Z' || stat.state == 'X' {
            return None;
        }
        let boot_id = procfs::sys::kernel::random::boot_id().unwrap_or_default();
        Some(Identity { pid, start_ticks: stat.starttime, boot_id, exe: exe_of(pid)? })
    }

    /// Whether exactly this process is alive.
    pub fn alive(&self) -> bool {
        Identity::read(self.pid).as_ref() == Some(self)
    }
}

/// The executable of a process, without the kernel's mark for a deleted file.
pub(crate) fn exe_of(pid: u32) -> Option<PathBuf> {
    let exe = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let text = exe.to_string_lossy();
    Some(match text.strip_suffix(" (deleted)") {
        Some(path) => PathBuf::from(path),
        None => exe,
    })
}

/// Whether a process with this pid exists; zombies count.
pub fn exists(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

pub(crate) fn signal(pid: u32, signal: Signal) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(kill_process(pid, signal)?)
}

/// Waits for a program that leads a process group. Kills the group and returns None if `interrupted` becomes
/// true.
pub(crate) fn wait_unless_interrupted(
    child: &mut Child,
    interrupted: &AtomicBool,
) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if interrupted.load(Ordering::Relaxed) {
            // Fails only if the program has just exited.
            let _sent = kill_process_group(Pid::from_child(child), Signal::KILL);
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Kills the remaining processes of a server whose main process is gone: those that run its program in its
/// data directory. They would notice by themselves, but only after their current query.
pub(crate) fn end_stragglers(data_dir: &Path, exe: &Path) {
    let Ok(exe) = fs::canonicalize(exe) else {
        return;
    };
    for pid in working_in(data_dir, false) {
        if exe_of(pid).is_some_and(|running| running == exe) {
            // It may be exiting.
            let _sent = signal(pid, Signal::KILL);
        }
    }
}

/// All processes whose working directory is this one, or with `below` also inside it.
pub(crate) fn working_in(directory: &Path, below: bool) -> Vec<u32> {
    let Ok(directory) = fs::canonicalize(directory) else {
        return Vec::new();
    };
    let works_there = |pid: &u32| {
        fs::read_link(format!("/proc/{pid}/cwd"))
            .is_ok_and(|cwd| if below { cwd.starts_with(&directory) } else { cwd == directory })
    };
    pids().filter(works_there).collect()
}

fn pids() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// CPU time, in clock ticks, of a process, its live descendants and those that were waited for: grows while any of
/// them works.
pub(crate) fn family_cpu_ticks(pid: u32) -> u64 {
    rqps_probe::family(pid).iter().map(cpu_ticks).sum()
}

/// A process and its state as the kernel shows it: `T` is stopped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    pub pid: u32,
    pub state: char,
}

impl Member {
    pub fn is_stopped(self) -> bool {
        matches!(self.state, 'T' | 't' | 'Z' | 'X')
    }
}

/// A process, followed by its children, their children, and so on.
pub(crate) fn family(pid: u32) -> Vec<Member> {
    let member = |stat: &Stat| Member { pid: stat.pid.cast_unsigned(), state: stat.state };
    rqps_probe::family(pid).iter().map(member).collect()
}

fn cpu_ticks(stat: &Stat) -> u64 {
    stat.utime + stat.stime + (stat.cutime + stat.cstime).max(0).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ended_process_is_not_alive() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let identity = Identity::read(child.id()).unwrap();
        assert!(identity.alive());
        let other = Identity { start_ticks: identity.start_ticks + 1, ..identity.clone() };
        assert!(!other.alive());
        signal(child.id(), Signal::KILL).unwrap();
        child.wait().unwrap();
        assert!(!identity.alive());
    }
}
