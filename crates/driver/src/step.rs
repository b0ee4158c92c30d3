//! A step of events: leads the clients through its phases and adds up what they counted.

use crate::control::{Control, Phase};
use crate::crew::{Crew, Stop};
use crate::error::StepError;
use crate::event::{Tallies, latency_histogram};
use crate::lead::Lead;
use crate::result::{KindResult, StepResult, each_second};
use crate::spec::{Observer, StepSpec};
use crate::warmup::Detector;
use crate::worker::{self, Quota, Report, Shared};
use hdrhistogram::Histogram;
use rqps_model::{EndedBy, FixedWork, Limit, Metrics, Warmup};
use rqps_wire::Session;
use rqps_workloads::expect::{Answers, verify};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

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
    let threads = (0..spec.clients).map(|number| (number, format!("client-{number}"))).collect();
    let crew = Crew { control: &control, clients: spec.clients, threads };
    let lead = Lead { control: &control, flush: spec.flush.as_ref(), observer };
    let (stretches, reports) =
        crew.run(|number| worker::run(&shared, number, &connect), || all_phases(&shared, lead))?;
    add_up(spec, &reports, &stretches, &no_latency)
}

/// Warm-up that is detected ends after this time at the latest.
const WARMUP_DETECT_MOST: Duration = Duration::from_secs(60);

/// How long the phases took.
#[derive(Debug, Default)]
struct Stretches {
    warmup: Duration,
}

fn all_phases(shared: &Shared<'_>, mut lead: Lead<'_>) -> Result<Stretches, Stop> {
    let spec = shared.spec;
    lead.phase(Phase::Connect, "connect", None)?;
    let start = Instant::now();
    let (warmup_time, detect) = match (&spec.limit, &spec.warmup) {
        (Limit::Work(_), _) => (None, false),
        (_, Warmup::Time(time)) => (Some(*time), false),
        (_, Warmup::Detect) => (Some(WARMUP_DETECT_MOST), true),
    };
    if warmup_time != Some(Duration::ZERO) {
        lead.control.open(Phase::Warmup);
        let detector = detect.then(Detector::default);
        lead.wait("warm-up", warmup_time, detector)?;
    }
    let warmup = start.elapsed();
    lead.flush(Phase::FlushBefore)?;
    let backends = shared.backends.lock().map(|b| b.clone()).unwrap_or_default();
    lead.observer.window_opens(&backends);
    lead.phase(Phase::Window, "measure", spec.limit.time())?;
    lead.observer.window_closes();
    if !shared.owes_events() {
        // The sessions end, which hands everything in.
        lead.phase(Phase::FlushAfter, "statistics", None)?;
        lead.observer.statistics_complete();
        return Ok(Stretches { warmup });
    }
    lead.flush(Phase::FlushAfter)?;
    lead.observer.statistics_complete();
    lead.phase(Phase::Tail, "finish", None)?;
    Ok(Stretches { warmup })
}

/// Fewer events than this say nothing of a rate.
const EVENTS_LEFT_MIN: u64 = 50;

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
    let quota = reports.iter().find_map(|r| r.quota);
    let invalid = too_few(quota, events).or_else(|| invalid(spec, &kinds, events));
    let events_per_s = rate(reports);
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
            Some(Quota::RemovedRows) => EndedBy::Share,
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
        series: vec![each_second("queries", "queries", &queries_each_second(reports))],
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

fn queries_each_second(reports: &[Report]) -> Vec<u64> {
    let longest = reports.iter().map(|r| r.queries_each_second.len()).max().unwrap_or(0);
    let mut seconds = vec![0; longest];
    for report in reports {
        for (sum, queries) in seconds.iter_mut().zip(&report.queries_each_second) {
            *sum += queries;
        }
    }
    seconds
}

/// The sum of histograms; nothing where there is none.
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

/// Where the warm-up has left the window next to nothing that it may remove.
fn too_few(quota: Option<Quota>, events: u64) -> Option<String> {
    (quota == Some(Quota::RemovedRows) && events < EVENTS_LEFT_MIN).then(|| {
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
