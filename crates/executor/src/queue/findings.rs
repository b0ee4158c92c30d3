//! From what a step of the queue gave to what the run folder keeps.

use super::Work;
use super::state::State;
use crate::adapter::Adapter;
use crate::observe::{StepFindings, histograms};
use rqps_driver::queue::{QueueResult, Role, StreamResult};
use rqps_model::{ConnectionCpu, Metrics, Series};
use rqps_store::{LatencyFrom, Measured, Observation, Window};

/// The lookups that the deletes need; they are told apart, as metrics.
const MIN_KIND: &str = "min";

/// The observation of a step, without fingerprint and plans.
pub(super) fn observation(
    work: &Work<'_>,
    adapter: &dyn Adapter,
    step: &StepFindings,
    (before, after): (State, State),
) -> Observation {
    let mut observation = Observation::new(Measured::Window(window(work, step)));
    let metrics = &mut observation.metrics;
    metrics.extend(step.cost.metrics());
    metrics.extend(step.work.metrics());
    metrics.extend(before.metrics(adapter, "before"));
    metrics.extend(after.metrics(adapter, "after"));
    if let Some(queue) = &step.result.queue {
        metrics.extend(figures(work, queue, step.result.elapsed.as_secs_f64()));
        observation.connections = connections(queue, step);
        observation.series = series(queue);
    }
    if !step.debt.is_empty() {
        let name = adapter.debt_name();
        observation.series.push(one_series(name, name, step.debt.clone()));
    }
    let sampled = step.samples.iter();
    observation.series.extend(sampled.map(|s| one_series(s.name, s.unit, s.values.clone())));
    observation.counters = step.counters.clone();
    observation.histograms = histograms(&step.result);
    let is_of_kind = |from, statement: &str| from == LatencyFrom::Sent && statement != MIN_KIND;
    observation.histograms.retain(|one| one.count > 0 && is_of_kind(one.from, &one.statement));
    observation
}

fn window(work: &Work<'_>, step: &StepFindings) -> Window {
    let (result, measure) = (&step.result, work.measure);
    let inserted = stream(result.queue.as_ref(), Role::Insert).map_or(0, |stream| stream.rows);
    let (operations, rows) = match work.queue.queries {
        Some(_) => (result.queries, result.rows),
        None if work.queue.builds_indexes => {
            let indexed = work.stretch.to.inserted * u64::from(work.clients());
            (indexed, indexed)
        }
        None => (inserted, inserted),
    };
    Window {
        test: measure.test.name.to_owned(),
        group: measure.test.group.key().to_owned(),
        role: measure.role,
        position: measure.position,
        clients: measure.clients,
        seed: work.plan.seed,
        started_at_ms: step.started_at_ms,
        warmup_us: 0,
        elapsed_us: result.elapsed.as_micros() as u64,
        ended_by: result.ended_by,
        unit: measure.test.unit.clone(),
        operations: operations as f64,
        target_events_per_s: None,
        pacer: work.queue.rows_per_second.map(|_| work.options.pacer),
        events: result.events,
        queries: result.queries,
        statements: result.statements,
        statements_working: result.statements.saturating_sub(result.noop_statements),
        noop_statements: result.noop_statements,
        rows,
        errors: 0,
        retries: result.retries.clone(),
    }
}

fn stream(queue: Option<&QueueResult>, role: Role) -> Option<&StreamResult> {
    queue?.streams.iter().find(|stream| stream.role == role)
}

/// What only this benchmark has. What means nothing in a step is left out.
fn figures(work: &Work<'_>, queue: &QueueResult, elapsed_s: f64) -> Metrics {
    let mut metrics = Metrics::new();
    let mut put = |name: &str, value: f64| {
        metrics.insert(name.to_owned(), value);
    };
    let per_s = |count: u64| if elapsed_s > 0.0 { count as f64 / elapsed_s } else { 0.0 };
    if let Some(inserts) = stream(Some(queue), Role::Insert) {
        put("inserted_rows", inserts.rows as f64);
        if !work.queue.builds_indexes {
            put("inserts_per_s", per_s(inserts.rows));
        }
    }
    if let Some(deletes) = stream(Some(queue), Role::Delete) {
        put("deleted_rows", deletes.rows as f64);
        put("deletes_per_s", per_s(deletes.rows));
        put("short_deletes", queue.short_deletes as f64);
        put("min_lookups", queue.min_lookups as f64);
        put("min_lookup_us", queue.min_lookup.as_micros() as f64);
    }
    if let Some(queries) = stream(Some(queue), Role::Query) {
        put("queries_per_s", per_s(queries.statements));
        put("query_rows_per_s", per_s(queries.rows));
        put("max_lookups", queue.max_lookups as f64);
    }
    if let Some(rows) = queue.rows_per_query {
        put("rows_per_query", rows);
    }
    if let Some(background) = queue.background {
        put("background_target_rows_per_s", background.target_rows_per_s);
        put("background_rows_per_s", background.achieved_rows_per_s);
        put("background_seconds", f64::from(background.seconds));
        put("background_seconds_below", f64::from(background.seconds_below));
        put("background_kept", if background.kept { 1.0 } else { 0.0 });
    }
    if let Some(time) = queue.index_build {
        put("index_build_us", time.as_micros() as f64);
    }
    for (role, time) in &queue.cpu {
        put(&format!("client_{}_cpu_us", role.key()), time.as_micros() as f64);
    }
    metrics
}

/// CPU of each session; nothing where the server does not tell what serves each: a part of them can't be compared.
fn connections(queue: &QueueResult, step: &StepFindings) -> Vec<ConnectionCpu> {
    let backends = &step.cost.server.backends;
    if backends.len() != queue.sessions.len() {
        return Vec::new();
    }
    let each = queue.sessions.iter().zip(backends).map(|((role, client), backend)| {
        let cpu_us = backend.cpu_us? as f64;
        Some(ConnectionCpu { role: role.key().to_owned(), client: *client, cpu_us })
    });
    each.collect::<Option<_>>().unwrap_or_default()
}

fn one_series(name: &str, unit: &str, values: Vec<f64>) -> Series {
    Series { name: name.to_owned(), unit: unit.to_owned(), values }
}

/// Rates and longest latencies second by second.
fn series(queue: &QueueResult) -> Vec<Series> {
    let whole = |values: &[u64]| values.iter().map(|value| *value as f64).collect::<Vec<_>>();
    let of = |stream: &StreamResult| {
        let (rate, unit, longest) = match stream.role {
            Role::Insert => ("inserts", "rows", "insert_max_us"),
            Role::Delete => ("deletes", "rows", "delete_max_us"),
            Role::Query => ("queries", "queries", "query_max_us"),
            Role::Maker => return Vec::new(),
        };
        vec![
            one_series(rate, unit, whole(&stream.each_second)),
            one_series(longest, "us", whole(&stream.max_us_each_second)),
        ]
    };
    queue.streams.iter().flat_map(of).collect()
}

/// The rate in a few words, and whether the background rate was kept.
pub(super) fn summary(observation: &Observation) -> String {
    let Measured::Window(window) = &observation.measured else {
        return String::new();
    };
    let rate = window.rate().unwrap_or(0.0);
    let metric = |name: &str| observation.metrics.get(name).copied();
    let beside = match (metric("background_rows_per_s"), metric("background_target_rows_per_s")) {
        (Some(achieved), Some(target)) if metric("background_kept") == Some(0.0) => {
            format!(" beside {achieved:.0} of {target:.0} inserts/s: TARGET MISSED")
        }
        (Some(achieved), _) => format!(" beside {achieved:.0} inserts/s"),
        _ => String::new(),
    };
    format!("{rate:.0} {}/s{beside}", window.unit.key)
}
