//! CPU used by the client: this process, or another driver's process.

use std::collections::HashMap;

use procfs::process::Process;

use crate::error::{Error, Result};
use crate::process::{CpuCost, process_cpu_ns};

/// CPU counters of the client's process, including all its threads, also ended ones.
#[derive(Debug, Clone)]
pub(crate) struct ClientSnapshot {
    cpu_ns: u64,
    user_ticks: u64,
    system_ticks: u64,
    /// Time that each thread waited on a run queue, nanoseconds.
    queued_ns: HashMap<i32, u64>,
}

impl ClientSnapshot {
    /// Reads the counters of these threads, or of the whole process.
    pub(crate) fn take(pid: u32, threads: Option<&[u32]>) -> Result<Self> {
        let process = Process::new(pid as i32).map_err(|_| Error::ClientGone { pid })?;
        if let Some(threads) = threads {
            return Ok(Self::of_threads(&process, threads));
        }
        let stat = process.stat().map_err(|_| Error::ClientGone { pid })?;
        Ok(ClientSnapshot {
            cpu_ns: process_cpu_ns(pid).ok_or(Error::ClientGone { pid })?,
            user_ticks: stat.utime,
            system_ticks: stat.stime,
            queued_ns: queued_ns(&process),
        })
    }

    /// The threads must be paused: for a running one, the kernel reports the time as of its last tick.
    fn of_threads(process: &Process, threads: &[u32]) -> Self {
        let mut sum = ClientSnapshot { cpu_ns: 0, user_ticks: 0, system_ticks: 0, queued_ns: HashMap::new() };
        for thread in threads {
            let Ok(task) = process.task_from_tid(*thread as i32) else { continue };
            if let (Ok(times), Ok(stat)) = (task.schedstat(), task.stat()) {
                sum.cpu_ns += times.sum_exec_runtime;
                sum.user_ticks += stat.utime;
                sum.system_ticks += stat.stime;
                sum.queued_ns.insert(task.tid, times.run_delay);
            }
        }
        sum
    }

    /// Time since `before` that the threads alive now waited on run queues, microseconds, all together.
    pub(crate) fn queued_since_us(&self, before: &Self) -> u64 {
        let since = |(thread, now_ns): (&i32, &u64)| {
            now_ns.saturating_sub(before.queued_ns.get(thread).copied().unwrap_or(0))
        };
        self.queued_ns.iter().map(since).sum::<u64>() / 1000
    }

    pub(crate) fn since(&self, before: &Self) -> CpuCost {
        CpuCost::split(
            self.cpu_ns.saturating_sub(before.cpu_ns) / 1000,
            self.user_ticks.saturating_sub(before.user_ticks),
            self.system_ticks.saturating_sub(before.system_ticks),
        )
    }
}

/// Run queue time by thread; threads without scheduler statistics are left out.
fn queued_ns(process: &Process) -> HashMap<i32, u64> {
    let Ok(tasks) = process.tasks() else {
        return HashMap::new();
    };
    tasks.flatten().filter_map(|task| Some((task.tid, task.schedstat().ok()?.run_delay))).collect()
}
