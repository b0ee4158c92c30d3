//! A server's tree of processes: what each of them used, and what was used by those that have already ended.
//!
//! The CPU of a tree is the sum, over its live processes, of their own time and of the time of the children they have
//! waited for. A process that ends moves its time into its parent's waited-for time, so differences of that sum lose
//! nothing when workers come and go. Own time is read in nanoseconds where the process has one thread; the kernel's
//! utime and stime (10 ms ticks) give the split into user and system.

use std::collections::HashMap;

use nix::time::ClockId;
use nix::unistd::Pid;
use procfs::ProcError;
use procfs::process::{Process, Stat};

use crate::error::{Error, Result};
use crate::host::tick_us;

/// Readings of the whole tree that are thrown away because a process ended while it was read.
const RETRIES: usize = 5;

/// One reading of a server's tree of processes.
#[derive(Debug, Clone)]
pub(crate) struct TreeSnapshot {
    pub processes: HashMap<ProcessKey, ProcessCounters>,
    root: ProcessKey,
}

/// A process through its whole life: ids are used again, ids with a start time are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ProcessKey {
    pub pid: u32,
    started_ticks: u64,
}

/// Cumulative counters of one live process.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProcessCounters {
    /// Own CPU in nanoseconds; none where the process has several threads or the kernel doesn't tell.
    own_ns: Option<u64>,
    /// Time it was ready to run and had no CPU, nanoseconds; none as for `own_ns`.
    queued_ns: Option<u64>,
    user_ticks: u64,
    system_ticks: u64,
    waited_user_ticks: u64,
    waited_system_ticks: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    /// None where the process may not be looked into.
    pub io: Option<IoCounters>,
}

/// Bytes a process read and wrote.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct IoCounters {
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub read_chars: u64,
    pub write_chars: u64,
}

impl IoCounters {
    /// What a process did so far, none where it may not be looked into. One that has ended did nothing.
    pub(crate) fn of(process: &Process) -> Option<Self> {
        match process.io() {
            Ok(io) => Some(IoCounters {
                read_bytes: io.read_bytes,
                write_bytes: io.write_bytes.saturating_sub(io.cancelled_write_bytes),
                read_chars: io.rchar,
                write_chars: io.wchar,
            }),
            Err(ProcError::PermissionDenied(_)) => None,
            Err(_) => Some(IoCounters::default()),
        }
    }
}

/// CPU used in a stretch of time, microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Cpu {
    pub total_us: u64,
    pub user_us: u64,
}

impl Cpu {
    /// Splits a precise total by the shares that ticks give. Without any tick all is user time, as the kernel does.
    pub(crate) fn split(total_us: u64, user_ticks: u64, system_ticks: u64) -> Self {
        let ticks = user_ticks + system_ticks;
        let user_us =
            if ticks == 0 { total_us } else { (total_us as f64 * user_ticks as f64 / ticks as f64) as u64 };
        Cpu { total_us, user_us }
    }

    pub(crate) fn system_us(&self) -> u64 {
        self.total_us - self.user_us
    }
}

impl ProcessCounters {
    fn of(stat: &Stat) -> Self {
        ProcessCounters {
            user_ticks: stat.utime,
            system_ticks: stat.stime,
            io: Some(IoCounters::default()),
            waited_user_ticks: stat.cutime.max(0) as u64,
            waited_system_ticks: stat.cstime.max(0) as u64,
            ..ProcessCounters::default()
        }
    }

    /// Adds what takes more files to read. A process that ended in between keeps what its stat said.
    fn look_closer(&mut self, process: &Process, threads: i64) {
        if threads == 1 {
            let times = process.schedstat().ok();
            self.queued_ns = times.as_ref().map(|times| times.run_delay);
            let own_ns = times.map(|times| times.sum_exec_runtime);
            let least_ns = (self.user_ticks + self.system_ticks) * tick_us() * 1000;
            self.own_ns = own_ns.filter(|&ns| ns >= least_ns);
        }
        if let Ok(status) = process.status() {
            self.voluntary_switches = status.voluntary_ctxt_switches.unwrap_or(0);
            self.involuntary_switches = status.nonvoluntary_ctxt_switches.unwrap_or(0);
        }
        self.io = IoCounters::of(process);
    }

    /// Own CPU since `before`, microseconds; from zero when the process is younger than that.
    pub(crate) fn own_since_us(&self, before: Option<&Self>) -> u64 {
        let ticks = |process: &Self| process.user_ticks + process.system_ticks;
        match (self.own_ns, before.map(|before| before.own_ns)) {
            (Some(after_ns), None) => after_ns / 1000,
            (Some(after_ns), Some(Some(before_ns))) => after_ns.saturating_sub(before_ns) / 1000,
            _ => ticks(self).saturating_sub(before.map_or(0, ticks)) * tick_us(),
        }
    }

    /// Time since `before` that it was ready to run and had no CPU, microseconds; from zero for a younger process.
    pub(crate) fn queued_since_us(&self, before: Option<&Self>) -> Option<u64> {
        let earlier_ns = before.map_or(Some(0), |before| before.queued_ns)?;
        Some(self.queued_ns?.saturating_sub(earlier_ns) / 1000)
    }

    fn own_us(&self) -> u64 {
        self.own_since_us(None)
    }

    fn waited_us(&self) -> u64 {
        (self.waited_user_ticks + self.waited_system_ticks) * tick_us()
    }
}

impl TreeSnapshot {
    /// Reads the process `root_pid` and everything below it.
    pub(crate) fn take(root_pid: u32) -> Result<Self> {
        let mut attempt = 0;
        loop {
            let (snapshot, steady) = Self::try_take(root_pid)?;
            attempt += 1;
            // On a server that never stands still the last reading is off by one process at most.
            if steady || attempt > RETRIES {
                return Ok(snapshot);
            }
        }
    }

    /// One pass; the flag says that no process ended under our eyes.
    fn try_take(root_pid: u32) -> Result<(Self, bool)> {
        let stats = all_stats()?;
        let root_stat = stats.get(&root_pid).ok_or(Error::ServerGone { pid: root_pid })?;
        let root = ProcessKey { pid: root_pid, started_ticks: root_stat.starttime };
        let mut processes = HashMap::new();
        let mut steady = true;
        for pid in tree(&stats, root_pid) {
            let stat = &stats[&pid];
            let mut counters = ProcessCounters::of(stat);
            match Process::new(pid as i32) {
                Ok(process) => counters.look_closer(&process, stat.num_threads),
                Err(_) => steady = false,
            }
            processes.insert(ProcessKey { pid, started_ticks: stat.starttime }, counters);
        }
        let root_now = Process::new(root_pid as i32).and_then(|process| process.stat());
        let root_now = root_now.map_err(|_| Error::ServerGone { pid: root_pid })?;
        steady &= (root_now.cutime, root_now.cstime) == (root_stat.cutime, root_stat.cstime);
        Ok((TreeSnapshot { processes, root }, steady))
    }

    /// Whether `pid` is the first process of the tree.
    pub(crate) fn is_root(&self, key: &ProcessKey) -> bool {
        *key == self.root
    }

    pub(crate) fn pids(&self) -> impl Iterator<Item = u32> {
        self.processes.keys().map(|key| key.pid)
    }

    /// CPU of the whole tree since `before`, ended processes included.
    pub(crate) fn cpu_since(&self, before: &Self) -> Cpu {
        let user = |tree: &Self| tree.sum(|process| process.user_ticks + process.waited_user_ticks);
        let system = |tree: &Self| tree.sum(|process| process.system_ticks + process.waited_system_ticks);
        let live_us: u64 =
            self.processes.iter().map(|(key, process)| process.own_since_us(before.processes.get(key))).sum();
        Cpu::split(
            live_us + self.ended_since_us(before),
            user(self).saturating_sub(user(before)),
            system(self).saturating_sub(system(before)),
        )
    }

    /// CPU that processes used after `before` which have ended since, microseconds.
    pub(crate) fn ended_since_us(&self, before: &Self) -> u64 {
        let waited =
            self.sum(ProcessCounters::waited_us).saturating_sub(before.sum(ProcessCounters::waited_us));
        // What the ended processes had used, or waited for, before the stretch is no part of it.
        let gone = before.processes.iter().filter(|(key, _)| !self.processes.contains_key(key));
        let used_before: u64 = gone.map(|(_, process)| process.own_us()).sum();
        waited.saturating_sub(used_before)
    }

    fn sum(&self, field: impl Fn(&ProcessCounters) -> u64) -> u64 {
        self.processes.values().map(field).sum()
    }
}

/// Process ids of the children that `pid` has now.
pub(crate) fn children_of(pid: u32) -> Vec<u32> {
    let Ok(stats) = all_stats() else {
        return Vec::new();
    };
    stats.values().filter(|stat| stat.ppid == pid as i32).map(|stat| stat.pid as u32).collect()
}

/// Process ids of `root_pid` and everything below it, now.
pub(crate) fn tree_of(root_pid: u32) -> Result<Vec<u32>> {
    let stats = all_stats()?;
    if !stats.contains_key(&root_pid) {
        return Err(Error::ServerGone { pid: root_pid });
    }
    Ok(tree(&stats, root_pid))
}

/// The title of a process: its command line without padding; empty when it has ended.
pub(crate) fn title_of(pid: u32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> = bytes.split(|&byte| byte == 0).filter(|word| !word.is_empty()).collect();
    String::from_utf8_lossy(&words.join(&b' ')).trim().to_string()
}

/// CPU of a process since it began, nanoseconds: all its threads, ended ones too, but no other process. None when it
/// is gone.
pub(crate) fn process_cpu_ns(pid: u32) -> Option<u64> {
    let time = ClockId::pid_cpu_clock_id(Pid::from_raw(pid as i32)).and_then(ClockId::now).ok()?;
    Some(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// The stat of every process there is, by process id. Processes that end while the list is read are left out.
fn all_stats() -> Result<HashMap<u32, Stat>> {
    let processes = procfs::process::all_processes().map_err(Error::proc("/proc"))?;
    let stats = processes.filter_map(|process| process.and_then(|process| process.stat()).ok());
    Ok(stats.map(|stat| (stat.pid as u32, stat)).collect())
}

fn tree(stats: &HashMap<u32, Stat>, root_pid: u32) -> Vec<u32> {
    let mut found = vec![root_pid];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(stats.values().filter(|stat| stat.ppid == parent as i32).map(|stat| stat.pid as u32));
        next += 1;
    }
    found
}
