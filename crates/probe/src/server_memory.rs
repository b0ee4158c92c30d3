//! Memory of a server's processes. They share most of it, so the sum of resident sizes would be meaningless: private
//! memory is summed, shared memory is the maximum over processes, and the kernel's proportional set size, which divides
//! shared pages evenly, is included if it is quick to read.

use std::time::{Duration, Instant};

use procfs::process::Process;

/// Time limit for proportional sizes: the kernel walks every page of every process for them.
const PROPORTIONAL_BUDGET: Duration = Duration::from_millis(250);

/// Memory of a server's processes at one moment, units of 1024 bytes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerMemory {
    pub processes: u32,
    /// Private memory, summed over the processes.
    pub private_kb: u64,
    /// Shared memory (mainly shared buffers) touched by a process, maximum over all.
    pub shared_kb_max: u64,
    /// Sum of proportional set sizes; `None` if reading them takes too long or is not permitted.
    pub proportional_kb: Option<u64>,
}

/// Memory of these processes, except ended ones.
pub(crate) fn server_memory(pids: impl Iterator<Item = u32>) -> ServerMemory {
    let mut memory = ServerMemory { proportional_kb: Some(0), ..ServerMemory::default() };
    let started = Instant::now();
    for pid in pids {
        let Ok(status) = Process::new(pid as i32).and_then(|process| process.status()) else {
            continue;
        };
        if status.vmrss.is_none() {
            continue; // ended, but not yet waited for
        }
        memory.processes += 1;
        memory.private_kb += status.rssanon.unwrap_or(0);
        memory.shared_kb_max = memory.shared_kb_max.max(status.rssshmem.unwrap_or(0));
        memory.proportional_kb = match memory.proportional_kb {
            Some(sum_kb) if started.elapsed() < PROPORTIONAL_BUDGET => {
                proportional_kb(pid).map(|kb| sum_kb + kb)
            }
            _ => None,
        };
    }
    memory
}

fn proportional_kb(pid: u32) -> Option<u64> {
    let rollup = Process::new(pid as i32).and_then(|process| process.smaps_rollup()).ok()?;
    Some(rollup.memory_map_rollup.iter().next()?.extension.map.get("Pss")? / 1024)
}
