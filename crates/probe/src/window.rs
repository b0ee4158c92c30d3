//! One measured window: counters of host, server and client are read at its two ends, and the cost is their
//! difference. The readings nest (server, counters, host, client | window | client, host, counters, server), so what
//! reading costs falls outside the innermost figures. Listing the processes of a host takes about 20 us each; by that
//! much, some milliseconds at each end, the server's figures reach beyond the window.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::client::ClientSnapshot;
use crate::error::Result;
use crate::host::{HostCost, HostSnapshot};
use crate::perf::{PerfCost, PerfCounters, PerfReading};
use crate::process::Cpu;
use crate::server_cost::{ServerCost, ServerSnapshot, ServerTarget};

/// Reads counters at the two ends of a window.
pub struct WindowProbe {
    server: ServerTarget,
    sessions: Vec<u32>,
    client_pid: u32,
    perf: Option<PerfCounters>,
}

/// Counters at the first end of a window.
pub struct WindowStart {
    server: ServerSnapshot,
    perf: Option<PerfReading>,
    host: HostSnapshot,
    client: ClientSnapshot,
    at: Instant,
}

/// What a window cost. All times are microseconds of CPU, except `elapsed_us`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WindowCost {
    /// Length of the window by the wall clock.
    pub elapsed_us: u64,
    pub host: HostCost,
    pub server: ServerCost,
    /// The client's process, with all its threads.
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
    pub user_us: u64,
    pub system_us: u64,
}

impl WindowProbe {
    /// A probe of `server`; `sessions` are the ids of the processes or kernel threads that serve the measured clients,
    /// 0 for one that is not known, and `perf` the counters opened when the server was started. This very process is
    /// the client.
    pub fn new(server: ServerTarget, sessions: Vec<u32>, perf: Option<PerfCounters>) -> Self {
        WindowProbe { server, sessions, client_pid: std::process::id(), perf }
    }

    /// The process `pid` is the client, which lives from before the window until after it.
    #[must_use]
    pub fn client(self, pid: u32) -> Self {
        WindowProbe { client_pid: pid, ..self }
    }

    /// Reads everything at the first end of a window.
    pub fn begin(&self) -> Result<WindowStart> {
        let server = ServerSnapshot::take(&self.server)?;
        let perf = self.perf.as_ref().map(PerfCounters::read);
        let host = HostSnapshot::take()?;
        let client = ClientSnapshot::take(self.client_pid)?;
        Ok(WindowStart { server, perf, host, client, at: Instant::now() })
    }

    /// Reads everything at the last end of a window, and tells the cost of it.
    pub fn end(&self, start: &WindowStart) -> Result<WindowCost> {
        let elapsed_us = start.at.elapsed().as_micros() as u64;
        let own = ClientSnapshot::take(self.client_pid)?;
        let client = own.since(&start.client);
        let host = HostSnapshot::take()?.since(&start.host);
        let perf_now = self.perf.as_ref().map(PerfCounters::read);
        let server_now = ServerSnapshot::take(&self.server)?;
        let server = server_now.cost_since(&start.server, &self.server, &self.sessions);
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
}

impl From<Cpu> for CpuCost {
    fn from(cpu: Cpu) -> Self {
        CpuCost { cpu_us: cpu.total_us, user_us: cpu.user_us, system_us: cpu.system_us() }
    }
}
