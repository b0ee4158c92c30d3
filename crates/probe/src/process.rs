//! Resource usage of a server's process tree, including processes that have ended.
//!
//! The CPU of a tree is the sum, over its live processes, of their own time and of that of the children they have
//! waited for. When a process ends, its time moves to its parent's waited-for time, so differences of the sum lose
//! nothing when workers come and go. Own time is in nanoseconds if the process has one thread; the kernel's utime and
//! stime (10 ms ticks) determine the split into user and system.

use std::collections::HashMap;

use nix::time::ClockId;
use nix::unistd::Pid;
use procfs::ProcError;
use procfs::process::{Process, Stat};

use crate::error::{Error, Result};
use crate::family::family;
use crate::host::tick_us;

/// Readings of the tree that are discarded because a process ended meanwhile.
const RETRIES: usize = 5;

/// One reading of a server's tree of processes.
#[derive(Debug, Clone)]
pub(crate) struct TreeSnapshot {
    pub processes: HashMap<TaskKey, ProcessCounters>,
    root: TaskKey,
}

/// Identifies a process or thread for its whole life: unlike the id alone, id and start time are never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TaskKey {
    pub id: u32,
    pub started_ticks: u64,
}

/// Cumulative counters of one live process.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProcessCounters {
    /// Own CPU in nanoseconds; `None` if the process has several threads or the kernel does not report it.
    own_ns: Option<u64>,
    /// Time spent waiting on run queues, nanoseconds; `None` as for `own_ns`.
    queued_ns: Option<u64>,
    user_ticks: u64,
    system_ticks: u64,
    waited_user_ticks: u64,
    waited_system_ticks: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    /// `None` without permission to read it.
    pub io: Option<ServerIo>,
}

/// Bytes read and written by the server's processes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ServerIo {
    /// Fetched from storage.
    pub read_bytes: u64,
    /// Sent to storage (counted when the page cache is dirtied, subtracted when it is truncated).
    pub write_bytes: u64,
    /// Read by system calls, also from the page cache and sockets.
    pub read_chars: u64,
    /// Written by system calls, also to sockets.
    pub write_chars: u64,
}

impl ServerIo {
    /// A process's totals so far: `None` without permission, 0 for an ended process.
    pub(crate) fn read(process: &Process) -> Option<Self> {
        match process.io() {
            Ok(io) => Some(ServerIo {
                read_bytes: io.read_bytes,
                write_bytes: io.write_bytes.saturating_sub(io.cancelled_write_bytes),
                read_chars: io.rchar,
                write_chars: io.wchar,
            }),
            Err(ProcError::PermissionDenied(_)) => None,
            Err(_) => Some(ServerIo::default()),
        }
    }

    /// Adds the difference of two readings of a process.
    pub(crate) fn plus(&self, after: &Self, before: &Self) -> Self {
        ServerIo {
            read_bytes: self.read_bytes + after.read_bytes.saturating_sub(before.read_bytes),
            write_bytes: self.write_bytes + after.write_bytes.saturating_sub(before.write_bytes),
            read_chars: self.read_chars + after.read_chars.saturating_sub(before.read_chars),
            write_chars: self.write_chars + after.write_chars.saturating_sub(before.write_chars),
        }
    }
}

/// CPU of processes, microseconds. The total is exact; the split is from the kernel's clock ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuCost {
    /// User and system time together.
    pub cpu_us: u64,
    pub user_us: u64,
    pub system_us: u64,
}

impl CpuCost {
    /// Splits an exact total in proportion to the ticks. Without ticks all of it is user time, as in the kernel.
    pub(crate) fn split(cpu_us: u64, user_ticks: u64, system_ticks: u64) -> Self {
        let ticks = user_ticks + system_ticks;
        let user_us =
            if ticks == 0 { cpu_us } else { (cpu_us as f64 * user_ticks as f64 / ticks as f64) as u64 };
        CpuCost { cpu_us, user_us, system_us: cpu_us - user_us }
    }
}

impl ProcessCounters {
    fn from_stat(stat: &Stat) -> Self {
        ProcessCounters {
            user_ticks: stat.utime,
            system_ticks: stat.stime,
            io: Some(ServerIo::default()),
            waited_user_ticks: stat.cutime.max(0) as u64,
            waited_system_ticks: stat.cstime.max(0) as u64,
            ..ProcessCounters::default()
        }
    }

    /// Reads the remaining files. A process that has ended meanwhile keeps the figures of its stat.
    fn read_details(&mut self, process: &Process, threads: i64) {
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
        self.io = ServerIo::read(process);
    }

    /// Own CPU since `before`, microseconds; since its start for a newer process.
    pub(crate) fn own_since_us(&self, before: Option<&Self>) -> u64 {
        let ticks = |process: &Self| process.user_ticks + process.system_ticks;
        match (self.own_ns, before.map(|before| before.own_ns)) {
            (Some(after_ns), None) => after_ns / 1000,
            (Some(after_ns), Some(Some(before_ns))) => after_ns.saturating_sub(before_ns) / 1000,
            _ => ticks(self).saturating_sub(before.map_or(0, ticks)) * tick_us(),
        }
    }

    /// Time on run queues since `before`, microseconds; since its start for a newer process.
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
    /// Reads the process `root_pid` and its descendants.
    pub(crate) fn take(root_pid: u32) -> Result<Self> {
        let mut attempt = 0;
        loop {
            let (snapshot, steady) = Self::try_take(root_pid)?;
            attempt += 1;
            // On a server that starts processes continuously, the last reading is off by at most one process.
            if steady || attempt > RETRIES {
                return Ok(snapshot);
            }
        }
    }

    /// One pass; true if no process ended during it.
    fn try_take(root_pid: u32) -> Result<(Self, bool)> {
        let family = family(root_pid);
        let root_stat = family.first().ok_or(Error::ServerGone { pid: root_pid })?;
        let root = TaskKey { id: root_pid, started_ticks: root_stat.starttime };
        let mut processes = HashMap::new();
        let mut steady = true;
        for stat in &family {
            let mut counters = ProcessCounters::from_stat(stat);
            match Process::new(stat.pid) {
                Ok(process) => counters.read_details(&process, stat.num_threads),
                Err(_) => steady = false,
            }
            let key = TaskKey { id: stat.pid.cast_unsigned(), started_ticks: stat.starttime };
            processes.insert(key, counters);
        }
        let root_now = Process::new(root_pid as i32).and_then(|process| process.stat());
        let root_now = root_now.map_err(|_| Error::ServerGone { pid: root_pid })?;
        steady &= (root_now.cutime, root_now.cstime) == (root_stat.cutime, root_stat.cstime);
        Ok((TreeSnapshot { processes, root }, steady))
    }

    /// Whether `pid` is the first process of the tree.
    pub(crate) fn is_root(&self, key: &TaskKey) -> bool {
        *key == self.root
    }

    pub(crate) fn pids(&self) -> impl Iterator<Item = u32> {
        self.processes.keys().map(|key| key.id)
    }

    /// CPU of the whole tree since `before`, including ended processes.
    pub(crate) fn cpu_since(&self, before: &Self) -> CpuCost {
        let user = |tree: &Self| tree.sum(|process| process.user_ticks + process.waited_user_ticks);
        let system = |tree: &Self| tree.sum(|process| process.system_ticks + process.waited_system_ticks);
        let live_us: u64 =
            self.processes.iter().map(|(key, process)| process.own_since_us(before.processes.get(key))).sum();
        CpuCost::split(
            live_us + self.ended_since_us(before),
            user(self).saturating_sub(user(before)),
            system(self).saturating_sub(system(before)),
        )
    }

    /// CPU since `before` of processes that have ended since, microseconds.
    pub(crate) fn ended_since_us(&self, before: &Self) -> u64 {
        let waited =
            self.sum(ProcessCounters::waited_us).saturating_sub(before.sum(ProcessCounters::waited_us));
        // Excludes what the ended processes had used, or waited for, before the stretch.
        let gone = before.processes.iter().filter(|(key, _)| !self.processes.contains_key(key));
        let used_before: u64 = gone.map(|(_, process)| process.own_us()).sum();
        waited.saturating_sub(used_before)
    }

    fn sum(&self, field: impl Fn(&ProcessCounters) -> u64) -> u64 {
        self.processes.values().map(field).sum()
    }
}

/// Process ids of `root_pid` and its current descendants.
pub(crate) fn tree_of(root_pid: u32) -> Result<Vec<u32>> {
    let family = family(root_pid);
    if family.is_empty() {
        return Err(Error::ServerGone { pid: root_pid });
    }
    Ok(family.iter().map(|stat| stat.pid.cast_unsigned()).collect())
}

/// The title of a process: its command line without padding; empty if it has ended.
pub(crate) fn title_of(pid: u32) -> String {
    let words = Process::new(pid as i32).and_then(|process| process.cmdline()).unwrap_or_default();
    words.join(" ").trim().to_string()
}

/// CPU of a process since its start, nanoseconds: all its threads, also ended ones, without other processes. `None`
/// if it has ended.
pub(crate) fn process_cpu_ns(pid: u32) -> Option<u64> {
    let time = ClockId::pid_cpu_clock_id(Pid::from_raw(pid as i32)).and_then(ClockId::now).ok()?;
    Some(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}
