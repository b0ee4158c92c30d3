//! A step of events: leads the clients through its phases and sums what they counted.

use crate::client_threads::{Failure, Stop};
use crate::control::Phase;
use crate::error::StepError;
use crate::lead::Lead;
use crate::result::{KindResult, StepResult, add_each_second, each_second, elapsed};
use crate::spec::{Observer, StepSpec};
use crate::warmup::Detector;
use crate::worker::{self, Report, Shared};
use hdrhistogram::Histogram;
use rqps_model::{EndedBy, FixedWork, Limit, Metrics, Slice, Warmup};
use rqps_wire::Session;
use rqps_workloads::expect::verify;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The clients of a step, all with the same type of session.
pub struct Clients<'a>(Box<RunClient<'a>>);

type RunClient<'a> = dyn Fn(&Shared<'_>, u32) -> Result<Report, Failure> + Sync + 'a;

impl<'a> Clients<'a> {
    /// `connect` opens the session of client number i.
    pub fn new<S: Session>(connect: impl Fn(u32) -> Result<S, rqps_wire::Error> + Sync + 'a) -> Self {
        Self(Box::new(move |shared, number| worker::run(shared, number, &connect)))
    }

    /// Runs one client, from its connection to its report.
    pub(crate) fn run(&self, shared: &Shared<'_>, number: u32) -> Result<Report, Failure> {
        (self.0)(shared, number)
    }
}

/// Runs one step. Blocks until all clients have ended.
pub fn run_step(
    spec: &StepSpec,
    clients: &Clients<'_>,
    observer: &mut dyn Observer,
) -> Result<StepResult, StepError> {
    let shared = Shared::new(spec)?;
    let threads = shared.threads();
    let lead = Lead { control: &shared.control, flush: spec.flush.as_ref(), observer };
    let (warmup, reports) =
        threads.run(|number| clients.run(&shared, number), || all_phases(&shared, lead))?;
    add_up(&shared, &reports, warmup)
}

/// Time limit of a warm-up that ends when the rate has settled.
const WARMUP_DETECT_MAX: Duration = Duration::from_secs(60);

/// Returns how long the warm-up took.
fn all_phases(shared: &Shared<'_>, mut lead: Lead<'_>) -> Result<Duration, Stop> {
    let warmup = warm_up(shared, &mut lead)?;
    lead.flush(Phase::FlushBefore)?;
    lead.observer.window_opens(&shared.backends());
    lead.phase(Phase::Window, "measure", shared.spec.limit.time())?;
    lead.observer.window_closes();
    if !shared.spec.has_tail() {
        // The sessions end, which flushes their statistics.
        lead.flush_now(Phase::FlushAfter)?;
        lead.observer.statistics_complete();
        return Ok(warmup);
    }
    lead.flush(Phase::FlushAfter)?;
    lead.observer.statistics_complete();
    lead.phase(Phase::Tail, "finish", None)?;
    Ok(warmup)
}

/// Has the clients connect and warm up; returns how long the warm-up took.
pub(crate) fn warm_up(shared: &Shared<'_>, lead: &mut Lead<'_>) -> Result<Duration, Stop> {
    let spec = shared.spec;
    lead.phase(Phase::Connect, "connect", None)?;
    let start = Instant::now();
    let (warmup_time, detect) = match &spec.warmup {
        _ if shared.fixed_warmup().is_some() => (None, false),
        Warmup::Time(time) => (Some(*time), false),
        Warmup::Detect => (Some(WARMUP_DETECT_MAX), true),
    };
    if warmup_time != Some(Duration::ZERO) {
        lead.control.open(Phase::Warmup);
        let detector = detect.then(Detector::default);
        lead.wait("warm-up", warmup_time, detector)?;
    }
    Ok(start.elapsed())
}

/// Fewer events than this give no usable rate.
const EVENTS_LEFT_MIN: u64 = 50;

/// Sums what all clients counted.
pub(crate) fn add_up(
    shared: &Shared<'_>,
    reports: &[Report],
    warmup: Duration,
) -> Result<StepResult, StepError> {
    let spec = shared.spec;
    let sum = |field: fn(&Report) -> u64| reports.iter().map(field).sum::<u64>();
    let events = sum(|r| r.window_events);
    let mut kinds: Vec<KindResult> = shared.no_tallies.iter().cloned().collect();
    for report in reports {
        kinds.iter_mut().zip(report.tallies.iter()).try_for_each(|(kind, tally)| kind.add(tally))?;
    }
    let count = |kinds: &[KindResult]| kinds.iter().map(|kind| kind.answers.count).sum::<u64>();
    // The last kinds are whole scripts, whose statements are among the others.
    let queries = count(&kinds[..kinds.len() - spec.test.scripts.len()]);
    let statements = count(&kinds[..spec.test.statements().count()]);
    let removed_share = reports.iter().any(|report| report.removed_share);
    let invalid = too_few(removed_share, events).or_else(|| invalid(spec, &kinds, events));
    let events_per_s = rate(reports);
    let mut queries_each_second = Vec::new();
    for report in reports {
        add_each_second(&mut queries_each_second, &report.queries_each_second, |a, b| a + b);
    }
    let mut retries = BTreeMap::new();
    for (state, count) in reports.iter().flat_map(|r| &r.retries) {
        *retries.entry(state.clone()).or_default() += count;
    }
    let event_ns = match merge(reports.iter().filter_map(|r| r.event_ns.as_ref()))? {
        Some(histogram) => histogram,
        None => kinds[0].sent_ns.clone(),
    };
    Ok(StepResult {
        elapsed: elapsed(events, events_per_s),
        warmup,
        ended_by: match spec.limit {
            _ if removed_share => EndedBy::Share,
            Limit::Time(_) => EndedBy::Time,
            Limit::Work(_) | Limit::Events(_) | Limit::Rows(_) => EndedBy::Work,
        },
        events,
        events_per_s,
        queries,
        statements,
        noop_statements: sum(|r| r.tallies.noop_statements),
        rows: sum(|r| r.tallies.rows),
        changed_rows: sum(|r| r.tallies.changed_rows),
        removed_rows: sum(|r| r.removed_rows),
        marks: std::array::from_fn(|mark| reports.iter().map(|r| r.marks[mark]).sum()),
        retries,
        series: vec![each_second("queries", "queries", &queries_each_second)],
        slices: slices(reports),
        totals: Metrics::new(),
        sessions: Vec::new(),
        event_ns,
        scheduled_ns: merge(reports.iter().filter_map(|r| r.scheduled_ns.as_ref()))?,
        invalid,
        work: FixedWork {
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

/// For each round, the sum of the clients' slices.
fn slices(reports: &[Report]) -> Vec<Slice> {
    let rounds = reports.iter().map(|report| report.slices.len()).max().unwrap_or(0);
    let of_round = |round: usize| {
        let (mut sum, mut rate) = (Slice { sessions_cpu_us: Some(0.0), ..Slice::default() }, 0.0);
        for slice in reports.iter().filter_map(|report| report.slices.get(round)) {
            sum.events += slice.events;
            rate += slice.events as f64 / slice.elapsed_us.max(f64::MIN_POSITIVE);
            sum.sessions_cpu_us = sum.sessions_cpu_us.zip(slice.sessions_cpu_us).map(|(all, one)| all + one);
            sum.client_cpu_us += slice.client_cpu_us;
        }
        Slice { elapsed_us: if rate > 0.0 { sum.events as f64 / rate } else { 0.0 }, ..sum }
    };
    (0..rounds).map(of_round).collect()
}

/// The sum of histograms; `None` if there are none.
pub(crate) fn merge<'a>(
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

/// Invalid if the warm-up left the window next to nothing to remove.
fn too_few(removed_share: bool, events: u64) -> Option<String> {
    (removed_share && events < EVENTS_LEFT_MIN).then(|| {
        format!(
            "the warm-up removed nearly all rows that the step may, and {events} events are too few for a rate: take more \
             rows or a shorter warm-up"
        )
    })
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
