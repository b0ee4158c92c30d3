//! One measured window: counters of host, server and client are read at its two ends, and the cost is their
//! difference. The readings nest (server, counters, host, client | window | client, host, counters, server), so what
//! reading costs falls outside the innermost figures. Listing the processes of a host takes about 20 us each; by that
//! much, some milliseconds at each end, the server's figures reach beyond the window.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::host::{HostCost, HostSnapshot};
use crate::perf::{PerfCost, PerfCounters, PerfReading};
use crate::postgres::roles;
use crate::process::{Cpu, IoCounters, OwnSnapshot, TreeSnapshot, title_of};
use crate::server_memory::{ServerMemory, server_memory};

/// Role under which the CPU of processes is kept that ended within the window.
const ENDED: &str = "ended within the window";

/// The server whose processes are watched.
#[derive(Debug, Clone, Copy)]
pub struct ServerTarget {
    /// Process id of the server's first process.
    pub postmaster_pid: u32,
}

/// Reads counters at the two ends of a window.
pub struct WindowProbe {
    server: ServerTarget,
    client_backends: Vec<u32>,
    perf: Option<PerfCounters>,
}

/// Counters at the first end of a window.
pub struct WindowStart {
    server: TreeSnapshot,
    perf: Option<PerfReading>,
    host: HostSnapshot,
    client: OwnSnapshot,
    at: Instant,
}

/// What a window cost. All times are microseconds of CPU, except `elapsed_us`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WindowCost {
    /// Length of the window by the wall clock.
    pub elapsed_us: u64,
    /// The whole machine.
    pub host: HostCost,
    /// The server's processes.
    pub server: ServerCost,
    /// This process, with all its threads.
    pub client: CpuCost,
    /// Time that its threads were ready to run and had no CPU, microseconds.
    pub client_queued_us: u64,
    /// CPU of the host that neither server nor client used. The host's CPU is sampled by the kernel's clock, the
    /// others are exact, so on short windows this may be below zero.
    pub rest_us: i64,
    /// Hardware counters of the server.
    pub perf: PerfCost,
}

/// CPU of some processes, microseconds. The total is exact; the split is by the kernel's clock ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuCost {
    /// User and system time together.
    pub cpu_us: u64,
    /// In user space.
    pub user_us: u64,
    /// In the kernel.
    pub system_us: u64,
}

/// What the server's processes used. CPU includes processes that ended within the window; context switches and I/O
/// know only those that lived at its end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerCost {
    /// CPU of all processes.
    pub cpu: CpuCost,
    /// Context switches because a process waited.
    pub voluntary_switches: u64,
    /// Context switches because a process had to make room.
    pub involuntary_switches: u64,
    /// I/O; none where the server's processes may not be looked into.
    pub io: Option<ServerIo>,
    /// Memory at the end of the window.
    pub memory: ServerMemory,
    /// CPU of each measured client's session, in the order given.
    pub backends: Vec<BackendCost>,
    /// CPU of all other processes by role, the largest first. With `backends` it adds up to `cpu`.
    pub background: Vec<RoleCost>,
}

/// Bytes the server's processes read and wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerIo {
    /// Fetched from storage.
    pub read_bytes: u64,
    /// Sent towards storage (when the page cache was dirtied; taken back when it was truncated).
    pub write_bytes: u64,
    /// Read by system calls, from the page cache or not, sockets included.
    pub read_chars: u64,
    /// Written by system calls, sockets included.
    pub write_chars: u64,
}

/// CPU of the server process behind one client's session.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BackendCost {
    /// Process id.
    pub pid: u32,
    /// CPU in the window; none when the process had ended before the window did.
    pub cpu_us: Option<u64>,
    /// Time in the window that it was ready to run and had no CPU, microseconds; none where the kernel does not tell.
    pub queued_us: Option<u64>,
}

/// CPU of the server's processes of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoleCost {
    /// What they are for, such as `checkpointer`.
    pub role: String,
    /// How many lived at the end of the window.
    pub processes: u32,
    /// Their CPU in the window.
    pub cpu_us: u64,
}

impl WindowProbe {
    /// A probe of `server`; `client_backends` are the server-side process ids of the measured clients' sessions, and
    /// `perf` the counters opened when the server was started.
    pub fn new(server: ServerTarget, client_backends: Vec<u32>, perf: Option<PerfCounters>) -> Self {
        WindowProbe { server, client_backends, perf }
    }

    /// Reads everything at the first end of a window.
    pub fn begin(&self) -> Result<WindowStart> {
        let server = TreeSnapshot::take(self.server.postmaster_pid)?;
        let perf = self.perf.as_ref().map(PerfCounters::read);
        let host = HostSnapshot::take()?;
        let client = OwnSnapshot::take()?;
        Ok(WindowStart { server, perf, host, client, at: Instant::now() })
    }

    /// Reads everything at the last end of a window, and tells the cost of it.
    pub fn end(&self, start: &WindowStart) -> Result<WindowCost> {
        let elapsed_us = start.at.elapsed().as_micros() as u64;
        let own = OwnSnapshot::take()?;
        let client = own.since(&start.client);
        let host = HostSnapshot::take()?.since(&start.host);
        let perf_now = self.perf.as_ref().map(PerfCounters::read);
        let tree = TreeSnapshot::take(self.server.postmaster_pid)?;
        let server = self.server_cost(&tree, &start.server);
        let perf = match (perf_now, &start.perf) {
            (Some(now), Some(before)) => now.since(before),
            _ => PerfCost { unavailable: vec!["not asked for".to_string()], ..PerfCost::default() },
        };
        Ok(WindowCost {
            elapsed_us,
            rest_us: host.busy_us() as i64 - server.cpu.cpu_us as i64 - client.total_us as i64,
            host,
            server,
            client: client.into(),
            client_queued_us: own.queued_since_us(&start.client),
            perf,
        })
    }

    fn server_cost(&self, tree: &TreeSnapshot, before: &TreeSnapshot) -> ServerCost {
        let mut cost = ServerCost {
            cpu: tree.cpu_since(before).into(),
            memory: server_memory(tree),
            io: Some(ServerIo::default()),
            backends: self
                .client_backends
                .iter()
                .map(|&pid| BackendCost { pid, cpu_us: None, queued_us: None })
                .collect(),
            ..ServerCost::default()
        };
        cost.add_background(ENDED, 0, tree.ended_since_us(before));
        for (key, process) in &tree.processes {
            let earlier = before.processes.get(key);
            let cpu_us = process.own_since_us(earlier);
            match cost.backends.iter_mut().find(|backend| backend.pid == key.pid) {
                Some(backend) => {
                    backend.cpu_us = Some(cpu_us);
                    backend.queued_us = process.queued_since_us(earlier);
                }
                None if tree.is_root(key) => cost.add_background(roles::POSTMASTER, 1, cpu_us),
                None => match title_of(key.pid) {
                    // Ended, only not yet waited for.
                    title if title.is_empty() => cost.add_background(ENDED, 0, cpu_us),
                    title => cost.add_background(roles::role_of(&title), 1, cpu_us),
                },
            }
            let switches = |after: u64, before: Option<u64>| after.saturating_sub(before.unwrap_or(0));
            cost.voluntary_switches +=
                switches(process.voluntary_switches, earlier.map(|process| process.voluntary_switches));
            cost.involuntary_switches +=
                switches(process.involuntary_switches, earlier.map(|process| process.involuntary_switches));
            cost.io = match (cost.io, process.io, earlier.map(|process| process.io)) {
                (Some(io), Some(after), None) => Some(io.plus(&after, &IoCounters::default())),
                (Some(io), Some(after), Some(Some(before))) => Some(io.plus(&after, &before)),
                _ => None,
            };
        }
        cost.background.sort_by(|a, b| b.cpu_us.cmp(&a.cpu_us).then_with(|| a.role.cmp(&b.role)));
        cost
    }
}

impl ServerCost {
    fn add_background(&mut self, role: &str, processes: u32, cpu_us: u64) {
        match self.background.iter_mut().find(|known| known.role == role) {
            Some(known) => {
                known.processes += processes;
                known.cpu_us += cpu_us;
            }
            None if processes > 0 || cpu_us > 0 => {
                self.background.push(RoleCost { role: role.to_string(), processes, cpu_us });
            }
            None => {}
        }
    }
}

impl ServerIo {
    fn plus(&self, after: &IoCounters, before: &IoCounters) -> Self {
        ServerIo {
            read_bytes: self.read_bytes + after.read_bytes.saturating_sub(before.read_bytes),
            write_bytes: self.write_bytes + after.write_bytes.saturating_sub(before.write_bytes),
            read_chars: self.read_chars + after.read_chars.saturating_sub(before.read_chars),
            write_chars: self.write_chars + after.write_chars.saturating_sub(before.write_chars),
        }
    }
}

impl From<Cpu> for CpuCost {
    fn from(cpu: Cpu) -> Self {
        CpuCost { cpu_us: cpu.total_us, user_us: cpu.user_us, system_us: cpu.system_us() }
    }
}
