//! Clocks of CPU time that are read many times a second: of the processes or threads that serve sessions, and of
//! everything else that a server runs.

use std::sync::Arc;

use nix::time::ClockId;
use nix::unistd::Pid;
use procfs::process::{Process, Task};

use crate::error::{Error, Result};
use crate::process::{TreeSnapshot, process_cpu_ns};
use crate::server_cost::{ServerTarget, WorkIn};

/// The CPU time of one process or thread.
pub struct CpuClock(Source);

enum Source {
    /// The clock of a process, which the kernel tells exactly at any time.
    Process(ClockId),
    /// A thread of another process has no clock. The kernel tells its time in a file, exactly when it stands.
    Thread(Task),
}

impl CpuClock {
    /// CPU time so far, nanoseconds; 0 once it has ended.
    pub fn ns(&self) -> u64 {
        match &self.0 {
            Source::Process(clock) => {
                clock.now().map_or(0, |time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
            }
            Source::Thread(task) => task.schedstat().map_or(0, |times| times.sum_exec_runtime),
        }
    }
}

/// The clocks of a server's sessions and of all else that it runs.
pub(crate) struct SliceClocks {
    /// In the order of the sessions.
    pub sessions: Vec<Arc<CpuClock>>,
    others: Others,
}

enum Others {
    /// Processes beside the sessions' that lived when the clocks were made.
    Processes(Vec<CpuClock>),
    /// The process that has all threads, sessions' included.
    Whole(u32),
}

impl SliceClocks {
    /// Of a server whose sessions are served by these processes or threads.
    pub fn open(server: &ServerTarget, sessions: &[u32]) -> Result<Self> {
        let gone = |pid: u32| Error::ServerGone { pid };
        let clock_of = |pid: u32| {
            let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(pid as i32));
            clock.map(|clock| CpuClock(Source::Process(clock)))
        };
        match server.work_in {
            WorkIn::Processes => {
                let tree = TreeSnapshot::take(server.pid)?;
                let others = tree.pids().filter(|pid| !sessions.contains(pid));
                let of_session = |pid: &u32| clock_of(*pid).map(Arc::new).map_err(|_| gone(*pid));
                Ok(Self {
                    sessions: sessions.iter().map(of_session).collect::<Result<_>>()?,
                    others: Others::Processes(others.filter_map(|pid| clock_of(pid).ok()).collect()),
                })
            }
            WorkIn::Threads(_) => {
                let process = Process::new(server.pid as i32).map_err(|_| gone(server.pid))?;
                let of_session = |tid: &u32| {
                    let task = process.task_from_tid(*tid as i32).map_err(|_| gone(server.pid))?;
                    Ok(Arc::new(CpuClock(Source::Thread(task))))
                };
                // A server that does not tell which thread serves a session has clocks of none.
                let known = sessions.iter().all(|tid| *tid != 0);
                let sessions = if known { sessions } else { &[] };
                Ok(Self {
                    sessions: sessions.iter().map(of_session).collect::<Result<_>>()?,
                    others: Others::Whole(server.pid),
                })
            }
        }
    }

    /// CPU time so far of all that serves no session, nanoseconds.
    pub fn others_ns(&self) -> u64 {
        let sum = |clocks: &mut dyn Iterator<Item = &CpuClock>| clocks.map(CpuClock::ns).sum::<u64>();
        match &self.others {
            Others::Processes(clocks) => sum(&mut clocks.iter()),
            Others::Whole(pid) => {
                let sessions = sum(&mut self.sessions.iter().map(|clock| &**clock));
                process_cpu_ns(*pid).unwrap_or(0).saturating_sub(sessions)
            }
        }
    }
}
