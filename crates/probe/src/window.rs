//! One measured window: counters of host, server and client are read at its two ends, and the cost is their
//! difference. The readings nest (server, counters, host, client | window | client, host, counters, server), so the
//! innermost figures exclude the cost of reading. Listing the processes of a host takes about 20 us each, so the
//! server's figures extend beyond the window by some milliseconds at each end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::client::ClientSnapshot;
use crate::cpu_clock::{CpuClock, SliceClocks};
use crate::error::Result;
use crate::host::{HostCost, SINCE, SUM};
use crate::perf::{PerfCost, PerfCounters, PerfReading};
use crate::process::CpuCost;
use crate::server_cost::{ServerCost, ServerSnapshot, ServerTarget};

/// Reads counters at the two ends of a window.
pub struct WindowProbe {
    server: ServerTarget,
    sessions: Vec<u32>,
    client_pid: u32,
    /// The client's threads, if other threads of its process serve other arms.
    client_threads: Option<Vec<u32>>,
    perf: Option<PerfCounters>,
    slices: Option<Slices>,
}

/// A server's turns in a window that it shares with other servers.
struct Slices {
    clocks: SliceClocks,
    /// Start of the current turn: time, host, CPU time of the server without its sessions.
    began: Option<(Instant, HostCost, u64)>,
    /// The host's cost over all turns.
    host: Option<HostCost>,
    elapsed: Duration,
}

/// Counters at the start of a window.
pub struct WindowStart {
    server: ServerSnapshot,
    perf: Option<PerfReading>,
    host: HostCost,
    client: ClientSnapshot,
    at: Instant,
}

/// The cost of a window. All times are microseconds of CPU, except `elapsed_us`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WindowCost {
    /// Wall time of the window; if arms take turns, of the server's own turns. The same holds for the host's counters.
    pub elapsed_us: u64,
    pub host: HostCost,
    pub server: ServerCost,
    /// The client's process with all its threads, or its threads only if arms take turns.
    pub client: CpuCost,
    /// Time that its threads waited on run queues, microseconds.
    pub client_queued_us: u64,
    /// CPU of the host used by neither server nor client. The host's CPU is sampled by kernel ticks, the others are
    /// exact, so it may be negative on short windows.
    pub rest_us: i64,
    /// Hardware counters of the server.
    pub perf: PerfCost,
    /// Whether only the host was measured, since what is under test has no process.
    pub is_of_host: bool,
}

/// The host at the start of a window of something that has no process, such as a directory.
#[derive(Debug)]
pub struct HostStart {
    host: HostCost,
    at: Instant,
}

impl HostStart {
    /// Reads the host's counters.
    pub fn now() -> Result<Self> {
        Ok(HostStart { host: HostCost::since_boot()?, at: Instant::now() })
    }

    /// What the window cost the host.
    pub fn end(&self) -> Result<WindowCost> {
        let elapsed_us = self.at.elapsed().as_micros() as u64;
        let host = HostCost::since_boot()?.combine(&self.host, SINCE);
        Ok(WindowCost { elapsed_us, host, is_of_host: true, ..WindowCost::default() })
    }
}

impl WindowProbe {
    /// A probe of `server`; `sessions` are the ids of the processes or kernel threads that serve the measured
    /// clients, 0 if unknown, and `perf` the counters opened when the server was started. This process is the client.
    pub fn new(server: ServerTarget, sessions: Vec<u32>, perf: Option<PerfCounters>) -> Self {
        let client_pid = std::process::id();
        WindowProbe { server, sessions, client_pid, client_threads: None, perf, slices: None }
    }

    /// Measures a window in which servers take turns, with these threads of this process as the client. Returns the
    /// clocks of the sessions, in order.
    pub fn in_turns(&mut self, client_threads: Vec<u32>) -> Result<Vec<Arc<CpuClock>>> {
        let clocks = SliceClocks::open(&self.server, &self.sessions)?;
        let sessions = clocks.sessions.clone();
        self.client_threads = Some(client_threads);
        self.slices = Some(Slices { clocks, began: None, host: None, elapsed: Duration::ZERO });
        Ok(sessions)
    }

    /// Starts a turn.
    pub fn slice_begins(&mut self) -> Result<()> {
        let Some(slices) = &mut self.slices else { return Ok(()) };
        let host = HostCost::since_boot()?;
        slices.began = Some((Instant::now(), host, slices.clocks.others_ns()));
        Ok(())
    }

    /// Ends a turn. Returns the CPU time that the server used in it without its sessions, microseconds.
    pub fn slice_ends(&mut self) -> Result<f64> {
        let Some(slices) = &mut self.slices else { return Ok(0.0) };
        let Some((at, before, others_ns)) = slices.began.take() else { return Ok(0.0) };
        let used = slices.clocks.others_ns().saturating_sub(others_ns);
        slices.elapsed += at.elapsed();
        let turn = HostCost::since_boot()?.combine(&before, SINCE);
        slices.host = Some(slices.host.take().map_or_else(|| turn.clone(), |sum| sum.combine(&turn, SUM)));
        Ok(used as f64 / 1e3)
    }

    /// Measures the process `pid` as the client; it must outlive the window.
    #[must_use]
    pub fn client(self, pid: u32) -> Self {
        WindowProbe { client_pid: pid, ..self }
    }

    /// Reads all counters at the start of a window.
    pub fn begin(&self) -> Result<WindowStart> {
        let server = ServerSnapshot::take(&self.server)?;
        let perf = self.perf.as_ref().map(PerfCounters::read);
        let host = HostCost::since_boot()?;
        let client = self.client_now()?;
        Ok(WindowStart { server, perf, host, client, at: Instant::now() })
    }

    /// Reads all counters at the end of a window; returns its cost.
    pub fn end(&self, start: &WindowStart) -> Result<WindowCost> {
        let elapsed = start.at.elapsed();
        let own = self.client_now()?;
        let client = own.since(&start.client);
        let (elapsed, host) = match &self.slices {
            Some(Slices { host: Some(host), elapsed, .. }) => (*elapsed, host.clone()),
            _ => (elapsed, HostCost::since_boot()?.combine(&start.host, SINCE)),
        };
        let perf_now = self.perf.as_ref().map(PerfCounters::read);
        let server_now = ServerSnapshot::take(&self.server)?;
        let server = server_now.cost_since(&start.server, &self.server, &self.sessions);
        let perf = match (perf_now, &start.perf) {
            (Some(now), Some(before)) => now.since(before),
            _ => PerfCost { unavailable: vec!["not requested".to_string()], ..PerfCost::default() },
        };
        Ok(WindowCost {
            elapsed_us: elapsed.as_micros() as u64,
            rest_us: host.busy_us() as i64 - server.cpu.cpu_us as i64 - client.cpu_us as i64,
            host,
            server,
            client,
            client_queued_us: own.queued_since_us(&start.client),
            perf,
            is_of_host: false,
        })
    }

    fn client_now(&self) -> Result<ClientSnapshot> {
        ClientSnapshot::take(self.client_pid, self.client_threads.as_deref())
    }
}
