//! Collects sysbench's output and computes the step's result from it.

use super::command::Ends;
use super::error::Error;
use super::output::{Line, Statistics};
use super::target::Target;
use crate::error::StepError;
use crate::event::latency_histogram;
use crate::result::{Marks, StepResult, each_second, elapsed};
use crate::spec::StepSpec;
use rqps_model::{EndedBy, FixedWork, Limit, Metrics};
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Debug, Clone, Copy)]
struct Done {
    events: u64,
    /// From the opening of the gate to the end of its last event.
    seconds: f64,
}

/// The output so far.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    ends: Ends,
    pub clients: usize,
    /// Server ids of the sessions, by thread; 0 if not yet connected.
    pub sessions: Vec<u32>,
    /// Number of threads at the first gate.
    waiting: usize,
    done: Vec<Option<Done>>,
    restarts: BTreeMap<String, u64>,
    /// Queries of each whole second; the first includes those of our gate.
    queries_each_second: Vec<f64>,
    /// Events of all whole seconds.
    events_of_seconds: f64,
    pub statistics: Statistics,
}

impl Gathered {
    pub fn new(spec: &StepSpec, ends: Ends) -> Self {
        let clients = spec.clients as usize;
        Self { ends, clients, sessions: vec![0; clients], done: vec![None; clients], ..Self::default() }
    }

    pub fn add(&mut self, line: Line) -> Result<(), Error> {
        let unknown = |thread: u32| Error::Output(format!("a thread number {thread}"));
        match line {
            Line::Waits { thread, session } => {
                *self.sessions.get_mut(thread as usize).ok_or_else(|| unknown(thread))? = session;
                self.waiting += 1;
            }
            Line::Done { thread, events, seconds } => {
                let done = self.done.get_mut(thread as usize).ok_or_else(|| unknown(thread))?;
                *done = Some(Done { events, seconds });
            }
            Line::Restarted { state, count } => *self.restarts.entry(state).or_default() += count,
            Line::Second { queries_per_s, events_per_s } => {
                self.queries_each_second.push(queries_per_s);
                self.events_of_seconds += events_per_s;
            }
            Line::Failed { .. } | Line::Other(_) => {}
        }
        Ok(())
    }

    pub fn all_wait(&self) -> bool {
        self.waiting == self.clients
    }

    pub fn all_done(&self) -> bool {
        self.done.iter().all(Option::is_some)
    }

    /// Approximate number of events up to the last whole second.
    pub fn events_so_far(&self) -> u64 {
        self.events_of_seconds as u64
    }

    pub fn events(&self) -> u64 {
        self.done.iter().flatten().map(|done| done.events).sum()
    }

    /// Events of each thread.
    fn work(&self) -> Vec<u64> {
        self.done.iter().map(|done| done.map_or(0, |done| done.events)).collect()
    }

    /// Sum over threads of the thread's events per second up to its own last event.
    fn events_per_s(&self) -> f64 {
        let rates = self.done.iter().flatten().filter(|done| done.seconds > 0.0);
        rates.map(|done| done.events as f64 / done.seconds).sum()
    }

    fn ended_by(&self, spec: &StepSpec) -> EndedBy {
        match spec.limit {
            Limit::Events(_) | Limit::Rows(_) | Limit::Work(_) => EndedBy::Work,
            Limit::Time(_) if self.ends.events.is_some_and(|most| self.events() >= most) => EndedBy::Share,
            Limit::Time(_) => EndedBy::Time,
        }
    }

    /// Queries of each whole second as printed, minus the gate's in the first, then the remainder of
    /// `queries`.
    fn seconds(&self, gate_queries: u64, queries: u64) -> Vec<u64> {
        let mut seconds: Vec<u64> = self.queries_each_second.iter().map(|n| n.round() as u64).collect();
        if let Some(first) = seconds.first_mut() {
            *first = first.saturating_sub(gate_queries);
        }
        let left = queries.saturating_sub(seconds.iter().sum());
        if left > 0 {
            seconds.push(left);
        }
        seconds
    }
}

/// The result of a step from its two stretches.
pub(super) fn step_result(
    spec: &StepSpec,
    target: &Target,
    warmup: Duration,
    warm: &Gathered,
    window: &Gathered,
) -> Result<StepResult, StepError> {
    let figures = &window.statistics;
    let events = window.events();
    if figures.events != events {
        let what = format!("{} events, and its threads say they did {events}", figures.events);
        return Err(StepError::Sysbench(Error::Output(what)));
    }
    // The gate's queries: session setup, session id and flush.
    let clients = u64::from(spec.clients);
    let set_up = clients * u64::from(target.connect_sql.is_some());
    let gate_queries = set_up + clients * (1 + u64::from(spec.flush.is_some()));
    let queries = (figures.reads + figures.writes + figures.other).saturating_sub(gate_queries);
    let retries = window.restarts.clone();
    let begun = events + retries.values().sum::<u64>();
    let control = if spec.test.transaction { begun + events } else { 0 };
    let events_per_s = window.events_per_s();
    let mut event_ns = latency_histogram()?;
    for (ms, count) in &figures.latencies {
        event_ns.saturating_record_n((ms * 1e6) as u64, *count);
    }
    Ok(StepResult {
        elapsed: elapsed(events, events_per_s),
        warmup,
        ended_by: window.ended_by(spec),
        events,
        events_per_s,
        queries,
        statements: queries.saturating_sub(control),
        noop_statements: if spec.test.writes() { figures.other.saturating_sub(set_up + control) } else { 0 },
        rows: 0,
        changed_rows: figures.writes,
        removed_rows: if spec.test.shrinks { figures.writes + warm.statistics.writes } else { 0 },
        marks: Marks::default(),
        retries,
        series: vec![each_second("queries", "queries", &window.seconds(gate_queries, queries))],
        slices: Vec::new(),
        totals: Metrics::new(),
        sessions: Vec::new(),
        kinds: Vec::new(),
        event_ns,
        scheduled_ns: None,
        invalid: (events == 0).then(|| "no event was finished in the window".to_owned()),
        work: FixedWork { warmup: warm.work(), window: window.work() },
    })
}
