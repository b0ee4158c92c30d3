//! Figures observed over a stretch of work: metrics, counters, series, settles.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Totals over the observed stretch, by name with the unit last (`host_user_us`, `disk_reads`, `server_cpu_us`,
/// `cpus`). Values that are not finite are not stored: unknown and absent are the same.
pub type Metrics = BTreeMap<String, f64>;

/// One slice of a window: the work of an arm's clients in one turn, while the clients of all other arms pause. Summed
/// over concurrent clients; guard events are excluded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    pub events: u64,
    /// Events divided by the sum of the clients' rates: wall-clock microseconds.
    pub elapsed_us: f64,
    /// CPU time of the sessions' processes or threads, microseconds; `None` if the kernel does not report it.
    pub sessions_cpu_us: Option<f64>,
    /// CPU time of the clients' threads, microseconds.
    pub client_cpu_us: f64,
    /// CPU time of the instance's other processes during the slice, guard included, microseconds.
    pub others_cpu_us: f64,
}

/// One exit condition of a settle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettleCondition {
    /// What was measured, unit last: `dead_rows`, `dirty_buffers`.
    pub name: String,
    /// Value before the settle; finite, as are the two others.
    pub before: f64,
    pub after: f64,
    /// Reached at or below this value.
    pub target: f64,
}

/// One settle: pays debt down until the exit conditions hold or the cap is reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settle {
    /// Actions taken, in order: `vacuum analyze`, `checkpoint`, `wait`.
    pub actions: Vec<String>,
    /// Exit conditions with their values before and after.
    pub conditions: Vec<SettleCondition>,
    /// Wall time, microseconds.
    pub elapsed_us: u64,
    /// The cap, microseconds.
    pub cap_us: u64,
    /// Whether every condition was reached; otherwise the cap ended it.
    pub reached: bool,
}

/// A server counter before and after the observed stretch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counter {
    /// The view it comes from, such as `pg_stat_all_tables`.
    pub view: String,
    /// The row of the view, such as a table's name; empty for views of one row.
    pub object: String,
    pub column: String,
    /// `None` if the server had no value.
    pub before: Option<f64>,
    /// `None` if the server had no value.
    pub after: Option<f64>,
}

impl Counter {
    /// After minus before; `None` if either is unknown.
    pub fn delta(&self) -> Option<f64> {
        Some(self.after? - self.before?)
    }

    /// After minus before, with 0 for an unknown value before; `None` if the value after is unknown.
    pub fn change(&self) -> Option<f64> {
        Some(self.after? - self.before.unwrap_or(0.0))
    }
}

/// The name of a server counter.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CounterName {
    /// The view it comes from.
    pub view: String,
    /// The row of the view; empty for views of one row.
    pub object: String,
    pub column: String,
}

/// One value per second of the observed stretch. Exceptions: `work-warmup` and `work-window` have one value per client,
/// its number of events there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The sampled quantity, such as `queries`.
    pub name: String,
    /// Unit of the values, such as `1/s`.
    pub unit: String,
    /// One value per second from the start of the stretch, NaN for a missed second; or one value per client.
    pub values: Vec<f64>,
}

/// The server's CPU time for one connection of a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConnectionCpu {
    /// Its role if a client has several connections: `insert`, `delete`, `query`; otherwise empty.
    pub role: String,
    /// The client, from 0.
    pub client: u32,
    /// CPU time of the server process or thread that serves it, microseconds.
    pub cpu_us: f64,
}

impl ConnectionCpu {
    /// The only connection of a client.
    pub fn only(client: u32, cpu_us: f64) -> Self {
        Self { role: String::new(), client, cpu_us }
    }
}

/// A wait event of the measured sessions, sampled while a profile was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// Type of the event: `IO`, `LWLock`, `Lock`, `Client`; `running` if the session did not wait.
    pub kind: String,
    /// The event: `WalSync`, `ClientRead`; empty for `running`.
    pub event: String,
    /// Sessions found in this state, summed over all samples.
    pub found: u64,
    /// Number of samples, each of all sessions.
    pub looks: u64,
}
