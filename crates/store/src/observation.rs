//! What a finished action observed: a measured window, a load or a settle, with its metrics and details.

use rqps_model::{
    ConnectionCpu, Counter, EndedBy, Metrics, Pacer, QueryPlan, Role, Series, Settle, Slice, Unit, Wait,
};
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::block::{Count, Placement};
use crate::journal::{ActionRecord, Outcome};
use crate::text_enum::text_enum;

text_enum! {
    /// Where a latency is counted from.
    LatencyFrom {
        /// From the moment the statement was sent.
        Sent = "sent",
        /// From the moment it was due (open loop only).
        Scheduled = "scheduled",
    }
}

/// One measured stretch of one test on one arm, warm-up excluded. Counts are totals over `elapsed_us`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Test name, such as `point-query`; the step name (`point-query.pre`) is in the action.
    pub test: String,
    /// Group of the test: `point`, `range`, `range-aggregate`, `write`.
    pub group: String,
    /// What the step is for: whether its figures are results.
    pub role: Role,
    /// Place of the step in the workload's order, from 1.
    pub position: u32,
    /// Clients (threads, connections).
    pub clients: u32,
    /// Seed of this window's operations.
    pub seed: u64,
    /// Start of the measured stretch, milliseconds since 1970 (UTC).
    pub started_at_ms: i64,
    /// Warm-up before it, microseconds.
    pub warmup_us: u64,
    /// Length of the measured stretch, microseconds.
    pub elapsed_us: u64,
    pub ended_by: EndedBy,
    /// What the rate of this test counts, and how much of it was done.
    pub unit: Unit,
    pub operations: f64,
    /// Rate asked for in events per second; none in a closed loop.
    pub target_events_per_s: Option<f64>,
    /// How background writes were paced; none where there were none.
    pub pacer: Option<Pacer>,
    /// Events (transactions of the test).
    pub events: u64,
    /// Queries as sysbench counts them, BEGIN and COMMIT included.
    pub queries: u64,
    /// Statements without BEGIN and COMMIT.
    pub statements: u64,
    /// Statements that returned or changed at least one row, or whose purpose is to return none (`scan`).
    pub statements_working: u64,
    /// Statements that changed nothing though they should have (a delete of a row that is gone).
    pub noop_statements: u64,
    /// Rows returned, changed, (`scan`) read, or, where the rate counts them, inserted or indexed.
    pub rows: u64,
    /// Errors that were not retried.
    pub errors: u64,
    pub retries: BTreeMap<String, u64>,
}

impl Window {
    /// Length of the window in seconds.
    pub fn elapsed_s(&self) -> f64 {
        self.elapsed_us as f64 / 1e6
    }

    /// `count` per second of the window; none when the window has no length.
    pub fn per_second(&self, count: u64) -> Option<f64> {
        (self.elapsed_us > 0).then(|| count as f64 / self.elapsed_s())
    }

    /// The rate of the test: operations per second over all clients. None when the window has no length.
    pub fn rate(&self) -> Option<f64> {
        (self.elapsed_us > 0).then(|| self.operations / self.elapsed_s())
    }
}

/// One load of an arm's tables.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    pub tables: u32,
    /// Rows loaded, over all tables.
    pub rows: u64,
    /// Wall time of the rows, microseconds (tables load in parallel).
    pub load_us: u64,
    /// Wall time of the indexes, microseconds.
    pub index_us: u64,
}

impl Load {
    /// Rows per second over rows and indexes; none when nothing took time.
    pub fn rows_per_s(&self) -> Option<f64> {
        let elapsed_us = self.load_us + self.index_us;
        (elapsed_us > 0).then(|| self.rows as f64 / (elapsed_us as f64 / 1e6))
    }
}

/// Latencies of one kind of statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// Kind of statement, such as `select-point`.
    pub statement: String,
    /// Where the latency is counted from.
    pub from: LatencyFrom,
    pub count: u64,
    /// Median, microseconds.
    pub p50_us: f64,
    /// 95th percentile, microseconds.
    pub p95_us: f64,
    /// 99th percentile, microseconds.
    pub p99_us: f64,
    /// Maximum, microseconds.
    pub max_us: f64,
    /// Mean, microseconds.
    pub mean_us: f64,
    /// The whole histogram in HdrHistogram's V2 encoding.
    #[serde(skip)]
    pub v2: Vec<u8>,
}

/// The kind of an action that takes a profile.
pub const PROFILE_KIND: &str = "profile";

/// Where the CPU time of a test went on one arm. The stacks are in a file of the run folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    pub test: String,
    pub group: String,
    pub clients: u32,
    /// Events while samples were taken.
    pub events: u64,
    /// Operations in these events, in the unit that tables divide by (see [`crate::Window::operations`]).
    pub operations: f64,
    /// How long samples were taken, microseconds.
    pub elapsed_us: u64,
    /// What took them: `perf 6.1.187`.
    pub sampled_by: String,
    /// What each sample stands for: `cycles`, `cpu-clock`.
    pub event: String,
    /// Samples that were asked for, per second of CPU time.
    pub frequency_hz: f64,
    /// How stacks were followed: `dwarf`, `fp`, `none`.
    pub call_graph: String,
    pub samples: u64,
    pub lost_samples: u64,
    /// Samples whose innermost frame has no name.
    pub unresolved_samples: u64,
    /// The folded stacks, from the run folder: `profiles/pg18.point-query.folded`.
    pub file: String,
    /// What must be known to read it, such as missing symbols and how to get them.
    pub note: Option<String>,
}

/// What kind of thing an action observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Measured {
    Window(Window),
    Load(Load),
    Settle(Settle),
    Count(Count),
    Profile(Profile),
}

/// Everything one action observed, written in one transaction with the action itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// The window, load, settle, count or profile.
    pub measured: Measured,
    /// Where it stands in its block; none in runs without blocks.
    pub placement: Option<Placement>,
    /// Totals over the observed stretch.
    pub metrics: Metrics,
    /// The server's CPU time by connection; empty where the server does not tell what serves each.
    pub connections: Vec<ConnectionCpu>,
    /// Server counters before and after.
    pub counters: Vec<Counter>,
    /// Per-second series.
    pub series: Vec<Series>,
    /// What each turn came to, where arms took turns.
    pub slices: Vec<Slice>,
    /// Latencies by kind of statement.
    pub histograms: Vec<Histogram>,
    /// Query plans by kind of statement.
    pub plans: Vec<QueryPlan>,
    /// State of the server just before: dead rows, sizes, settings; name and value.
    pub fingerprint: Vec<(String, String)>,
    /// What sessions waited for; empty but for profiles.
    pub waits: Vec<Wait>,
}

impl Observation {
    /// An observation without details, to be filled in.
    pub fn new(measured: Measured) -> Self {
        Self {
            measured,
            placement: None,
            metrics: Metrics::new(),
            connections: Vec::new(),
            counters: Vec::new(),
            series: Vec::new(),
            slices: Vec::new(),
            histograms: Vec::new(),
            plans: Vec::new(),
            fingerprint: Vec::new(),
            waits: Vec::new(),
        }
    }
}

/// A window, load, settle or count as read back, with the action it belongs to. Big details (counters, series,
/// histograms, plans, fingerprints) are read on demand through [`crate::Run`] by `action.seq`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded<T> {
    /// The action that made it.
    pub action: ActionRecord,
    /// Where it stands in its block; none in runs without blocks.
    pub placement: Option<Placement>,
    /// Totals over the observed stretch.
    pub metrics: Metrics,
    /// The server's CPU time by connection; empty where the server does not tell what serves each.
    pub connections: Vec<ConnectionCpu>,
    pub result: T,
}

impl<T> Recorded<T> {
    /// Whether the result may be used.
    pub fn valid(&self) -> bool {
        self.action.outcome == Outcome::Done
    }

    /// A metric's total; none when it was not measured.
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.metrics.get(name).copied()
    }
}
