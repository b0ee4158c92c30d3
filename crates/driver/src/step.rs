//! The coordinator of a step: leads the clients through the phases and adds up what they counted.

use crate::control::{Control, Phase};
use crate::event::{Tallies, latency_histogram};
use crate::result::{KindResult, StepResult};
use crate::spec::{EndedBy, Limit, Observer, StepSpec, Warmup, Work};
use crate::warmup::{Detector, SAMPLE};
use crate::worker::{self, Failure, Quota, Report, Shared};
use hdrhistogram::Histogram;
use rqps_wire::Session;
use rqps_workloads::expect::{Answers, verify};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How often the coordinator looks up while clients work.
const TICK: Duration = Duration::from_millis(50);
/// How long clients may take to finish the event in hand when a step is lost, and again once their statements
/// were ended.
const GRACE: Duration = Duration::from_secs(2);
/// Stack of a client's thread.
const CLIENT_STACK_BYTES: usize = 512 * 1024;

/// Why a step has no result.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// A client's session failed.
    #[error("client {client} of {clients}, {doing}: {source}")]
    Client {
        /// Its number, from 0.
        client: u32,
        /// Of how many.
        clients: u32,
        /// What it was doing.
        doing: &'static str,
        /// What it met.
        source: Box<rqps_wire::Error>,
    },
    /// The observer asked for the end.
    #[error("cancelled")]
    Cancelled,
    /// A thread could not be started.
    #[error(
        "can't start a thread for client {client}: {source}; lower the plan's `clients` or raise the limit of processes"
    )]
    Thread {
        /// The client.
        client: u32,
        /// The system's word.
        source: std::io::Error,
    },
    /// A client's thread panicked: a defect of the program.
    #[error("client {0} panicked; please report this with the message above")]
    Panicked(u32),
    /// The step is sysbench's, and it gave no result.
    #[error(transparent)]
    Sysbench(#[from] crate::sysbench::Error),
    /// Histograms of unlike bounds: a defect of the program.
    #[error("can't add up histograms: {0}")]
    Histogram(String),
}

/// Runs one step. `connect` gives client number i its session. Blocks until all clients are gone.
pub fn run_step<S: Session>(
    spec: &StepSpec,
    connect: impl Fn(u32) -> Result<S, rqps_wire::Error> + Sync,
    observer: &mut dyn Observer,
) -> Result<StepResult, StepError> {
    let control = Control::new(spec.clients);
    let backends = Mutex::new(vec![0; spec.clients as usize]);
    let no_latency = latency_histogram().map_err(|e| StepError::Histogram(e.to_string()))?;
    let no_tallies = Tallies::new(spec.test, &no_latency);
    let shared = Shared {
        spec,
        control: &control,
        backends: &backends,
        no_tallies: &no_tallies,
        no_latency: &no_latency,
    };
    let (outcome, reports) = std::thread::scope(|scope| {
        let mut handles = Vec::new();
        let mut outcome = Ok(Stretches::default());
        for number in 0..spec.clients {
            let (shared, connect) = (&shared, &connect);
            let spawned = std::thread::Builder::new()
                .name(format!("client-{number}"))
                .stack_size(CLIENT_STACK_BYTES)
                .spawn_scoped(scope, move || worker::run(shared, number, connect));
            match spawned {
                Ok(handle) => handles.push(handle),
                Err(source) => {
                    let client = number;
                    outcome = Err(Stop::Thread { client, source });
                    control.abort();
                    break;
                }
            }
        }
        if outcome.is_ok() {
            let mut lead = Lead { shared: &shared, observer };
            outcome = lead.all_phases();
        }
        control.open(Phase::Tail);
        let reports: Vec<_> = handles.into_iter().map(|handle| handle.join()).collect();
        (outcome, reports)
    });
    let (stretches, reports) = sort_out(spec, reports, outcome)?;
    add_up(spec, &reports, &stretches, &no_latency)
}

/// Why the coordinator stopped leading.
enum Stop {
    Cancelled,
    /// A client has the error.
    ClientFailed,
    Thread {
        client: u32,
        source: std::io::Error,
    },
}

/// What the clients counted, or the first real failure: a cancelled step's clients may have had their statements ended
/// from outside.
fn sort_out(
    spec: &StepSpec,
    joined: Vec<std::thread::Result<Result<Report, Failure>>>,
    outcome: Result<Stretches, Stop>,
) -> Result<(Stretches, Vec<Report>), StepError> {
    let mut reports = Vec::new();
    let mut failure = None;
    for (number, joined) in joined.into_iter().enumerate() {
        match joined {
            Err(_) => return Err(StepError::Panicked(number as u32)),
            Ok(Ok(report)) => reports.push(report),
            Ok(Err(first)) => failure = failure.or(Some(first)),
        }
    }
    match (outcome, failure) {
        (Err(Stop::Thread { client, source }), _) => Err(StepError::Thread { client, source }),
        (Err(Stop::Cancelled), _) | (Err(Stop::ClientFailed), None) => Err(StepError::Cancelled),
        (_, Some(failure)) => Err(StepError::Client {
            client: failure.client,
            clients: spec.clients,
            doing: failure.doing,
            source: failure.source,
        }),
        (Ok(stretches), None) => Ok((stretches, reports)),
    }
}

/// How long the phases took.
#[derive(Debug, Default)]
struct Stretches {
    warmup: Duration,
}

struct Lead<'a> {
    shared: &'a Shared<'a>,
    observer: &'a mut dyn Observer,
}

impl Lead<'_> {
    fn all_phases(&mut self) -> Result<Stretches, Stop> {
        let spec = self.shared.spec;
        self.phase(Phase::Connect, "connect", None)?;
        let start = Instant::now();
        let (warmup_time, detect) = match (&spec.limit, &spec.warmup) {
            (Limit::Work(_), _) => (None, false),
            (_, Warmup::Time(time)) => (Some(*time), false),
            (_, Warmup::Detect { most }) => (Some(*most), true),
        };
        if warmup_time != Some(Duration::ZERO) {
            self.control().open(Phase::Warmup);
            let detector = detect.then(Detector::default);
            self.wait("warm-up", warmup_time, detector)?;
        }
        let warmup = start.elapsed();
        self.flush(Phase::FlushBefore)?;
        let backends = self.shared.backends.lock().map(|b| b.clone()).unwrap_or_default();
        self.observer.window_opens(&backends);
        let window_time = match spec.limit {
            Limit::Time(time) => Some(time),
            Limit::Events(_) | Limit::Work(_) => None,
        };
        self.phase(Phase::Window, "measure", window_time)?;
        self.observer.window_closes();
        if !self.shared.owes_events() {
            // The sessions end, which hands everything in.
            self.phase(Phase::FlushAfter, "statistics", None)?;
            self.observer.statistics_complete();
            return Ok(Stretches { warmup });
        }
        self.flush(Phase::FlushAfter)?;
        self.observer.statistics_complete();
        self.phase(Phase::Tail, "finish", None)?;
        Ok(Stretches { warmup })
    }

    fn control(&self) -> &Control {
        self.shared.control
    }

    fn phase(&mut self, phase: Phase, name: &'static str, time: Option<Duration>) -> Result<(), Stop> {
        self.control().open(phase);
        self.wait(name, time, None)
    }

    fn flush(&mut self, phase: Phase) -> Result<(), Stop> {
        let idle = self.shared.spec.flush.as_ref().map(|flush| flush.idle);
        std::thread::sleep(idle.unwrap_or_default());
        self.phase(phase, "statistics", None)
    }

    /// Waits until every client stands, ending the phase after `time` or when the detector says so.
    fn wait(
        &mut self,
        name: &'static str,
        time: Option<Duration>,
        mut detector: Option<Detector>,
    ) -> Result<(), Stop> {
        let start = Instant::now();
        let (mut sampled_at, mut sampled) = (SAMPLE, 0);
        for progress in &self.control().progress {
            progress.set(0);
        }
        loop {
            let elapsed = start.elapsed();
            let left = time.map_or(TICK, |time| time.saturating_sub(elapsed));
            if time.is_some() && left.is_zero() {
                self.control().end_phase();
            }
            let patience = if left.is_zero() { TICK } else { left.min(TICK) };
            if self.control().all_stand(patience) {
                return if self.control().aborted() { Err(Stop::ClientFailed) } else { Ok(()) };
            }
            let events = self.control().events();
            self.observer.progress(name, start.elapsed().as_secs_f64(), events);
            if let Some(detector) = &mut detector
                && start.elapsed() >= sampled_at
            {
                sampled_at += SAMPLE;
                if detector.settled(events - sampled) {
                    self.control().end_phase();
                }
                sampled = events;
            }
            if self.observer.cancelled() {
                self.control().abort();
                self.give_up();
                return Err(Stop::Cancelled);
            }
            if self.control().aborted() {
                self.give_up();
                return Err(Stop::ClientFailed);
            }
        }
    }

    /// Waits for clients to come back from the statement in hand, then has the observer end it, gently at first.
    fn give_up(&mut self) {
        if self.control().all_stand(GRACE) {
            return;
        }
        self.observer.end_statements();
        if !self.control().all_stand(GRACE) {
            self.observer.force();
        }
    }
}

fn add_up(
    spec: &StepSpec,
    reports: &[Report],
    stretches: &Stretches,
    no_latency: &Histogram<u64>,
) -> Result<StepResult, StepError> {
    let sum = |field: fn(&Report) -> u64| reports.iter().map(field).sum::<u64>();
    let events = sum(|r| r.window_events);
    let kinds = kinds(reports, no_latency)?;
    let queries: u64 = kinds.iter().map(|kind| kind.answers.count).sum();
    let control: u64 = kinds[spec.test.statements().count()..].iter().map(|kind| kind.answers.count).sum();
    let invalid = invalid(spec, &kinds, events);
    let events_per_s = rate(reports);
    let quota = reports.iter().find_map(|r| r.quota);
    let mut retries = BTreeMap::new();
    for (state, count) in reports.iter().flat_map(|r| &r.retries) {
        *retries.entry(state.clone()).or_default() += count;
    }
    let event_ns = match merge(reports.iter().filter_map(|r| r.event_ns.as_ref()))? {
        Some(histogram) => histogram,
        None => kinds[0].sent_ns.clone(),
    };
    Ok(StepResult {
        elapsed: Duration::from_secs_f64(if events == 0 { 0.0 } else { events as f64 / events_per_s }),
        warmup: stretches.warmup,
        ended_by: match quota {
            Some(Quota::RemovedRows) => EndedBy::RemovedRows,
            Some(Quota::Events) => EndedBy::Work,
            None => EndedBy::Time,
        },
        events,
        events_per_s,
        queries,
        statements: queries - control,
        noop_statements: sum(|r| r.tallies.noop_statements),
        rows: sum(|r| r.tallies.rows),
        changed_rows: sum(|r| r.tallies.changed_rows),
        removed_rows: sum(|r| r.removed_rows),
        retries,
        queries_each_second: each_second(reports),
        event_ns,
        scheduled_ns: merge(reports.iter().filter_map(|r| r.scheduled_ns.as_ref()))?,
        invalid,
        work: Work {
            warmup: reports.iter().map(|r| r.warmup_events).collect(),
            window: reports.iter().map(|r| r.window_events + r.tail_events).collect(),
        },
        kinds,
    })
}

fn rate(reports: &[Report]) -> f64 {
    let rate = |r: &Report| {
        if r.window_s > 0.0 { r.window_events as f64 / r.window_s } else { 0.0 }
    };
    reports.iter().map(rate).sum()
}

fn each_second(reports: &[Report]) -> Vec<u64> {
    let longest = reports.iter().map(|r| r.queries_each_second.len()).max().unwrap_or(0);
    let mut seconds = vec![0; longest];
    for report in reports {
        for (sum, queries) in seconds.iter_mut().zip(&report.queries_each_second) {
            *sum += queries;
        }
    }
    seconds
}

fn merge<'a>(
    mut histograms: impl Iterator<Item = &'a Histogram<u64>>,
) -> Result<Option<Histogram<u64>>, StepError> {
    let Some(first) = histograms.next() else {
        return Ok(None);
    };
    let mut sum = first.clone();
    for histogram in histograms {
        sum.add(histogram).map_err(|e| StepError::Histogram(e.to_string()))?;
    }
    Ok(Some(sum))
}

fn kinds(reports: &[Report], no_latency: &Histogram<u64>) -> Result<Vec<KindResult>, StepError> {
    let mut kinds: Vec<KindResult> = Vec::new();
    for report in reports {
        let tallies = report.tallies.statements.iter().chain(&report.tallies.control);
        for (index, tally) in tallies.enumerate() {
            if kinds.len() <= index {
                kinds.push(KindResult {
                    kind: tally.kind,
                    answers: Answers::default(),
                    sent_ns: no_latency.clone(),
                });
            }
            let kind = &mut kinds[index];
            kind.answers.count += tally.answers.count;
            kind.answers.rows += tally.answers.rows;
            kind.answers.violations += tally.answers.violations;
            kind.sent_ns.add(&tally.sent_ns).map_err(|e| StepError::Histogram(e.to_string()))?;
        }
    }
    Ok(kinds)
}

fn invalid(spec: &StepSpec, kinds: &[KindResult], events: u64) -> Option<String> {
    if events == 0 {
        return Some("no event was finished in the window".to_owned());
    }
    spec.test.statements().zip(kinds).find_map(|(statement, kind)| {
        let why = verify(statement.expect, spec.test.range, &kind.answers, &spec.state)?;
        Some(format!("{}: {why}", statement.kind))
    })
}
