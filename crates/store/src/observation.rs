//! The observation of a finished action: a window, load, settle, count or profile, with its metrics and details.

use rqps_model::{
    ConnectionCpu, Counter, EndedBy, Metrics, Pacer, QueryPlan, Role, Series, Settle, Slice, Unit, Wait,
};
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::block::{Count, Placement};
use crate::journal::{ActionRecord, Outcome};
use crate::text_enum::text_enum;

text_enum! {
    /// The start of a latency.
    LatencyFrom {
        /// When the statement was sent.
        Sent = "sent",
        /// When it was due (open loop only).
        Scheduled = "scheduled",
    }
}

/// One measured stretch of one test on one arm, warm-up excluded. Counts are totals over `elapsed_us`; imported results
/// lack those that their source does not tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Test name, such as `point-query`; the step name (`point-query.pre`) is in the action.
    pub test: String,
    /// Group of the test: `point`, `range`, `range-aggregate`, `write`.
    pub group: String,
    /// Whether its figures are results.
    pub role: Role,
    /// Position of the step in the workload's order, from 1.
    pub position: u32,
    /// Clients (threads, connections).
    pub clients: u32,
    /// Seed of this window's operations.
    pub seed: Option<u64>,
    /// Start of the measured stretch, milliseconds since 1970 (UTC).
    pub started_at_ms: Option<i64>,
    /// Warm-up before it, microseconds.
    pub warmup_us: Option<u64>,
    /// Length of the measured stretch, microseconds; of a window that ended by [`EndedBy::Rate`] one second.
    pub elapsed_us: u64,
    pub ended_by: EndedBy,
    /// The unit that the test's rate counts.
    pub unit: Unit,
    /// Work done, in that unit.
    pub operations: f64,
    /// Requested events per second; `None` in a closed loop.
    pub target_events_per_s: Option<f64>,
    /// How background writes were paced; `None` without them.
    pub pacer: Option<Pacer>,
    /// Events (transactions of the test).
    pub events: Option<u64>,
    /// Queries as sysbench counts them, BEGIN and COMMIT included.
    pub queries: Option<u64>,
    /// Statements without BEGIN and COMMIT.
    pub statements: Option<u64>,
    /// Statements that returned or changed at least one row, or whose purpose is to return none (`scan`).
    pub statements_working: Option<u64>,
    /// Statements that changed nothing although they should have (a delete of a missing row).
    pub noop_statements: Option<u64>,
    /// Rows returned, changed, (`scan`) read, or, if the rate counts them, inserted or indexed.
    pub rows: Option<u64>,
    /// Errors that were not retried.
    pub errors: Option<u64>,
    pub retries: BTreeMap<String, u64>,
}

impl Window {
    /// Length of the window in seconds.
    pub fn elapsed_s(&self) -> f64 {
        self.elapsed_us as f64 / 1e6
    }

    /// The same; `None` if of an imported result only the rate is known.
    pub fn known_s(&self) -> Option<f64> {
        (self.ended_by != EndedBy::Rate).then(|| self.elapsed_s())
    }

    /// `count` per second of the window; `None` if the window has no length.
    pub fn per_second(&self, count: u64) -> Option<f64> {
        (self.elapsed_us > 0).then(|| count as f64 / self.elapsed_s())
    }

    /// The rate of the test: operations per second over all clients. `None` if the window has no length.
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
    /// Wall time of loading rows, microseconds (tables load in parallel).
    pub load_us: u64,
    /// Wall time of building indexes, microseconds.
    pub index_us: u64,
}

impl Load {
    /// Rows per second of loading and indexing; `None` if they took no time.
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
    /// The histogram in HdrHistogram's V2 encoding.
    #[serde(skip)]
    pub v2: Vec<u8>,
}

/// The kind of an action that takes a profile.
pub const PROFILE_KIND: &str = "profile";

/// A CPU profile of a test on one arm. The stacks are in a file of the run folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    pub test: String,
    pub group: String,
    pub clients: u32,
    /// Events while samples were taken.
    pub events: u64,
    /// Operations in these events, in the same unit as [`Window::operations`].
    pub operations: f64,
    /// Duration of sampling, microseconds.
    pub elapsed_us: u64,
    /// The sampling program: `perf 6.1.187`.
    pub sampled_by: String,
    /// The sampled event: `cycles`, `cpu-clock`.
    pub event: String,
    /// Requested samples per second of CPU time.
    pub frequency_hz: f64,
    /// How stacks were unwound: `dwarf`, `fp`, `none`.
    pub call_graph: String,
    pub samples: u64,
    pub lost_samples: u64,
    /// Samples whose innermost frame has no name.
    pub unresolved_samples: u64,
    /// The file of folded stacks, relative to the run folder: `profiles/pg18.point-query.folded`.
    pub file: String,
    /// A caveat, such as missing symbols and how to get them.
    pub note: Option<String>,
}

/// The kind-specific part of an observation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Measured {
    Window(Window),
    Load(Load),
    Settle(Settle),
    Count(Count),
    Profile(Profile),
}

/// Everything observed by one action, written in one transaction with the action itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    pub measured: Measured,
    /// `None` in runs without blocks.
    pub placement: Option<Placement>,
    pub metrics: Metrics,
    /// The server's CPU time by connection; empty if the server does not report which process or thread serves each.
    pub connections: Vec<ConnectionCpu>,
    pub counters: Vec<Counter>,
    pub series: Vec<Series>,
    /// One per turn, if arms took turns.
    pub slices: Vec<Slice>,
    /// Latencies by kind of statement.
    pub histograms: Vec<Histogram>,
    /// Query plans by kind of statement.
    pub plans: Vec<QueryPlan>,
    /// State of the server just before: dead rows, sizes, settings; name and value.
    pub fingerprint: Vec<(String, String)>,
    /// Wait events of sessions; only in profiles.
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

/// A window, load, settle, count or profile as read, with its action. Large details (counters, series, histograms,
/// plans, fingerprints) are read on demand through [`crate::Run`] by `action.seq`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded<T> {
    pub action: ActionRecord,
    /// `None` in runs without blocks.
    pub placement: Option<Placement>,
    pub metrics: Metrics,
    /// The server's CPU time by connection; empty if the server does not report which process or thread serves each.
    pub connections: Vec<ConnectionCpu>,
    pub result: T,
}

impl<T> Recorded<T> {
    /// Whether the result may be used.
    pub fn valid(&self) -> bool {
        self.action.outcome == Outcome::Done
    }

    /// A metric's total; `None` if it was not measured.
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.metrics.get(name).copied()
    }
}
