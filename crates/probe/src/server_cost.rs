//! A server's resource usage between two readings, split into the sessions of measured clients and roles, for servers
//! with processes or threads.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::process::{CpuCost, ServerIo, TreeSnapshot, title_of};
use crate::server_memory::{ServerMemory, server_memory};
use crate::threads::ThreadsSnapshot;
use crate::{mysql, postgres, rocksdb};

/// Role of processes and threads that ended within the window.
const ENDED: &str = "ended within the window";

/// The measured server.
#[derive(Debug, Clone)]
pub struct ServerTarget {
    /// Process id of the server's first process.
    pub pid: u32,
    pub work_in: WorkIn,
}

/// Whether a server runs its sessions and background work in processes or threads.
#[derive(Debug, Clone)]
pub enum WorkIn {
    /// Child processes, with their role in their title.
    Processes,
    /// Threads of one process, with known roles by kernel thread id. Other roles are derived from the threads' names.
    Threads(BTreeMap<u32, String>),
}

/// Resource usage of the server's processes, or of the threads of its one process. CPU includes those that ended within
/// the window; context switches, and I/O of processes, include only those alive at its end.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerCost {
    pub cpu: CpuCost,
    /// Context switches of waiting processes.
    pub voluntary_switches: u64,
    /// Context switches of preempted processes.
    pub involuntary_switches: u64,
    /// `None` without permission to read it.
    pub io: Option<ServerIo>,
    /// Memory at the end of the window.
    pub memory: ServerMemory,
    /// CPU of each measured client's session, in the order given.
    pub backends: Vec<BackendCost>,
    /// CPU of all other processes or threads by role, the largest first. With `backends` it adds up to `cpu`.
    pub background: Vec<RoleCost>,
}

/// CPU of the process or thread that serves one client's session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BackendCost {
    /// Id of the process or kernel thread; 0 if unknown.
    pub pid: u32,
    /// CPU in the window; `None` if it ended before the window did, or its id is unknown.
    pub cpu_us: Option<u64>,
    /// Time in the window spent waiting on run queues, microseconds; `None` if the kernel does not report it.
    pub queued_us: Option<u64>,
}

/// CPU of the server's processes or threads of one role.
#[derive(Debug, Clone, PartialEq)]
pub struct RoleCost {
    /// Such as `checkpointer`.
    pub role: String,
    /// Their number at the end of the window.
    pub processes: u32,
    /// Their CPU in the window.
    pub cpu_us: u64,
}

/// One reading of a server.
pub(crate) enum ServerSnapshot {
    Processes(TreeSnapshot),
    Threads(ThreadsSnapshot),
}

/// Usage of a process or thread between two readings.
struct Usage {
    id: u32,
    cpu_us: u64,
    queued_us: Option<u64>,
}

impl ServerSnapshot {
    pub(crate) fn take(server: &ServerTarget) -> Result<Self> {
        match server.work_in {
            WorkIn::Processes => TreeSnapshot::take(server.pid).map(ServerSnapshot::Processes),
            WorkIn::Threads(_) => ThreadsSnapshot::take(server.pid).map(ServerSnapshot::Threads),
        }
    }

    /// The cost of `server` since `before`; `sessions` as given to the probe.
    pub(crate) fn cost_since(&self, before: &Self, server: &ServerTarget, sessions: &[u32]) -> ServerCost {
        let backend = |&pid| BackendCost { pid, cpu_us: None, queued_us: None };
        let backends = sessions.iter().map(backend).collect();
        let mut cost = ServerCost { backends, ..ServerCost::default() };
        match (self, before, &server.work_in) {
            (ServerSnapshot::Processes(now), ServerSnapshot::Processes(before), _) => {
                cost.add_processes(now, before);
            }
            (ServerSnapshot::Threads(now), ServerSnapshot::Threads(before), WorkIn::Threads(roles)) => {
                cost.add_threads(now, before, (server.pid, roles));
            }
            // Unreachable: both readings are of the same target.
            _ => {}
        }
        cost.background.sort_by(|a, b| b.cpu_us.cmp(&a.cpu_us).then_with(|| a.role.cmp(&b.role)));
        cost
    }
}

impl ServerCost {
    fn add_processes(&mut self, now: &TreeSnapshot, before: &TreeSnapshot) {
        self.cpu = now.cpu_since(before);
        self.memory = server_memory(now.pids());
        self.io = Some(ServerIo::default());
        self.add_background(ENDED, 0, now.ended_since_us(before));
        for (key, process) in &now.processes {
            let earlier = before.processes.get(key);
            let usage = Usage {
                id: key.id,
                cpu_us: process.own_since_us(earlier),
                queued_us: process.queued_since_us(earlier),
            };
            self.add(&usage, || {
                if now.is_root(key) {
                    return Some(postgres::roles::POSTMASTER.to_owned());
                }
                // A zombie has no title.
                let title = Some(title_of(key.id)).filter(|title| !title.is_empty())?;
                Some(postgres::roles::role_of(&title).to_owned())
            });
            self.add_switches(
                (process.voluntary_switches, process.involuntary_switches),
                earlier.map(|process| (process.voluntary_switches, process.involuntary_switches)),
            );
            self.add_io(process.io, earlier.map(|process| process.io));
        }
    }

    fn add_threads(
        &mut self,
        now: &ThreadsSnapshot,
        before: &ThreadsSnapshot,
        (pid, roles): (u32, &BTreeMap<u32, String>),
    ) {
        self.cpu = now.cpu_since(before);
        self.memory = server_memory([pid].into_iter());
        self.io = Some(ServerIo::default());
        self.add_io(now.io, Some(before.io));
        self.add_background(ENDED, 0, now.ended_since_us(before));
        for (key, thread) in &now.threads {
            let earlier = before.threads.get(key);
            let usage = Usage {
                id: key.id,
                cpu_us: thread.own_since_us(earlier),
                queued_us: Some(thread.queued_since_us(earlier)),
            };
            self.add(&usage, || Some(thread_role(pid, roles, key.id, &thread.name)));
            self.add_switches(
                (thread.voluntary_switches, thread.involuntary_switches),
                earlier.map(|thread| (thread.voluntary_switches, thread.involuntary_switches)),
            );
        }
    }

    /// Attributes usage to the measured session that it served, otherwise to its role; `None`: it has ended.
    fn add(&mut self, usage: &Usage, role: impl FnOnce() -> Option<String>) {
        if let Some(backend) = self.backends.iter_mut().find(|backend| backend.pid == usage.id) {
            backend.cpu_us = Some(usage.cpu_us);
            backend.queued_us = usage.queued_us;
            return;
        }
        match role() {
            Some(role) => self.add_background(&role, 1, usage.cpu_us),
            None => self.add_background(ENDED, 0, usage.cpu_us),
        }
    }

    fn add_background(&mut self, role: &str, count: u32, cpu_us: u64) {
        match self.background.iter_mut().find(|known| known.role == role) {
            Some(known) => {
                known.processes += count;
                known.cpu_us += cpu_us;
            }
            None if count > 0 || cpu_us > 0 => {
                self.background.push(RoleCost { role: role.to_string(), processes: count, cpu_us });
            }
            None => {}
        }
    }

    /// Adds context switches, voluntary and involuntary.
    fn add_switches(&mut self, after: (u64, u64), before: Option<(u64, u64)>) {
        let before = before.unwrap_or_default();
        self.voluntary_switches += after.0.saturating_sub(before.0);
        self.involuntary_switches += after.1.saturating_sub(before.1);
    }

    /// Adds I/O of a process; `before` is `None` for a new process. Without permission for any process, the sum is
    /// unknown.
    fn add_io(&mut self, after: Option<ServerIo>, before: Option<Option<ServerIo>>) {
        self.io = match (self.io, after, before) {
            (Some(io), Some(after), None) => Some(io.plus(&after, &ServerIo::default())),
            (Some(io), Some(after), Some(Some(before))) => Some(io.plus(&after, &before)),
            _ => None,
        };
    }
}

/// The role of a thread of the process `pid`.
pub(crate) fn thread_role(pid: u32, roles: &BTreeMap<u32, String>, tid: u32, name: &str) -> String {
    match roles.get(&tid) {
        Some(role) => role.clone(),
        None if tid == pid => mysql::roles::MAIN.to_owned(),
        None => rocksdb::role_of_name(name).unwrap_or_else(|| mysql::roles::role_of_name(name)),
    }
}
