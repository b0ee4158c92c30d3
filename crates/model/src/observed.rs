//! What a stretch of work was observed to be and to cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Totals over the observed stretch, by free name with the unit in the name (`host_user_us`, `disk_reads`,
/// `server_cpu_us`, `cpus`). Values that are not finite are not kept: not known and not stored are the same.
pub type Metrics = BTreeMap<String, f64>;

/// One slice of a window: what an arm's clients did in one turn, while those of all other arms stood still. Of clients
/// that work side by side, it is their sum; events that only warm the slice up are not in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    pub events: u64,
    /// Events over their rate, which is the sum of the clients' rates: microseconds by the wall clock.
    pub elapsed_us: f64,
    /// CPU time of the sessions' processes or threads, microseconds; none where the kernel does not tell.
    pub sessions_cpu_us: Option<f64>,
    /// CPU time of the clients' threads, microseconds.
    pub client_cpu_us: f64,
    /// CPU time of the instance's other processes from the opening of the slice to its end, its warm-up included,
    /// microseconds.
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
    /// The value at or below which it counts as reached.
    pub target: f64,
}

/// One settle: debt paid down until the exit conditions hold or the cap is reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settle {
    /// What was done, in order: `vacuum analyze`, `checkpoint`, `wait`.
    pub actions: Vec<String>,
    /// Exit conditions with their values before and after.
    pub conditions: Vec<SettleCondition>,
    /// Wall time, microseconds.
    pub elapsed_us: u64,
    /// The cap, microseconds.
    pub cap_us: u64,
    /// Whether every condition was reached (otherwise the cap ended it).
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
    /// Value before; none when the server had none.
    pub before: Option<f64>,
    /// Value after; none when the server had none.
    pub after: Option<f64>,
}

impl Counter {
    /// After minus before; none when either end is unknown.
    pub fn delta(&self) -> Option<f64> {
        Some(self.after? - self.before?)
    }

    /// After minus before, counting from zero where there was nothing before; none when it is not known after.
    pub fn change(&self) -> Option<f64> {
        Some(self.after? - self.before.unwrap_or(0.0))
    }
}

/// What names a server counter.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CounterName {
    /// The view it comes from.
    pub view: String,
    /// The row of the view; empty for views of one row.
    pub object: String,
    pub column: String,
}

/// One value for each second of the observed stretch; two series, `work-warmup` and `work-window`, hold one
/// value for each client instead: the events it did there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What was sampled, such as `queries`.
    pub name: String,
    /// Unit of the values, such as `1/s`.
    pub unit: String,
    /// One value a second, from the start of the stretch; NaN where the second was missed. Or one value a client.
    pub values: Vec<f64>,
}

/// What one connection of a client cost the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConnectionCpu {
    /// What it was for, where a client has several: `insert`, `delete`, `query`; empty where it has one.
    pub role: String,
    /// The client it is of, from 0.
    pub client: u32,
    /// CPU time of the process or thread behind it, microseconds.
    pub cpu_us: f64,
}

impl ConnectionCpu {
    /// The only connection of a client.
    pub fn only(client: u32, cpu_us: f64) -> Self {
        Self { role: String::new(), client, cpu_us }
    }
}

/// What measured sessions were found doing while a profile was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// Kind of what they waited for: `IO`, `LWLock`, `Lock`, `Client`; or `running`, for nothing.
    pub kind: String,
    /// What they waited for: `WalSync`, `ClientRead`; empty for `running`.
    pub event: String,
    /// How many sessions were found so, over all looks.
    pub found: u64,
    /// How often all sessions were looked at.
    pub looks: u64,
}
