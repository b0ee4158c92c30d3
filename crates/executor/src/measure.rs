//! A measured step: fingerprint, plans, the window with its probe, and what the run folder keeps of it.

use crate::adapter::Admin;
use crate::arm::ActiveArm;
use crate::driver::run_step;
use crate::error::{Error, Result};
use crate::eyes::{Eyes, Watching};
use crate::literals::explainable_sql;
use crate::observe::observation;
use crate::outside::Outside;
use rqps_driver::{Flush, Pace, StepSpec};
use rqps_model::{FixedWork, Limit, QueryPlan, Role};
use rqps_plan::{Driver, Measure, Plan};
use rqps_store::Observation;
use rqps_workloads::expect::TableState;
use rqps_workloads::{Dialect, step};
use std::time::Duration;

/// Name by which the server knows the sessions that are measured.
pub(crate) const CLIENT_NAME: &str = "rqps client";

/// What a step is run with.
pub(crate) struct StepInput<'a> {
    pub plan: &'a Plan,
    pub measure: &'a Measure,
    pub attempt: u32,
    /// What base did in this step; none on base itself.
    pub base: Option<FixedWork>,
}

pub(crate) struct StepOutput {
    pub observation: Observation,
    pub work: FixedWork,
    pub invalid: Option<String>,
    /// The rate in a few words.
    pub summary: String,
}

/// Runs a step of a sequence on an arm's server.
pub(crate) fn measure(
    arm: &mut ActiveArm,
    input: &StepInput<'_>,
    outside: &mut Outside<'_>,
) -> Result<StepOutput> {
    let spec = step_spec(input, arm.adapter.dialect());
    measure_as(arm, input.plan, input.measure, Specified { spec, describes: true, gives_way: false }, outside)
}

/// How a step is run.
pub(crate) struct Specified {
    /// Without a flush: that is the server's matter.
    pub spec: StepSpec,
    /// Whether query plans and the server's state are kept with it.
    pub describes: bool,
    /// Whether clients share their CPU with the processes that serve them, and give way to these.
    pub gives_way: bool,
}

/// Runs a step as specified.
pub(crate) fn measure_as(
    arm: &mut ActiveArm,
    plan: &Plan,
    measure: &Measure,
    how: Specified,
    outside: &mut Outside<'_>,
) -> Result<StepOutput> {
    let Specified { mut spec, describes, gives_way } = how;
    let mut admin = arm.admin("preparing a step")?;
    admin.begin_step().map_err(Error::session(&arm.name, "preparing a step"))?;
    let (state_before, plans) = if describes {
        (admin.fingerprint()?, plans(&mut *admin, spec.dialect, plan, measure)?)
    } else {
        (Vec::new(), Vec::new())
    };
    let flush = admin.flush();
    spec.flush =
        flush.map(|how| Flush { idle: Duration::from_millis(how.idle_ms), sql: how.session_sql.to_owned() });
    let (adapter, driver) = (arm.adapter, plan.workload.driver);
    let endpoint = arm.endpoint.clone();
    let watching = Watching {
        // Those of sysbench end with their last event.
        owes_events: driver == Driver::Rqps && !matches!(spec.limit, Limit::Time(_)),
        progress: (measure.test.operations_per_event(plan.workload.rows), measure.test.unit),
        beside: None,
    };
    let mut eyes = Eyes::new(admin, arm, outside, watching);
    let outcome = run_step(driver, adapter, &spec, &endpoint, gives_way, &mut eyes);
    let findings = eyes.into_findings(&measure.step, outcome)?;
    let mut observation = observation(measure, plan.seed, &spec.state, &findings);
    observation.fingerprint = state_before;
    observation.plans = plans;
    Ok(StepOutput {
        summary: summary(measure, &observation),
        observation,
        work: findings.result.work,
        invalid: findings.result.invalid,
    })
}

fn plans(admin: &mut dyn Admin, dialect: Dialect, plan: &Plan, measure: &Measure) -> Result<Vec<QueryPlan>> {
    let explained = measure.test.statements().map(|statement| {
        let sql = explainable_sql(dialect, measure.test, statement, plan.workload.rows);
        admin.explain(statement.kind, &sql)
    });
    explained.collect()
}

fn step_spec(input: &StepInput<'_>, dialect: Dialect) -> StepSpec {
    let (plan, measure) = (input.plan, input.measure);
    let workload = &plan.workload;
    let as_base = input.base.clone().filter(|_| measure.as_base);
    let rows_total = workload.rows_total() as f64;
    StepSpec {
        test: measure.test,
        step: measure.step.clone(),
        dialect,
        tables: workload.tables,
        clients: measure.clients,
        seed: plan.seed,
        draws: 1,
        warmup: measure.warmup,
        limit: as_base.map_or_else(|| measure.limit.clone(), Limit::Work),
        removed_rows_max: measure.delete_share_max.map(|share| (rows_total * share) as u64),
        pace: measure.rate_per_second.map_or(Pace::Closed, Pace::EventsPerSecond),
        state: table_state(plan, measure),
        flush: None,
    }
}

/// What is known of the tables: they are complete until a step deletes or inserts rows for good.
fn table_state(plan: &Plan, measure: &Measure) -> TableState {
    let changes_ids = |name: &str| {
        let test = plan.workload.benchmark.test_by_name(step::test_name(name));
        test.is_some_and(|test| test.shrinks || test.name == "insert")
    };
    let earlier = plan.steps().into_iter().take(measure.position.saturating_sub(1) as usize);
    let makes_holes = measure.test.shrinks;
    TableState {
        rows: plan.workload.rows,
        complete: !makes_holes && !earlier.map(|step| step.name).any(|name| changes_ids(&name)),
        concurrent_writes: measure.clients > 1 && measure.test.writes(),
    }
}

fn summary(measure: &Measure, observation: &Observation) -> String {
    let rqps_store::Measured::Window(window) = &observation.measured else {
        return String::new();
    };
    let rate = window.rate().unwrap_or(0.0);
    let role = match measure.role {
        Role::Test => "",
        Role::Warm | Role::Pre => " (not a result)",
    };
    format!("{rate:.0} {}/s{role}", window.unit.key)
}
