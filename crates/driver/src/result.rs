//! What a step measured.

use hdrhistogram::Histogram;
use rqps_model::{EndedBy, FixedWork, Metrics, Series, Slice};
use rqps_workloads::expect::Answers;
use rqps_workloads::{Expect, Statement};
use std::collections::BTreeMap;
use std::time::Duration;

/// The figures of one window.
#[derive(Debug, Clone)]
pub struct StepResult {
    /// Events divided by [`StepResult::events_per_s`]: the mean over clients of the time from the opening of the window
    /// to the client's own last event in it.
    pub elapsed: Duration,
    pub warmup: Duration,
    pub ended_by: EndedBy,
    pub events: u64,
    /// Events per second: the sum over clients of events / (time to the client's own last event), so that a client
    /// that waits for another's last event doesn't dilute the rate.
    pub events_per_s: f64,
    /// Statements sent, BEGIN and COMMIT included.
    pub queries: u64,
    /// Statements sent without BEGIN and COMMIT.
    pub statements: u64,
    /// Statements that found or changed nothing although that was their aim.
    pub noop_statements: u64,
    pub rows: u64,
    pub changed_rows: u64,
    /// Rows removed for good since the step's start, warm-up and the clients' last events outside the window included.
    pub removed_rows: u64,
    /// Events that were rolled back and tried again, by SQLSTATE.
    pub retries: BTreeMap<String, u64>,
    /// One value for each second of the window, the last of which may be cut off: what was completed in it.
    pub series: Vec<Series>,
    /// What each turn came to, where arms took turns.
    pub slices: Vec<Slice>,
    /// Totals that only this kind of step has, by name with the unit in it.
    pub totals: Metrics,
    /// What each session was for and its client, in the order in which [`crate::Observer::window_opens`] got the ids;
    /// empty where every client has one.
    pub sessions: Vec<(String, u32)>,
    /// Figures per statement kind, in the order of the test; BEGIN and COMMIT last.
    pub kinds: Vec<KindResult>,
    /// Latency of events in ns, from sending the first statement.
    pub event_ns: Histogram<u64>,
    /// Latency of events in ns from the time they were due, in the open loop.
    pub scheduled_ns: Option<Histogram<u64>>,
    /// Why the answers can't be right, if so.
    pub invalid: Option<String>,
    /// The events each client did: another run can do the same.
    pub work: FixedWork,
}

/// What was counted in each second, as a series.
pub(crate) fn each_second(name: &str, unit: &str, counts: &[u64]) -> Series {
    let values = counts.iter().map(|count| *count as f64).collect();
    Series { name: name.to_owned(), unit: unit.to_owned(), values }
}

/// The figures of one statement kind.
#[derive(Debug, Clone)]
pub struct KindResult {
    /// `point`, `update-index`, `begin`, …
    pub kind: &'static str,
    /// What its answers added up to.
    pub answers: Answers,
    /// Latency from sending to the whole answer, in nanoseconds.
    pub sent_ns: Histogram<u64>,
}

impl StepResult {
    /// Queries per second: events per second times queries per event as measured.
    pub fn queries_per_s(&self) -> f64 {
        per_event(self.queries, self.events) * self.events_per_s
    }
}

fn per_event(count: u64, events: u64) -> f64 {
    if events == 0 { 0.0 } else { count as f64 / events as f64 }
}

/// True where an answer of `rows` rows means that the statement did what it is for.
#[inline]
pub(crate) fn worked(statement: &Statement, rows: u64) -> bool {
    rows > 0 || statement.expect == Expect::Rows(0)
}
