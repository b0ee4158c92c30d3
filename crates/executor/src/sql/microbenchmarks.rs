//! Drivers of the microbenchmarks: rqps' own clients, and sysbench.

use super::clients::flush;
use super::literals::example;
use super::system::SqlAddress;
use super::tables::{LoadTimes, Tables};
use crate::arm::ActiveArm;
use crate::control::RunControl;
use crate::driver::{Driver, Finished, Job, Loaded, WatchOptions, Window};
use crate::error::{Error, Result};
use crate::observe::StepFindings;
use crate::system::{Admin, Example};
use rqps_driver::{Member, Observer, Pace, StepError, StepResult, StepSpec, run_step, sysbench};
use rqps_model::Metrics;
use rqps_plan::{Benchmark, Driver as Program, Plan, Protocol, Step, StepDef};
use rqps_store::Load;
use rqps_workloads::expect::TableState;
use rqps_workloads::microbenchmarks::{self, Microbenchmarks};
use rqps_workloads::{Dialect, Test};
use std::time::Instant;

/// rqps' own clients.
pub static CLIENTS: &dyn Driver = &Program::Rqps;
/// The installed sysbench.
pub static SYSBENCH: &dyn Driver = &Program::Sysbench;

impl Driver for Program {
    fn id(&self) -> &'static str {
        self.key()
    }

    fn benchmark(&self) -> &'static str {
        Microbenchmarks.id()
    }

    fn described(&self) -> Result<Option<String>> {
        if *self != Program::Sysbench {
            return Ok(None);
        }
        let version = sysbench::version().map_err(Error::Sysbench)?;
        Ok(Some(format!("sysbench {version}; answers are not checked")))
    }

    fn takes_turns(&self, step: &StepDef) -> bool {
        *self == Program::Rqps && step.rate_per_second.is_none()
    }

    fn load(
        &self,
        plan: &Plan,
        _test: &str,
        arm: &ActiveArm,
        control: &mut RunControl<'_>,
    ) -> Result<Loaded> {
        let address = SqlAddress::of(arm, self)?;
        let (count, rows) = (plan.work.tables(), plan.work.rows_per_table());
        let tables = Tables { tables: count, rows, seed: plan.seed };
        let start = Instant::now();
        let loaded = address.adapter.load(&address.endpoint, tables, &mut |what, rows| {
            let elapsed_s = start.elapsed().as_secs_f64();
            let rate = (rows > 0).then_some((rows as f64 / elapsed_s, "rows"));
            control.progress.action_progress(what, elapsed_s, rate);
            !control.stopped()
        });
        let Some(LoadTimes { rows, indexes }) = loaded.map_err(Error::session(&arm.name, "loading"))? else {
            return Err(Error::Interrupted);
        };
        let (load_us, index_us) = (rows.as_micros() as u64, indexes.as_micros() as u64);
        let load = Load { tables: count, rows: plan.work.rows_total(), load_us, index_us };
        let rate = load.rows_per_s().unwrap_or(0.0);
        Ok(Loaded { load, summary: format!("{rate:.0} rows/s with indexes") })
    }

    fn prepare<'a>(
        &self,
        job: Job<'a>,
        arm: &ActiveArm,
        admin: &mut dyn Admin,
    ) -> Result<Box<dyn Window + 'a>> {
        let test = microbenchmarks::test_by_name(&job.step.test)
            .ok_or_else(|| Error::NoClients { step: job.step.name.clone(), driver: self.id() })?;
        window((*self, self), test, job, arm, admin)
    }
}

/// A window of any test whose steps repeat its events, run by a program for one of its drivers.
pub(super) fn window<'a>(
    (program, driver): (Program, &dyn Driver),
    test: &'static Test,
    job: Job<'a>,
    arm: &ActiveArm,
    admin: &mut dyn Admin,
) -> Result<Box<dyn Window + 'a>> {
    let address = SqlAddress::of(arm, driver)?;
    let flush = admin.flush().filter(|_| job.reads_counters).map(flush);
    let spec = StepSpec { flush, ..spec(&job, test, address.adapter.dialect()) };
    Ok(Box::new(TestWindow { program, job, spec, address }))
}

/// Runs a step with the clients of this program.
pub(crate) fn run(
    program: Program,
    SqlAddress { adapter, endpoint }: &SqlAddress,
    spec: &StepSpec,
    yields_cpu: bool,
    observer: &mut dyn Observer,
) -> std::result::Result<StepResult, StepError> {
    if program == Program::Sysbench {
        return sysbench::run(spec, &adapter.sysbench_target(endpoint), observer);
    }
    run_step(spec, &adapter.clients(endpoint, yields_cpu), observer)
}

/// The load engine's spec of a step, without flush.
fn spec(job: &Job<'_>, test: &'static Test, dialect: Dialect) -> StepSpec {
    let Job { plan, step, .. } = *job;
    StepSpec {
        test,
        step: step.name.clone(),
        dialect,
        tables: plan.work.tables(),
        clients: step.clients,
        seed: plan.seed,
        draws: job.draws,
        warmup: job.warmup,
        limit: job.limit.clone(),
        removed_rows_max: job.removed_rows_max,
        pace: step.rate_per_second.map_or(Pace::Closed, Pace::EventsPerSecond),
        state: TableState {
            rows: plan.work.rows_per_table(),
            complete: !changes_ids(step) && !earlier(plan, step).iter().any(changes_ids),
            concurrent_writes: step.clients > 1 && step.writes,
        },
        users: None,
        flush: None,
        turn: job.turn,
    }
}

/// Measured steps before this one on the same data.
fn earlier(plan: &Plan, step: &StepDef) -> Vec<StepDef> {
    let measured = |one| match one {
        Step::Measure(one) => Some(one),
        Step::Settle(_) => None,
    };
    match plan.protocol {
        Protocol::Isolated => Vec::new(),
        Protocol::Sequence => {
            plan.steps().into_iter().filter_map(measured).filter(|one| one.position < step.position).collect()
        }
    }
}

/// Whether a step changes which ids exist: it deletes or inserts rows for good.
fn changes_ids(step: &StepDef) -> bool {
    step.shrinks || step.test == "insert"
}

struct TestWindow<'a> {
    program: Program,
    job: Job<'a>,
    spec: StepSpec,
    address: SqlAddress,
}

impl Window for TestWindow<'_> {
    fn examples(&self) -> Vec<Example> {
        let StepSpec { test, dialect, state, .. } = &self.spec;
        test.statements().map(|statement| example(*dialect, test, statement, state.rows)).collect()
    }

    fn watch_options(&self) -> WatchOptions {
        WatchOptions {
            // sysbench's clients end with their last event.
            has_tail: self.program == Program::Rqps && self.spec.has_tail(),
            progress: (self.job.step.operations_per_event, self.spec.test.unit),
            debt: false,
        }
    }

    fn run(&mut self, observer: &mut dyn Observer) -> std::result::Result<StepResult, StepError> {
        run(self.program, &self.address, &self.spec, self.job.yields_cpu, observer)
    }

    fn member(&self) -> Option<Member<'_>> {
        let SqlAddress { adapter, endpoint } = &self.address;
        let clients = adapter.clients(endpoint, self.job.yields_cpu);
        (self.program == Program::Rqps).then(|| Member { spec: self.spec.clone(), clients })
    }

    fn finish(self: Box<Self>, _arm: &ActiveArm, findings: &StepFindings) -> Result<Finished> {
        let (test, result) = (self.spec.test, &findings.result);
        let read = result.events * self.spec.state.rows;
        Ok(Finished {
            unit: test.unit.clone(),
            operations: match test.is_mix() {
                true => result.events as f64,
                false => test.operations(result.queries, read),
            },
            rows: if test.scans { read } else { result.rows + result.changed_rows },
            pacer: None,
            metrics: Metrics::new(),
            invalid: None,
            remark: String::new(),
        })
    }
}
