//! Driver of TPROC-C with rqps' own virtual users: load, windows, and what must hold after each.

mod checks;
mod committed;
#[cfg(test)]
mod durable_tests;
mod hammerdb;

use self::checks::{BY_AFTER_LOAD, BY_SERVER, check, check_tables};
use self::committed::Counted;
use super::adapter::{Adapter, LoadTick};
use super::clients::flush;
use super::microbenchmarks::run;
use super::system::SqlAddress;
use super::tables::LoadTimes;
use crate::arm::ActiveArm;
use crate::control::RunControl;
use crate::driver::{Driver, Finished, Job, Loaded, WatchOptions, Window, work_of};
use crate::error::{Error, Result};
use crate::observe::StepFindings;
use crate::system::{Admin, Example, SessionResult};
use rqps_driver::tproc_c::Users;
use rqps_driver::{Member, Observer, Pace, StepError, StepResult, StepSpec};
use rqps_plan::{Benchmark, Driver as Program, Plan, StepDef};
use rqps_store::Load;
use rqps_wire::Endpoint;
use rqps_workloads::Dialect;
use rqps_workloads::expect::TableState;
use rqps_workloads::tproc_c::examples::examples;
use rqps_workloads::tproc_c::rows::{Part, parts};
use rqps_workloads::tproc_c::schema::{Routines, build_indexes, create_routines, create_tables};
use rqps_workloads::tproc_c::{Cell, NEW_ORDERS, TRANSACTIONS, TprocC, TprocCPlan, Transaction};
use std::time::Instant;

pub use hammerdb::HAMMERDB;

pub static CLIENTS: &dyn Driver = &VirtualUsers;

struct VirtualUsers;

const LOADING: &str = "loading";

impl Driver for VirtualUsers {
    fn id(&self) -> &'static str {
        Program::Rqps.key()
    }

    fn benchmark(&self) -> &'static str {
        TprocC.id()
    }

    fn takes_turns(&self, _step: &StepDef) -> bool {
        true
    }

    fn load(&self, plan: &Plan, test: &str, arm: &ActiveArm, control: &mut RunControl<'_>) -> Result<Loaded> {
        let SqlAddress { adapter, endpoint } = SqlAddress::of(arm, self)?;
        let (work, cell) = cell_of(self, plan, test)?;
        let start = Instant::now();
        let mut admin = arm.admin(LOADING)?;
        let partitions = work.options.partitions_of(cell.warehouses);
        let parts = parts(plan.seed, cell.warehouses);
        let made = make_tables((adapter, &endpoint), &mut *admin, (&parts, partitions), &mut |what, rows| {
            let elapsed_s = start.elapsed().as_secs_f64();
            let rate = (rows > 0).then_some((rows as f64 / elapsed_s, "rows"));
            control.progress.action_progress(what, elapsed_s, rate);
            !control.stopped()
        });
        let Some((rows, LoadTimes { rows: load, indexes: index })) =
            made.map_err(Error::session(&arm.name, LOADING))?
        else {
            return Err(Error::Interrupted);
        };
        check(arm, cell, BY_SERVER)?;
        let load = Load {
            tables: plan.work.tables(),
            rows,
            load_us: load.as_micros() as u64,
            index_us: index.as_micros() as u64,
        };
        let minutes = (load.load_us + load.index_us) as f64 / 60e6;
        let rate = f64::from(cell.warehouses) / minutes;
        Ok(Loaded { load, summary: format!("{rate:.1} warehouses a minute, with indexes") })
    }

    fn check_load(&self, plan: &Plan, test: &str, arm: &ActiveArm) -> Result<()> {
        check(arm, cell_of(self, plan, test)?.1, BY_AFTER_LOAD)
    }

    fn prepare<'a>(
        &self,
        job: Job<'a>,
        arm: &ActiveArm,
        admin: &mut dyn Admin,
    ) -> Result<Box<dyn Window + 'a>> {
        let address = SqlAddress::of(arm, self)?;
        let (work, cell) = cell_of(self, job.plan, &job.step.name)?;
        let users = Users {
            cell,
            all_warehouses: work.options.all_warehouses,
            stored_procedures: work.options.stored_procedures,
            keying_and_think_time: work.options.keying_and_think_time,
        };
        let spec = StepSpec {
            test: &TRANSACTIONS,
            step: job.step.name.clone(),
            dialect: address.adapter.dialect(),
            tables: 1,
            clients: job.step.clients,
            seed: job.plan.seed,
            draws: job.draws,
            warmup: job.warmup,
            limit: job.limit.clone(),
            removed_rows_max: None,
            pace: Pace::Closed,
            state: TableState { rows: 1, complete: false, concurrent_writes: true },
            users: Some(users),
            flush: admin.flush().filter(|_| job.reads_counters).map(flush),
            turn: job.turn,
        };
        let before = Counted::read(admin).map_err(Error::session(&arm.name, "preparing a step"))?;
        Ok(Box::new(UsersWindow { job, spec, address, cell, before }))
    }
}

/// The plan's part, and the cell of a test.
fn cell_of<'a>(driver: &dyn Driver, plan: &'a Plan, test: &str) -> Result<(&'a TprocCPlan, Cell)> {
    let work = work_of::<TprocCPlan>(driver, plan)?;
    let no_clients = || Error::NoClients { step: test.to_owned(), driver: driver.id() };
    Ok((work, work.cell(test).ok_or_else(no_clients)?))
}

/// Creates, fills and indexes the tables, and creates the procedures. Returns the number of rows and the times; `None`
/// if `tick` ended it early.
fn make_tables(
    (adapter, endpoint): (&dyn Adapter, &Endpoint),
    admin: &mut dyn Admin,
    (parts, partitions): (&[Part], u32),
    tick: &mut LoadTick<'_>,
) -> SessionResult<Option<(u64, LoadTimes)>> {
    let dialect = adapter.dialect();
    for sql in create_tables(dialect, partitions) {
        admin.query(&sql)?;
    }
    let start = Instant::now();
    let mut rows = 0;
    let filled = adapter.fill(endpoint, parts, &mut |what, filled| {
        rows = filled;
        tick(what, filled)
    })?;
    let load = start.elapsed();
    if !(filled && adapter.run_all(endpoint, &build_indexes(dialect), &mut || tick("indexes", 0))?) {
        return Ok(None);
    }
    let indexes = start.elapsed() - load;
    for sql in create_routines(dialect, routines_of(dialect, admin)?) {
        admin.query(&sql)?;
    }
    Ok(Some((rows, LoadTimes { rows: load, indexes })))
}

/// How the server runs stored code.
fn routines_of(dialect: Dialect, admin: &mut dyn Admin) -> SessionResult<Routines> {
    if dialect == Dialect::Mysql {
        return Ok(Routines::Procedures);
    }
    let found = admin.query(Routines::VERSION_SQL)?;
    Ok(Routines::of_version(found.value().and_then(|version| version.parse().ok())))
}

struct UsersWindow<'a> {
    job: Job<'a>,
    spec: StepSpec,
    address: SqlAddress,
    cell: Cell,
    /// Of the tables before the step.
    before: Counted,
}

impl UsersWindow<'_> {
    /// How many others a delivery may meet after which it finds nothing in a district. On Postgres, one that waited for
    /// the oldest order finds it gone and does not look for the next; each pair meets once. MySQL looks further.
    fn meets(&self) -> u32 {
        match self.spec.dialect {
            Dialect::Postgres => self.spec.clients.saturating_sub(1),
            Dialect::Mysql => 0,
        }
    }
}

impl Window for UsersWindow<'_> {
    fn examples(&self) -> Vec<Example> {
        examples().into_iter().map(Example::literal).collect()
    }

    fn watch_options(&self) -> WatchOptions {
        WatchOptions {
            has_tail: self.spec.has_tail(),
            progress: (self.job.step.operations_per_event, &NEW_ORDERS),
            debt: self.job.turn.is_none(),
        }
    }

    fn run(&mut self, observer: &mut dyn Observer) -> std::result::Result<StepResult, StepError> {
        run(Program::Rqps, &self.address, &self.spec, self.job.yields_cpu, observer)
    }

    fn member(&self) -> Option<Member<'_>> {
        let SqlAddress { adapter, endpoint } = &self.address;
        Some(Member { spec: self.spec.clone(), clients: adapter.clients(endpoint, self.job.yields_cpu) })
    }

    fn finish(self: Box<Self>, arm: &ActiveArm, findings: &StepFindings) -> Result<Finished> {
        let result = &findings.result;
        let doing = "checking what a step left";
        let mut admin = arm.admin(doing)?;
        let now = Counted::read(&mut *admin).map_err(Error::session(&arm.name, doing))?;
        let lost = now.differs(&self.before, result.marks, self.meets());
        let checked = check_tables(&mut *admin, self.cell, self.job.may_read_all);
        let checked = checked.map_err(Error::session(&arm.name, doing))?;
        let new_orders = result.kinds[Transaction::NewOrder as usize].answers.count;
        let minutes = result.elapsed.as_secs_f64() / 60.0;
        let per_minute = |count: u64| if minutes > 0.0 { count as f64 / minutes } else { 0.0 };
        let mut metrics = checked.metrics();
        for kind in &result.kinds {
            let name = kind.kind.replace('-', "_");
            metrics.insert(format!("transactions_{name}"), kind.answers.count as f64);
            metrics.insert(format!("retries_{name}"), kind.retries as f64);
        }
        metrics.retain(|name, _| name != "retries_new_order_rolled_back");
        Ok(Finished {
            unit: NEW_ORDERS.clone(),
            operations: new_orders as f64,
            rows: result.rows + result.changed_rows,
            pacer: None,
            invalid: lost
                .into_iter()
                .chain(checked.violated)
                .reduce(|lost, violated| format!("{lost}; {violated}")),
            remark: format!(" = {:.0} NOPM, {:.0} TPM", per_minute(new_orders), per_minute(result.events)),
            metrics,
        })
    }
}
