//! Leads one window of an engine process through its phases.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use rqps_driver::{Marks, Observer, StepError, StepResult};
use rqps_model::{EndedBy, FixedWork, Metrics, Series};
use rqps_rocksdb_engine::protocol::{Event, Phase, Request, RunResult, RunSpec, Shape};
use rqps_wire::Error as Wire;

use crate::connection::Connection;
use crate::direct::OfProgram;

/// A cancelled engine process that still works after this time is stopped.
const CANCEL_MAX: Duration = Duration::from_secs(3);

/// How far the background writer may miss its rate.
const RATE_MISSED_SHARE: f64 = 0.05;

type Outcome<T> = Result<T, StepError>;

/// A window to lead.
pub(crate) struct Lead<'a> {
    pub spec: &'a RunSpec,
    pub ended_by: EndedBy,
    pub connection: Connection,
    pub observer: &'a mut dyn Observer,
    /// The engine process.
    pub pid: u32,
    /// What is seen of a program.
    pub seen: &'a mut OfProgram,
    /// The tree when the window opens.
    pub before: &'a mut Shape,
}

impl Lead<'_> {
    pub fn run(mut self) -> Outcome<StepResult> {
        self.say(&Request::Run(self.spec.clone()))?;
        let mut cancelled_at: Option<Instant> = None;
        loop {
            let event = self.connection.event();
            match self.checked(event)? {
                Some(Event::Opens { threads, shape }) => {
                    *self.before = shape;
                    self.observer.window_opens(&threads);
                    self.go_on()?;
                }
                Some(Event::Progress { phase, elapsed_s, operations }) => {
                    let phase = match phase {
                        Phase::Open => "open the database",
                        Phase::WarmUp => "warm up",
                        Phase::Window => "measure",
                    };
                    self.observer.progress(phase, elapsed_s, operations);
                    if self.spec.program.is_some() {
                        self.seen.look(self.pid);
                    }
                }
                Some(Event::Closed) => {
                    self.observer.window_closes();
                    // The database may be reopened when the engine process goes on, with new counters.
                    self.observer.statistics_complete();
                    self.go_on()?;
                }
                Some(Event::Result(result)) => return result_of(self.spec, self.ended_by, &result),
                Some(Event::Refused(message)) => {
                    return Err(self.failed(Connection::refused(message, "running a step")));
                }
                Some(Event::Cancelled) => return Err(StepError::Cancelled),
                None => {}
            }
            if self.observer.cancelled() {
                match cancelled_at {
                    None => {
                        cancelled_at = Some(Instant::now());
                        self.say(&Request::Cancel)?;
                    }
                    Some(at) if at.elapsed() >= CANCEL_MAX => {
                        self.observer.force();
                        return Err(StepError::Cancelled);
                    }
                    Some(_) => {}
                }
            }
        }
    }

    /// Lets it go on, unless the observer has failed or the user wants to stop.
    fn go_on(&mut self) -> Outcome<()> {
        let request = if self.observer.cancelled() { Request::Cancel } else { Request::Go };
        self.say(&request)
    }

    fn say(&mut self, request: &Request) -> Outcome<()> {
        let said = self.connection.say(request);
        self.checked(said)
    }

    fn checked<T>(&self, outcome: Result<T, Wire>) -> Outcome<T> {
        outcome.map_err(|error| self.failed(error))
    }

    fn failed(&self, source: Wire) -> StepError {
        StepError::Client {
            client: 0,
            clients: self.spec.clients,
            doing: "working in the engine",
            source: Box::new(source),
        }
    }
}

fn result_of(spec: &RunSpec, ended_by: EndedBy, result: &RunResult) -> Outcome<StepResult> {
    let events: u64 = result.operations.iter().sum();
    let rates = result.operations.iter().zip(&result.elapsed_s).filter(|(_, seconds)| **seconds > 0.0);
    let events_per_s: f64 = rates.map(|(operations, seconds)| *operations as f64 / seconds).sum();
    let elapsed_s = if events == 0 { 0.0 } else { events as f64 / events_per_s };
    let decoded = Deserializer::new().deserialize(&mut &result.latency[..]);
    let event_ns: Histogram<u64> = decoded.map_err(|error| StepError::Histogram(error.to_string()))?;
    let missing = (result.missing > 0)
        .then(|| format!("{} keys were not found, although fillseq puts all {}", result.missing, spec.keys));
    let other_options = (!result.other_options.is_empty()).then(|| {
        format!("db_bench did not take all options of the config: {}", result.other_options.join(", "))
    });
    let mut totals = Metrics::from([("engine_bytes".to_owned(), result.bytes as f64)]);
    totals.extend(background(spec, result));
    let writes = spec.work.writes();
    Ok(StepResult {
        elapsed: Duration::from_secs_f64(elapsed_s),
        warmup: Duration::from_secs_f64(result.warmup_s),
        ended_by,
        events,
        events_per_s,
        queries: events,
        statements: events,
        noop_statements: 0,
        rows: if writes { 0 } else { result.entries },
        changed_rows: if writes { result.entries } else { 0 },
        removed_rows: 0,
        marks: Marks::default(),
        retries: BTreeMap::new(),
        series: vec![Series {
            name: "queries".to_owned(),
            unit: "ops".to_owned(),
            values: result.per_second.iter().map(|count| *count as f64).collect(),
        }],
        slices: Vec::new(),
        totals,
        sessions: sessions(spec),
        kinds: Vec::new(),
        event_ns,
        scheduled_ns: None,
        invalid: missing.or(other_options),
        work: FixedWork { warmup: result.warmup_operations.clone(), window: result.operations.clone() },
    })
}

/// The roles of the threads, if not all are alike.
fn sessions(spec: &RunSpec) -> Vec<(String, u32)> {
    if spec.background_bytes_per_s.is_none() {
        return Vec::new();
    }
    let clients = (0..spec.clients).map(|client| ("query".to_owned(), client));
    clients.chain([("insert".to_owned(), 0)]).collect()
}

/// The rate of the background writer, and whether it kept it.
fn background(spec: &RunSpec, result: &RunResult) -> Metrics {
    let Some((target, did)) = spec.background_bytes_per_s.zip(result.background) else {
        return Metrics::new();
    };
    let achieved = if did.elapsed_s > 0.0 { did.bytes as f64 / did.elapsed_s } else { 0.0 };
    let kept = (achieved / target - 1.0).abs() <= RATE_MISSED_SHARE;
    Metrics::from([
        ("background_bytes_per_s".to_owned(), achieved),
        ("background_target_bytes_per_s".to_owned(), target),
        ("background_kept".to_owned(), f64::from(u8::from(kept))),
    ])
}
