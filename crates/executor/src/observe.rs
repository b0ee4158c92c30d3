//! From what driver and probe measured to what the run folder keeps.

use rqps_driver::StepResult;
use rqps_model::{ConnectionCpu, Counter, Series};
use rqps_plan::Measure;
use rqps_probe::work::Work;
use rqps_probe::{Column, WindowCost};
use rqps_store::{Histogram, LatencyFrom, Measured, Observation, Window};
use rqps_workloads::expect::TableState;

/// Series that hold one value per client instead of one per second: the events each client did, which other
/// arms repeat.
pub(crate) const WORK_WARMUP: &str = "work-warmup";
pub(crate) const WORK_WINDOW: &str = "work-window";
const WORK_UNIT: &str = "events per client";

pub(crate) struct StepFindings {
    pub result: StepResult,
    pub cost: WindowCost,
    pub samples: Vec<Column>,
    pub counters: Vec<Counter>,
    pub work: Work,
    /// The server's debt, one value a second, where it was looked at.
    pub debt: Vec<f64>,
    pub started_at_ms: i64,
}

/// The observation of a measured step, without fingerprint and plans.
pub(crate) fn observation(
    measure: &Measure,
    seed: u64,
    state: &TableState,
    findings: &StepFindings,
) -> Observation {
    let mut observation = Observation::new(Measured::Window(window(measure, seed, state, findings)));
    observation.metrics = findings.cost.metrics().into_iter().collect();
    observation.metrics.extend(findings.work.metrics());
    observation.connections = connections(&findings.cost);
    observation.counters = findings.counters.clone();
    observation.series = series(findings);
    observation.histograms = histograms(&findings.result);
    observation
}

/// CPU of each client's session; nothing where the server does not tell what serves each, or one was gone too early:
/// a part of them can't be compared.
pub(crate) fn connections(cost: &WindowCost) -> Vec<ConnectionCpu> {
    let each = cost.server.backends.iter().map(|backend| backend.cpu_us.map(|us| us as f64));
    let each: Vec<f64> = each.collect::<Option<_>>().unwrap_or_default();
    (0..).zip(each).map(|(client, cpu_us)| ConnectionCpu::only(client, cpu_us)).collect()
}

pub(crate) fn window(measure: &Measure, seed: u64, state: &TableState, findings: &StepFindings) -> Window {
    let result = &findings.result;
    let read = result.events * state.rows;
    let rows = if measure.test.scans { read } else { result.rows + result.changed_rows };
    Window {
        test: measure.test.name.to_owned(),
        group: measure.test.group.key().to_owned(),
        role: measure.role,
        position: measure.position,
        clients: measure.clients,
        seed,
        started_at_ms: findings.started_at_ms,
        warmup_us: result.warmup.as_micros() as u64,
        elapsed_us: result.elapsed.as_micros() as u64,
        ended_by: result.ended_by,
        unit: measure.test.unit.clone(),
        operations: measure.test.operations(result.queries, read),
        target_events_per_s: measure.rate_per_second,
        pacer: None,
        events: result.events,
        queries: result.queries,
        statements: result.statements,
        statements_working: result.statements - result.noop_statements,
        noop_statements: result.noop_statements,
        rows,
        errors: 0,
        retries: result.retries.clone(),
    }
}

fn series(findings: &StepFindings) -> Vec<Series> {
    let whole = |counts: &[u64]| counts.iter().map(|n| *n as f64).collect::<Vec<_>>();
    let named =
        |name: &str, unit: &str, values| Series { name: name.to_owned(), unit: unit.to_owned(), values };
    let result = &findings.result;
    let mut series = vec![
        named("queries", "queries", whole(&result.queries_each_second)),
        named(WORK_WARMUP, WORK_UNIT, whole(&result.work.warmup)),
        named(WORK_WINDOW, WORK_UNIT, whole(&result.work.window)),
    ];
    let sampled = findings.samples.iter();
    series.extend(sampled.map(|s| named(s.name, s.unit, s.values.clone())));
    series
}

pub(crate) fn histograms(result: &StepResult) -> Vec<Histogram> {
    let kinds = result.kinds.iter().map(|kind| (kind.kind, LatencyFrom::Sent, &kind.sent_ns));
    let event = [("event", LatencyFrom::Sent, &result.event_ns)];
    let scheduled = result.scheduled_ns.iter().map(|h| ("event", LatencyFrom::Scheduled, h));
    kinds
        .chain(event)
        .chain(scheduled)
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

/// HdrHistogram's V2 encoding, values in ns. Writing to memory fails only for histograms beyond its format's limits,
/// which ours are not.
fn encoded(histogram: &hdrhistogram::Histogram<u64>) -> Vec<u8> {
    use hdrhistogram::serialization::{Serializer, V2Serializer};
    let mut bytes = Vec::new();
    match V2Serializer::new().serialize(histogram, &mut bytes) {
        Ok(_) => bytes,
        Err(_) => Vec::new(),
    }
}
