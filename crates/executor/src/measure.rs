//! A measured step: fingerprint, plans, the window with its probe, and what the run folder keeps of it.

use crate::adapter::Admin;
use crate::arm::ActiveArm;
use crate::driver::run_step;
use crate::error::{Error, Result};
use crate::eyes::{Eyes, Watching};
use crate::literals::explainable_sql;
use crate::observe::{observation, window};
use crate::outside::Outside;
use rqps_driver::{Flush, Pace, StepSpec};
use rqps_model::{FixedWork, Limit, QueryPlan, Role, Warmup};
use rqps_plan::{Driver, Plan, Protocol, Step, StepDef};
use rqps_store::Observation;
use rqps_workloads::expect::TableState;
use rqps_workloads::{Dialect, microbenchmarks};
use std::time::Duration;

/// What a step is run with.
pub(crate) struct StepInput<'a> {
    pub plan: &'a Plan,
    pub step: &'a StepDef,
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
    let StepInput { plan, step, .. } = *input;
    let as_base = input.base.clone().filter(|_| step.as_base);
    let visit = Visit {
        draws: 1,
        limit: as_base.map_or_else(|| step.limit.clone(), Limit::Work),
        warmup: step.warmup,
    };
    let removed = step.removed_share_max.map(|share| (plan.work.rows_total() as f64 * share) as u64);
    let spec = StepSpec { removed_rows_max: removed, ..visit.spec(plan, step, arm.adapter.dialect())? };
    measure_as(arm, plan, step, Specified { spec, describes: true, gives_way: false }, outside)
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
    step: &StepDef,
    how: Specified,
    outside: &mut Outside<'_>,
) -> Result<StepOutput> {
    let Specified { mut spec, describes, gives_way } = how;
    let mut admin = arm.admin("preparing a step")?;
    admin.begin_step().map_err(Error::session(&arm.name, "preparing a step"))?;
    let (state_before, plans) = if describes {
        (admin.fingerprint()?, plans(&mut *admin, &spec, plan)?)
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
        progress: (step.operations_per_event, spec.test.unit),
        beside: None,
    };
    let mut eyes = Eyes::new(admin, arm, outside, watching);
    let outcome = run_step(driver, adapter, &spec, &endpoint, gives_way, &mut eyes);
    let findings = eyes.into_findings(&step.name, outcome)?;
    let mut observation = observation(window(step, &spec, &findings), &findings);
    observation.fingerprint = state_before;
    observation.plans = plans;
    Ok(StepOutput {
        summary: summary(step, &observation),
        observation,
        work: findings.result.work,
        invalid: findings.result.invalid,
    })
}

fn plans(admin: &mut dyn Admin, spec: &StepSpec, plan: &Plan) -> Result<Vec<QueryPlan>> {
    let explained = spec.test.statements().map(|statement| {
        let sql = explainable_sql(spec.dialect, spec.test, statement, plan.work.rows_per_table());
        admin.explain(statement.kind, &sql)
    });
    explained.collect()
}

/// How often and from where on a step is run.
pub(crate) struct Visit {
    /// Steps of the same number repeat the same operations.
    pub draws: u32,
    pub limit: Limit,
    pub warmup: Warmup,
}

impl Visit {
    /// What the clients of a step of the microbenchmarks are told.
    pub fn spec(&self, plan: &Plan, step: &StepDef, dialect: Dialect) -> Result<StepSpec> {
        let test = microbenchmarks::test_by_name(&step.test).ok_or_else(|| Error::NoClients {
            step: step.name.clone(),
            driver: plan.workload.driver.key(),
        })?;
        Ok(StepSpec {
            test,
            step: step.name.clone(),
            dialect,
            tables: plan.work.tables().len() as u32,
            clients: step.clients,
            seed: plan.seed,
            draws: self.draws,
            warmup: self.warmup,
            limit: self.limit.clone(),
            removed_rows_max: None,
            pace: step.rate_per_second.map_or(Pace::Closed, Pace::EventsPerSecond),
            state: TableState {
                rows: plan.work.rows_per_table(),
                complete: !changes_ids(step) && !earlier(plan, step).iter().any(changes_ids),
                concurrent_writes: step.clients > 1 && step.writes,
            },
            flush: None,
        })
    }
}

/// Measured steps that ran before this one on the same data.
fn earlier(plan: &Plan, step: &StepDef) -> Vec<StepDef> {
    let of_step = |one| match one {
        Step::Measure(one) => Some(one),
        Step::Settle(_) => None,
    };
    match plan.protocol {
        Protocol::Isolated => Vec::new(),
        Protocol::Sequence => {
            plan.steps().into_iter().filter_map(of_step).filter(|one| one.position < step.position).collect()
        }
    }
}

/// Whether a step deletes or inserts rows for good.
fn changes_ids(step: &StepDef) -> bool {
    step.shrinks || step.test == "insert"
}

fn summary(step: &StepDef, observation: &Observation) -> String {
    let rqps_store::Measured::Window(window) = &observation.measured else {
        return String::new();
    };
    let rate = window.rate().unwrap_or(0.0);
    let role = match step.role {
        Role::Test => "",
        Role::Warm | Role::Pre => " (not a result)",
    };
    format!("{rate:.0} {}/s{role}", window.unit.key)
}
