//! What the client used: this very process, or another program that stands in for it.

use std::collections::HashMap;

use procfs::process::Process;

use crate::error::{Error, Result};
use crate::process::{Cpu, process_cpu_ns};

/// CPU counters of the client's process, all its threads included, ended ones too.
#[derive(Debug, Clone)]
pub(crate) struct ClientSnapshot {
    cpu_ns: u64,
    user_ticks: u64,
    system_ticks: u64,
    /// Time each thread was ready to run and had no CPU, nanoseconds.
    queued_ns: HashMap<i32, u64>,
}

impl ClientSnapshot {
    pub(crate) fn take(pid: u32) -> Result<Self> {
        let stat = Process::new(pid as i32)
            .and_then(|process| process.stat())
            .map_err(|_| Error::ClientGone { pid })?;
        Ok(ClientSnapshot {
            cpu_ns: process_cpu_ns(pid).ok_or(Error::ClientGone { pid })?,
            user_ticks: stat.utime,
            system_ticks: stat.stime,
            queued_ns: queued_ns(pid),
        })
    }

    /// Time since `before` that threads which live now were ready to run and had no CPU, microseconds, all together.
    pub(crate) fn queued_since_us(&self, before: &Self) -> u64 {
        let since = |(thread, now_ns): (&i32, &u64)| {
            now_ns.saturating_sub(before.queued_ns.get(thread).copied().unwrap_or(0))
        };
        self.queued_ns.iter().map(since).sum::<u64>() / 1000
    }

    pub(crate) fn since(&self, before: &Self) -> Cpu {
        Cpu::split(
            self.cpu_ns.saturating_sub(before.cpu_ns) / 1000,
            self.user_ticks.saturating_sub(before.user_ticks),
            self.system_ticks.saturating_sub(before.system_ticks),
        )
    }
}

/// By thread; threads that the kernel does not tell of are left out.
fn queued_ns(pid: u32) -> HashMap<i32, u64> {
    let Ok(tasks) = Process::new(pid as i32).and_then(|process| process.tasks()) else {
        return HashMap::new();
    };
    tasks.flatten().filter_map(|task| Some((task.tid, task.schedstat().ok()?.run_delay))).collect()
}
