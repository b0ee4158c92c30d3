//! CPU clocks that are read many times per second: of the processes or threads that serve sessions, and of the server's
//! others.

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
    /// The clock of a process, exact at any time.
    Process(ClockId),
    /// A thread of another process has no clock. Its time is in /proc, exact while it is not running.
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

/// The clocks of a server's sessions and of its other processes or threads.
pub(crate) struct SliceClocks {
    /// In the order of the sessions.
    pub sessions: Vec<Arc<CpuClock>>,
    others: Others,
}

enum Others {
    /// All processes except the sessions' when the clocks were opened.
    Processes(Vec<CpuClock>),
    /// The process of all threads, including the sessions'.
    Whole(u32),
}

impl SliceClocks {
    /// Opens the clocks of a server whose sessions are served by these processes or threads.
    pub fn open(server: &ServerTarget, sessions: &[u32]) -> Result<Self> {
        let gone = |pid: u32| Error::ServerGone { pid };
        let process_clock = |pid: u32| {
            let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(pid as i32));
            clock.map(|clock| CpuClock(Source::Process(clock)))
        };
        match server.work_in {
            WorkIn::Processes => {
                let tree = TreeSnapshot::take(server.pid)?;
                let others = tree.pids().filter(|pid| !sessions.contains(pid));
                let session_clock = |pid: &u32| process_clock(*pid).map(Arc::new).map_err(|_| gone(*pid));
                Ok(Self {
                    sessions: sessions.iter().map(session_clock).collect::<Result<_>>()?,
                    others: Others::Processes(others.filter_map(|pid| process_clock(pid).ok()).collect()),
                })
            }
            WorkIn::Threads(_) => {
                let process = Process::new(server.pid as i32).map_err(|_| gone(server.pid))?;
                let session_clock = |tid: &u32| {
                    let task = process.task_from_tid(*tid as i32).map_err(|_| gone(server.pid))?;
                    Ok(Arc::new(CpuClock(Source::Thread(task))))
                };
                // Thread id 0: the server does not report which thread serves a session.
                let known = sessions.iter().all(|tid| *tid != 0);
                let sessions = if known { sessions } else { &[] };
                Ok(Self {
                    sessions: sessions.iter().map(session_clock).collect::<Result<_>>()?,
                    others: Others::Whole(server.pid),
                })
            }
        }
    }

    /// CPU time so far of all processes or threads that serve no session, nanoseconds.
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
