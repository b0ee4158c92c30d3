//! Resource usage of a server that runs in threads of one process, including threads that have ended.
//!
//! The process clock, in nanoseconds, includes ended threads; each live thread has its own time. The difference was
//! used by threads that have ended. The time of a running thread is as of the kernel's last tick, so that part is off
//! by some milliseconds per busy thread.

use std::collections::HashMap;

use procfs::process::{Process, Task};

use crate::error::{Error, Result};
use crate::host::tick_us;
use crate::process::{CpuCost, ServerIo, TaskKey, process_cpu_ns};

/// One reading of a process and its threads.
#[derive(Debug, Clone)]
pub(crate) struct ThreadsSnapshot {
    pub threads: HashMap<TaskKey, ThreadCounters>,
    /// `None` without permission to read it.
    pub io: Option<ServerIo>,
    cpu_ns: u64,
    user_ticks: u64,
    system_ticks: u64,
    /// Of ended children: user and system.
    waited_ticks: [u64; 2],
}

/// Cumulative counters of one live thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct ThreadCounters {
    /// Its name in the kernel, up to 15 characters; the program's if it has not set one.
    pub name: String,
    own_ns: u64,
    queued_ns: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
}

impl ThreadCounters {
    /// `None` if the thread has ended.
    fn read(task: &Task) -> Option<(TaskKey, Self)> {
        let stat = task.stat().ok()?;
        let times = task.schedstat().ok()?;
        let status = task.status().ok()?;
        let counters = ThreadCounters {
            name: stat.comm,
            own_ns: times.sum_exec_runtime,
            queued_ns: times.run_delay,
            voluntary_switches: status.voluntary_ctxt_switches.unwrap_or(0),
            involuntary_switches: status.nonvoluntary_ctxt_switches.unwrap_or(0),
        };
        Some((TaskKey { id: task.tid as u32, started_ticks: stat.starttime }, counters))
    }

    /// Own CPU since `before`, microseconds; since its start for a newer thread.
    pub(crate) fn own_since_us(&self, before: Option<&Self>) -> u64 {
        self.own_ns.saturating_sub(before.map_or(0, |before| before.own_ns)) / 1000
    }

    /// Time on run queues since `before`, microseconds; since its start for a newer thread.
    pub(crate) fn queued_since_us(&self, before: Option<&Self>) -> u64 {
        self.queued_ns.saturating_sub(before.map_or(0, |before| before.queued_ns)) / 1000
    }
}

impl ThreadsSnapshot {
    /// Reads the process `pid`.
    pub(crate) fn take(pid: u32) -> Result<Self> {
        let gone = || Error::ServerGone { pid };
        let process = Process::new(pid as i32).map_err(|_| gone())?;
        let tasks = process.tasks().map_err(|_| gone())?;
        let threads = tasks.flatten().filter_map(|task| ThreadCounters::read(&task)).collect();
        let stat = process.stat().map_err(|_| gone())?;
        Ok(ThreadsSnapshot {
            threads,
            io: ServerIo::read(&process),
            cpu_ns: process_cpu_ns(pid).ok_or_else(gone)?,
            user_ticks: stat.utime,
            system_ticks: stat.stime,
            waited_ticks: [stat.cutime, stat.cstime].map(|ticks| ticks.max(0) as u64),
        })
    }

    /// CPU of the whole process since `before`, including ended threads: by its clock, but at least the sum of its
    /// threads; and, in ticks, of children that have ended.
    pub(crate) fn cpu_since(&self, before: &Self) -> CpuCost {
        let clock_us = self.cpu_ns.saturating_sub(before.cpu_ns) / 1000;
        let waited = |at: usize| self.waited_ticks[at].saturating_sub(before.waited_ticks[at]);
        let (waited_user, waited_system) = (waited(0), waited(1));
        CpuCost::split(
            clock_us.max(self.live_since_us(before)) + (waited_user + waited_system) * tick_us(),
            self.user_ticks.saturating_sub(before.user_ticks) + waited_user,
            self.system_ticks.saturating_sub(before.system_ticks) + waited_system,
        )
    }

    /// CPU since `before` of threads and children that have ended, microseconds.
    pub(crate) fn ended_since_us(&self, before: &Self) -> u64 {
        self.cpu_since(before).cpu_us - self.live_since_us(before)
    }

    fn live_since_us(&self, before: &Self) -> u64 {
        self.threads.iter().map(|(key, thread)| thread.own_since_us(before.threads.get(key))).sum()
    }
}

/// Ids of the current threads of a process, including the main thread; empty if it has ended.
pub(crate) fn threads_of(pid: u32) -> Vec<u32> {
    names_of_threads(pid).into_iter().map(|(tid, _)| tid).collect()
}

/// The current threads of a process, with their names; empty if it has ended.
pub(crate) fn names_of_threads(pid: u32) -> Vec<(u32, String)> {
    let Ok(tasks) = Process::new(pid as i32).and_then(|process| process.tasks()) else {
        return Vec::new();
    };
    tasks.flatten().filter_map(|task| Some((task.tid as u32, task.stat().ok()?.comm))).collect()
}
