//! Measures what work costs the host and the server: counters of /proc, hardware counters, the server's own statistics,
//! its state and query plans. Totals are differences of counters between the ends of a window, never averages of
//! samples. Nothing here judges significance.

mod background;
pub mod canary;
mod cells;
mod certificate;
mod client;
pub mod counters;
mod cpu_clock;
mod error;
mod family;
mod fingerprint;
mod host;
mod host_facts;
mod metrics;
pub mod mysql;
pub mod perf;
pub mod postgres;
mod process;
pub mod profile;
pub mod queue;
mod rocksdb;
mod sampler;
mod server;
mod server_cost;
mod server_memory;
mod threads;
pub mod waits;
mod window;
pub mod work;

pub use canary::Canaries;
pub use certificate::certify;
pub use cpu_clock::CpuClock;
pub use error::{Error, Result};
pub use family::{family, stat_of};
pub use fingerprint::Fingerprint;
pub use host::{DeviceCost, DiskTotals, HostCost, HostCpu, device_of, dirty_bytes, times_as_long};
pub use host_facts::{Difference, HostFacts};
pub use perf::{PerfCost, PerfCounters, PerfReading, counts_instructions};
pub use process::{CpuCost, ServerIo};
pub use sampler::{Column, SAMPLES_MAX, Sample, Sampler, Series};
pub use server::FlushProcedure;
pub use server_cost::{BackendCost, RoleCost, ServerCost, ServerTarget, WorkIn};
pub use server_memory::ServerMemory;
pub use window::{HostStart, WindowCost, WindowProbe, WindowStart};
