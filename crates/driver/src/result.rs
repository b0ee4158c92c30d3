//! What a step measured.

use crate::error::StepError;
use hdrhistogram::Histogram;
use rqps_model::{EndedBy, FixedWork, Metrics, Series, Slice};
use rqps_workloads::expect::Answers;
use rqps_workloads::{Expect, Statement};
use std::collections::BTreeMap;
use std::time::Duration;

/// What committed events, those of warm-up and tail included, left in the tables and can be read there. What each
/// figure is, the test says; 0 in others.
pub type Marks = [u64; 3];

/// The figures of one window.
#[derive(Debug, Clone)]
pub struct StepResult {
    /// Events divided by [`StepResult::events_per_s`]: the mean over clients of the time from the opening of
    /// the window to the end of the client's own last event in it.
    pub elapsed: Duration,
    pub warmup: Duration,
    pub ended_by: EndedBy,
    pub events: u64,
    /// Events per second: the sum over clients of events / (time to the client's own last event), so that a
    /// client that waits for another's last event doesn't dilute the rate.
    pub events_per_s: f64,
    /// Statements sent, BEGIN and COMMIT included.
    pub queries: u64,
    /// Statements sent without BEGIN and COMMIT.
    pub statements: u64,
    /// Statements that found or changed nothing although they should have.
    pub noop_statements: u64,
    pub rows: u64,
    pub changed_rows: u64,
    /// Rows removed since the step's start, including warm-up and tail.
    pub removed_rows: u64,
    /// Events that were rolled back and retried, by SQLSTATE.
    pub retries: BTreeMap<String, u64>,
    /// Per second of the window: what was completed in it. The last second may be cut off.
    pub series: Vec<Series>,
    /// Figures of each turn, if arms took turns.
    pub slices: Vec<Slice>,
    /// What events over all phases left in the tables.
    pub marks: Marks,
    /// Totals specific to this kind of step, by name with unit.
    pub totals: Metrics,
    /// Each session's role and client, in the order of the ids given to [`crate::Observer::window_opens`];
    /// empty if every client has one session.
    pub sessions: Vec<(String, u32)>,
    /// Figures per statement kind, in the order of the test; then BEGIN and COMMIT, and the scripts of a mix.
    pub kinds: Vec<KindResult>,
    /// Latency of events in ns, from sending the first statement.
    pub event_ns: Histogram<u64>,
    /// In the open loop: latency of events in ns from the time they were due.
    pub scheduled_ns: Option<Histogram<u64>>,
    /// Why the answers can't be right, if so.
    pub invalid: Option<String>,
    /// The events that each client did, for another run to repeat.
    pub work: FixedWork,
}

/// The value of [`StepResult::elapsed`].
pub(crate) fn elapsed(events: u64, events_per_s: f64) -> Duration {
    Duration::from_secs_f64(if events == 0 { 0.0 } else { events as f64 / events_per_s })
}

/// A series of what was counted in each second.
pub(crate) fn each_second(name: &str, unit: &str, counts: &[u64]) -> Series {
    let values = counts.iter().map(|count| *count as f64).collect();
    Series { name: name.to_owned(), unit: unit.to_owned(), values }
}

/// Adds `other` to `sum` second by second.
pub(crate) fn add_each_second(sum: &mut Vec<u64>, other: &[u64], add: impl Fn(u64, u64) -> u64) {
    if sum.len() < other.len() {
        sum.resize(other.len(), 0);
    }
    for (sum, other) in sum.iter_mut().zip(other) {
        *sum = add(*sum, *other);
    }
}

/// The figures of one statement kind.
#[derive(Debug, Clone)]
pub struct KindResult {
    /// `point`, `update-index`, `begin`, …
    pub kind: &'static str,
    pub answers: Answers,
    /// Latency from sending the statement to the end of its answer, in ns.
    pub sent_ns: Histogram<u64>,
    /// Attempts that were rolled back and repeated; only of transactions that are one kind.
    pub retries: u64,
}

impl KindResult {
    pub(crate) fn add(&mut self, other: &Self) -> Result<(), StepError> {
        self.answers += other.answers;
        self.retries += other.retries;
        self.sent_ns.add(&other.sent_ns).map_err(|e| StepError::Histogram(e.to_string()))
    }
}

impl StepResult {
    /// Queries per second: events per second times measured queries per event.
    pub fn queries_per_s(&self) -> f64 {
        let per_event = if self.events == 0 { 0.0 } else { self.queries as f64 / self.events as f64 };
        per_event * self.events_per_s
    }
}

/// Whether a statement with `rows` rows found or changed what it should have.
#[inline]
pub(crate) fn worked(statement: &Statement, rows: u64) -> bool {
    rows > 0 || statement.expect == Expect::Rows(0)
}
