//! From what a step of the queue gave to what the run folder keeps.

use super::Work;
use super::state::State;
use crate::adapter::Adapter;
use crate::observe::{self, StepFindings};
use rqps_model::Series;
use rqps_store::{Measured, Observation, Window};

/// The lookups that the deletes need; they are told apart, as metrics.
const MIN_KIND: &str = "min";

/// The observation of a step, without fingerprint and plans.
pub(super) fn observation(
    work: &Work<'_>,
    adapter: &dyn Adapter,
    step: &StepFindings,
    (before, after): (State, State),
) -> Observation {
    let mut observation = observe::observation(window(work, step), step);
    observation.metrics.extend(before.metrics(adapter, "before"));
    observation.metrics.extend(after.metrics(adapter, "after"));
    if !step.debt.is_empty() {
        let name = adapter.debt_name().to_owned();
        observation.series.push(Series { unit: name.clone(), name, values: step.debt.clone() });
    }
    observation.histograms.retain(|one| one.count > 0 && one.statement != MIN_KIND);
    observation
}

fn window(work: &Work<'_>, step: &StepFindings) -> Window {
    let result = &step.result;
    let inserted = result.changed_rows - result.removed_rows;
    let (operations, rows) = match work.queue.queries {
        Some(_) => (result.queries, result.rows),
        None if work.queue.builds_indexes => {
            let indexed = work.stretch.to.inserted * u64::from(work.clients());
            (indexed, indexed)
        }
        None => (inserted, inserted),
    };
    Window {
        test: work.step.test.clone(),
        group: work.step.group.clone(),
        role: work.step.role,
        position: work.step.position,
        clients: work.step.clients,
        seed: work.plan.seed,
        started_at_ms: step.started_at_ms,
        warmup_us: 0,
        elapsed_us: result.elapsed.as_micros() as u64,
        ended_by: result.ended_by,
        unit: work.test.unit.clone(),
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
