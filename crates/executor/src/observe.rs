//! Converts what driver and probe measured into what the run folder stores.

use crate::driver::Finished;
use rqps_driver::StepResult;
use rqps_model::{ConnectionCpu, Counter, Metrics, Series};
use rqps_plan::StepDef;
use rqps_probe::work::Work;
use rqps_probe::{Column, WindowCost};
use rqps_store::{Histogram, LatencyFrom, Measured, Observation, Window};

/// Series with one value per client instead of one per second: the events each client did, which other arms
/// repeat.
pub(crate) const WORK_WARMUP: &str = "work-warmup";
pub(crate) const WORK_WINDOW: &str = "work-window";
const WORK_UNIT: &str = "events per client";

/// A window's result and what probes and samplers measured.
pub struct StepFindings {
    pub result: StepResult,
    pub(crate) cost: WindowCost,
    pub(crate) samples: Vec<Column>,
    /// What the instance's counters were before and after the window.
    pub counters: Vec<Counter>,
    pub(crate) work: Work,
    /// The instance's debt, one value per second; empty if not sampled.
    pub(crate) debt: Vec<f64>,
    pub(crate) started_at_ms: i64,
}

impl StepFindings {
    /// A result and its cost, without counters and samples.
    pub(crate) fn of_result(result: StepResult, cost: WindowCost) -> Self {
        Self {
            result,
            cost,
            samples: Vec::new(),
            counters: Vec::new(),
            work: Work::default(),
            debt: Vec::new(),
            started_at_ms: 0,
        }
    }
}

/// What is stored for a measured step, without fingerprint and query plans.
pub(crate) fn observation(measured: Measured, findings: &StepFindings, debt_name: &str) -> Observation {
    let mut observation = Observation::new(measured);
    observation.metrics = findings.cost.metrics().into_iter().collect();
    observation.metrics.extend(findings.work.metrics());
    observation.metrics.extend(queued(&findings.cost, &findings.result.sessions));
    observation.metrics.extend(findings.result.totals.clone());
    observation.connections = connections(&findings.cost, &findings.result.sessions);
    observation.counters = findings.counters.clone();
    observation.series = series(findings, debt_name);
    observation.slices = findings.result.slices.clone();
    observation.histograms = histograms(&findings.result);
    observation
}

/// CPU time of each session. Empty if any is unknown, because the server does not report what serves it or it
/// ended early: a part of the sessions can't be compared.
pub(crate) fn connections(cost: &WindowCost, sessions: &[(String, u32)]) -> Vec<ConnectionCpu> {
    let backends = &cost.server.backends;
    let each: Option<Vec<f64>> = backends.iter().map(|backend| backend.cpu_us.map(|us| us as f64)).collect();
    let each = each.unwrap_or_default();
    if sessions.is_empty() {
        return (0..).zip(each).map(|(client, cpu_us)| ConnectionCpu::only(client, cpu_us)).collect();
    }
    if each.len() != sessions.len() {
        return Vec::new();
    }
    let of_session = |((role, client), cpu_us): (&(String, u32), f64)| ConnectionCpu {
        role: role.clone(),
        client: *client,
        cpu_us,
    };
    sessions.iter().zip(each).map(of_session).collect()
}

/// How long sessions of each role were ready to run and had no CPU, where roles differ; nothing if any is unknown.
fn queued(cost: &WindowCost, sessions: &[(String, u32)]) -> Metrics {
    let backends = &cost.server.backends;
    let mut of_roles = Metrics::new();
    if backends.len() != sessions.len() {
        return of_roles;
    }
    for ((role, _), backend) in sessions.iter().zip(backends) {
        let Some(us) = backend.queued_us else { return Metrics::new() };
        *of_roles.entry(format!("server_queued.{role}_us")).or_default() += us as f64;
    }
    of_roles
}

pub(crate) fn window(
    step: &StepDef,
    seed: u64,
    result: &StepResult,
    started_at_ms: i64,
    finished: &Finished,
) -> Window {
    Window {
        test: step.test.clone(),
        group: step.group.key.to_string(),
        role: step.role,
        position: step.position,
        clients: step.clients,
        seed: Some(seed),
        started_at_ms: Some(started_at_ms),
        warmup_us: Some(result.warmup.as_micros() as u64),
        elapsed_us: result.elapsed.as_micros() as u64,
        ended_by: result.ended_by,
        unit: finished.unit.clone(),
        operations: finished.operations,
        target_events_per_s: step.rate_per_second,
        pacer: finished.pacer,
        events: Some(result.events),
        queries: Some(result.queries),
        statements: Some(result.statements),
        statements_working: Some(result.statements.saturating_sub(result.noop_statements)),
        noop_statements: Some(result.noop_statements),
        rows: Some(finished.rows),
        errors: Some(0),
        retries: result.retries.clone(),
    }
}

fn series(findings: &StepFindings, debt_name: &str) -> Vec<Series> {
    let named =
        |name: &str, unit: &str, values| Series { name: name.to_owned(), unit: unit.to_owned(), values };
    let whole = |counts: &[u64]| counts.iter().map(|n| *n as f64).collect::<Vec<_>>();
    let work = &findings.result.work;
    let each_client = [(WORK_WARMUP, &work.warmup), (WORK_WINDOW, &work.window)];
    let mut series = findings.result.series.clone();
    series.extend(
        each_client
            .into_iter()
            .filter(|(_, counts)| !counts.is_empty())
            .map(|(name, counts)| named(name, WORK_UNIT, whole(counts))),
    );
    series.extend(findings.samples.iter().map(|s| named(s.name, s.unit, s.values.clone())));
    let debt = Some(&findings.debt).filter(|debt| !debt.is_empty());
    series.extend(debt.map(|debt| named(debt_name, debt_name, debt.clone())));
    series
}

fn histograms(result: &StepResult) -> Vec<Histogram> {
    let kinds = result.kinds.iter().map(|kind| (kind.kind, LatencyFrom::Sent, &kind.sent_ns));
    let event = [("event", LatencyFrom::Sent, &result.event_ns)];
    let scheduled = result.scheduled_ns.iter().map(|h| ("event", LatencyFrom::Scheduled, h));
    kinds
        .chain(event)
        .chain(scheduled)
        .filter(|(_, _, histogram)| !histogram.is_empty())
        .map(|(statement, from, histogram)| {
            let us = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e3;
            Histogram {
                statement: statement.to_owned(),
                from,
                count: histogram.len(),
                p50_us: us(0.50),
                p95_us: us(0.95),
                p99_us: us(0.99),
                max_us: histogram.max() as f64 / 1e3,
                mean_us: histogram.mean() / 1e3,
                v2: encoded(histogram),
            }
        })
        .collect()
}

/// HdrHistogram's V2 encoding, values in ns. Writing to memory fails only beyond the format's limits, which
/// our histograms keep.
fn encoded(histogram: &hdrhistogram::Histogram<u64>) -> Vec<u8> {
    use hdrhistogram::serialization::{Serializer, V2Serializer};
    let mut bytes = Vec::new();
    match V2Serializer::new().serialize(histogram, &mut bytes) {
        Ok(_) => bytes,
        Err(_) => Vec::new(),
    }
}
