//! Processes by identity: a pid alone says nothing once its process has ended and the number was given to another.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde::{Deserialize, Serialize};

/// One process, for as long as it lives and no longer: a later process with the same pid differs in the other fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub pid: u32,
    /// Clock ticks from boot to its start.
    pub start_ticks: u64,
    pub boot_id: String,
    pub exe: PathBuf,
}

impl Identity {
    /// The process that has this pid now; none when there is none, it is a zombie, or its program cannot be read.
    pub fn of(pid: u32) -> Option<Identity> {
        let stat = Stat::of(pid)?;
        if stat.state == 'Z' || stat.state == 'X' {
            return None;
        }
        Some(Identity { pid, start_ticks: stat.start_ticks, boot_id: boot_id(), exe: exe_of(pid)? })
    }

    /// Whether this very process still lives.
    pub fn alive(&self) -> bool {
        Identity::of(self.pid).as_ref() == Some(self)
    }
}

/// The program a process runs, without the kernel's mark for a removed file.
pub(crate) fn exe_of(pid: u32) -> Option<PathBuf> {
    let exe = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let text = exe.to_string_lossy();
    Some(match text.strip_suffix(" (deleted)") {
        Some(path) => PathBuf::from(path),
        None => exe,
    })
}

/// Whether there is a process with this pid, also one that has ended and was not waited for.
pub(crate) fn exists(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

pub(crate) fn signal(pid: u32, signal: Signal) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(kill_process(pid, signal)?)
}

/// Waits for the end of a program that leads a process group; none when it was ended, with all that it started, because
/// `interrupted` became true.
pub(crate) fn wait_unless(child: &mut Child, interrupted: &AtomicBool) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if interrupted.load(Ordering::Relaxed) {
            if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                // It can only fail when the program has just ended.
                let _sent = kill_process_group(group, Signal::KILL);
            }
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Every process that runs this program with this working directory.
fn running_in(directory: &Path, exe: &Path) -> Vec<u32> {
    let Ok(exe) = fs::canonicalize(exe) else {
        return Vec::new();
    };
    working_in(directory).into_iter().filter(|pid| exe_of(*pid).is_some_and(|its| its == exe)).collect()
}

/// Ends processes of a server whose main process is gone: they run its program, in its data directory. They
/// would notice by themselves, but not before their present query ends.
pub(crate) fn end_stragglers(data_dir: &Path, exe: &Path) {
    for pid in running_in(data_dir, exe) {
        // It may end by itself at this moment.
        let _sent = signal(pid, Signal::KILL);
    }
}

/// Every process with this working directory.
pub(crate) fn working_in(directory: &Path) -> Vec<u32> {
    let Ok(directory) = fs::canonicalize(directory) else {
        return Vec::new();
    };
    pids().filter(|pid| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == directory)).collect()
}

/// Every process whose working directory is this one or below it.
pub(crate) fn working_below(directory: &Path) -> Vec<u32> {
    let Ok(directory) = fs::canonicalize(directory) else {
        return Vec::new();
    };
    let works_there =
        |pid: &u32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(&directory));
    pids().filter(works_there).collect()
}

fn pids() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// CPU time in clock ticks of a process, its living children and those it has waited for: grows while any of
/// them works.
pub(crate) fn family_cpu_ticks(pid: u32) -> u64 {
    let own = Stat::of(pid).map_or(0, |stat| stat.cpu_ticks);
    let children = pids().filter_map(Stat::of).filter(|stat| stat.parent == pid);
    own + children.map(|stat| stat.cpu_ticks).sum::<u64>()
}

/// A process and its state, as the kernel writes that: `T` when it is stopped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    pub pid: u32,
    pub state: char,
}

impl Member {
    /// Whether it does nothing until it is told to: stopped, or ended.
    pub fn is_still(self) -> bool {
        matches!(self.state, 'T' | 't' | 'Z' | 'X')
    }
}

/// A process, then its children, theirs, and so on.
pub(crate) fn family(pid: u32) -> Vec<Member> {
    let stats: Vec<(u32, Stat)> = pids().filter_map(|pid| Some((pid, Stat::of(pid)?))).collect();
    let first = stats.iter().find(|(its, _)| *its == pid);
    let mut family: Vec<Member> =
        first.map(|(_, stat)| Member { pid, state: stat.state }).into_iter().collect();
    let mut next = 0;
    while let Some(parent) = family.get(next).map(|member| member.pid) {
        let children = stats.iter().filter(|(_, stat)| stat.parent == parent);
        family.extend(children.map(|(pid, stat)| Member { pid: *pid, state: stat.state }));
        next += 1;
    }
    family
}

/// The fields of `/proc/<pid>/stat` that are needed here.
struct Stat {
    state: char,
    parent: u32,
    cpu_ticks: u64,
    start_ticks: u64,
}

impl Stat {
    fn of(pid: u32) -> Option<Stat> {
        Stat::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The second field is the program's name in parentheses and may itself hold spaces and parentheses.
    fn parse(text: &str) -> Option<Stat> {
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        Some(Stat {
            state: fields.first()?.chars().next()?,
            parent: u32::try_from(number(1)?).ok()?,
            cpu_ticks: number(11)? + number(12)? + number(13)? + number(14)?,
            start_ticks: number(19)?,
        })
    }
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_with_parentheses_shifts_no_field() {
        let text = "42 (a (b) c) S 7 42 42 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 1 0 987654 1 2 3";
        let stat = Stat::parse(text).unwrap();
        assert_eq!((stat.state, stat.parent), ('S', 7));
        assert_eq!((stat.cpu_ticks, stat.start_ticks), (100, 987_654));
    }

    #[test]
    fn an_ended_process_is_not_alive() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let identity = Identity::of(child.id()).unwrap();
        assert!(identity.alive());
        let other = Identity { start_ticks: identity.start_ticks + 1, ..identity.clone() };
        assert!(!other.alive());
        signal(child.id(), Signal::KILL).unwrap();
        child.wait().unwrap();
        assert!(!identity.alive());
    }
}
