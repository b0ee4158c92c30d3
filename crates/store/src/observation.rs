//! What a finished action observed: a measured window, a load or a settle, with its metrics and details.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::block::{Count, Placement};
use crate::journal::{ActionRecord, Outcome};
use crate::profile::Profile;
use crate::text_enum::text_enum;

/// Totals over the observed stretch, by free name with the unit in the name (`host_user_us`, `disk_reads`,
/// `server_cpu_us`, `cpus`). Values that are not finite are not kept: not known and not stored are the same.
pub type Metrics = BTreeMap<String, f64>;

text_enum! {
    /// What ended a window.
    EndedBy {
        /// The planned time was up.
        Time = "time",
        /// The planned work was done.
        Work = "work",
        /// The planned share of the rows was used up (`delete` stops before it empties the table).
        Share = "share",
        /// An error.
        Error = "error",
    }
}

text_enum! {
    /// What the rate of a test counts.
    RateUnit {
        /// Queries per second, as sysbench counts them (BEGIN and COMMIT are queries).
        Queries = "queries",
        /// Rows per second over all clients (`scan`).
        Rows = "rows",
        /// Rows inserted, or indexed, per second over all clients (steps of the queue that write as fast as they can).
        Inserts = "inserts",
    }
}

text_enum! {
    /// How background writes at a given rate are spread over time.
    Pacer {
        /// Each statement has a time at which it is due, evenly spread.
        Even = "even",
        /// All that a second may do is sent at its beginning.
        Burst = "burst",
    }
}

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
    /// What ended it.
    pub ended_by: EndedBy,
    /// What the rate of this test counts.
    pub rate_unit: RateUnit,
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
    /// Retried transactions by SQLSTATE.
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

    /// Operations in the window, in the unit that the tables divide by: queries, thousands of rows for tests that
    /// read tables, or rows for those that insert.
    pub fn operations(&self) -> f64 {
        match self.rate_unit {
            RateUnit::Queries => self.queries as f64,
            RateUnit::Rows => self.rows as f64 / 1000.0,
            RateUnit::Inserts => self.rows as f64,
        }
    }

    /// The rate of the test: queries, thousand rows read, or rows inserted per second over all clients. None when the
    /// window has no length.
    pub fn rate(&self) -> Option<f64> {
        (self.elapsed_us > 0).then(|| self.operations() / self.elapsed_s())
    }
}

/// One load of an arm's tables.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Tables loaded.
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

/// One exit condition of a settle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettleCondition {
    /// What was measured, unit last: `dead_rows`, `dirty_buffers`.
    pub name: String,
    /// Value before the settle; finite, as are the two others.
    pub before: f64,
    /// Value after the settle.
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
    /// The column.
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
}

/// What names a server counter.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CounterName {
    /// The view it comes from.
    pub view: String,
    /// The row of the view; empty for views of one row.
    pub object: String,
    /// The column.
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

/// Latencies of one kind of statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// Kind of statement, such as `select-point`.
    pub statement: String,
    /// Where the latency is counted from.
    pub from: LatencyFrom,
    /// Number of latencies.
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

/// The plan the server chose for one kind of statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryPlan {
    /// Kind of statement, such as `select-point`.
    pub statement: String,
    /// The statement as planned.
    pub sql: String,
    /// The plan as text.
    pub text: String,
    /// The plan as JSON text; empty when the server gave none.
    pub json: String,
}

/// What one connection of a client cost the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Connection {
    /// What it was for, where a client has several: `insert`, `delete`, `query`; empty where it has one.
    pub role: String,
    /// The client it is of, from 0.
    pub client: u32,
    /// CPU time of the process or thread behind it, microseconds.
    pub cpu_us: f64,
}

impl Connection {
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

/// What kind of thing an action observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Measured {
    /// A measured window.
    Window(Window),
    /// A load.
    Load(Load),
    /// A settle.
    Settle(Settle),
    /// Counted instructions.
    Count(Count),
    /// A CPU profile.
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
    pub connections: Vec<Connection>,
    /// Server counters before and after.
    pub counters: Vec<Counter>,
    /// Per-second series.
    pub series: Vec<Series>,
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
    pub connections: Vec<Connection>,
    /// What was observed.
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
