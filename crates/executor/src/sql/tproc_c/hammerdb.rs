//! Driver of TPROC-C with the installed HammerDB: its own schema, script and virtual users.

use super::checks::{BY_AFTER_LOAD, BY_SERVER, check, check_tables};
use super::{cell_of, routines_of};
use crate::arm::ActiveArm;
use crate::control::RunControl;
use crate::driver::{Driver, Finished, Job, Loaded, WatchOptions, Window};
use crate::error::{Error, Result};
use crate::observe::StepFindings;
use crate::sql::adapter::CLIENT_NAME;
use crate::sql::system::SqlAddress;
use crate::system::Admin;
use rqps_builds::Dirs;
use rqps_driver::hammerdb::{self, Build, BuildTimes, Installed, System, Target, TimedRun};
use rqps_driver::{KindResult, Observer, StepError, StepResult};
use rqps_model::{Limit, Warmup};
use rqps_plan::{Benchmark, Driver as Program, Plan};
use rqps_store::Load;
use rqps_workloads::Dialect;
use rqps_workloads::tproc_c::schema::Routines;
use rqps_workloads::tproc_c::{Cell, ITEMS, NEW_ORDERS, ROLLED_BACK, ROWS_PER_WAREHOUSE, TprocC};
use std::path::PathBuf;
use std::time::{Duration, Instant};

pub static HAMMERDB: &dyn Driver = &HammerDb;

struct HammerDb;

/// Where HammerDB is installed: first by `tools/hammerdb-install`, then by hand.
fn installed() -> Result<Installed> {
    let by_hand = ["/opt", "/usr/local"].map(PathBuf::from);
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let places: Vec<PathBuf> =
        [Dirs::from_env().cache.join("hammerdb")].into_iter().chain(by_hand).chain(home).collect();
    Installed::find(&places).map_err(Error::HammerDb)
}

/// The arm's server as HammerDB sees it.
fn target(driver: &dyn Driver, arm: &ActiveArm) -> Result<Target> {
    let SqlAddress { adapter, endpoint } = SqlAddress::of(arm, driver)?;
    let doing = "asking for the version";
    let mut admin = arm.admin(doing)?;
    let system = match adapter.dialect() {
        Dialect::Postgres => {
            let routines =
                routines_of(Dialect::Postgres, &mut *admin).map_err(Error::session(&arm.name, doing))?;
            System::Postgres { has_procedures: routines == Routines::Procedures }
        }
        Dialect::Mysql => {
            let version = admin.version_text().map_err(Error::session(&arm.name, doing))?;
            if version.contains("MariaDB") { System::Mariadb } else { System::Mysql }
        }
    };
    Ok(Target { system, endpoint, session_name: CLIENT_NAME.to_owned() })
}

impl Driver for HammerDb {
    fn id(&self) -> &'static str {
        Program::HammerDb.key()
    }

    fn benchmark(&self) -> &'static str {
        TprocC.id()
    }

    fn described(&self) -> Result<Option<String>> {
        let version = installed()?.version().map_err(Error::HammerDb)?;
        Ok(Some(format!("HammerDB {version}")))
    }

    fn load(&self, plan: &Plan, test: &str, arm: &ActiveArm, control: &mut RunControl<'_>) -> Result<Loaded> {
        let hammerdb = installed()?;
        let (work, cell) = cell_of(self, plan, test)?;
        let build = Build {
            warehouses: cell.warehouses,
            users: std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32),
            partitions: work.options.partitions_of(cell.warehouses) > 1,
        };
        let start = Instant::now();
        let built = hammerdb::build(&hammerdb, &target(self, arm)?, &build, &mut |phase| {
            control.progress.action_progress(phase, start.elapsed().as_secs_f64(), None);
            !control.stopped()
        });
        let BuildTimes { rows, rest } = built.map_err(|source| match source {
            hammerdb::Error::Cancelled => Error::Interrupted,
            source => Error::HammerDbBuild { arm: arm.name.clone(), source },
        })?;
        check(arm, cell, BY_SERVER)?;
        let load = Load {
            tables: plan.work.tables(),
            // About: how many lines an order has is drawn.
            rows: u64::from(cell.warehouses) * ROWS_PER_WAREHOUSE + ITEMS,
            load_us: rows.as_micros() as u64,
            index_us: rest.as_micros() as u64,
        };
        let rate = f64::from(cell.warehouses) / ((rows + rest).as_secs_f64() / 60.0);
        Ok(Loaded { load, summary: format!("{rate:.1} warehouses a minute, with indexes") })
    }

    fn check_load(&self, plan: &Plan, test: &str, arm: &ActiveArm) -> Result<()> {
        check(arm, cell_of(self, plan, test)?.1, BY_AFTER_LOAD)
    }

    fn prepare<'a>(
        &self,
        job: Job<'a>,
        arm: &ActiveArm,
        _admin: &mut dyn Admin,
    ) -> Result<Box<dyn Window + 'a>> {
        let (work, cell) = cell_of(self, job.plan, &job.step.name)?;
        let (Limit::Time(duration), Warmup::Time(rampup)) = (&job.limit, job.warmup) else {
            return Err(Error::NoClients { step: job.step.name.clone(), driver: self.id() });
        };
        let run = TimedRun {
            users: job.step.clients,
            rampup,
            duration: *duration,
            all_warehouses: work.options.all_warehouses,
            keying_and_think_time: work.options.keying_and_think_time,
        };
        let operations_per_event = job.step.operations_per_event;
        Ok(Box::new(HammerDbWindow {
            hammerdb: installed()?,
            target: target(self, arm)?,
            run,
            cell,
            operations_per_event,
            may_read_all: job.may_read_all,
        }))
    }
}

struct HammerDbWindow {
    hammerdb: Installed,
    target: Target,
    run: TimedRun,
    cell: Cell,
    operations_per_event: f64,
    may_read_all: bool,
}

impl Window for HammerDbWindow {
    fn watch_options(&self) -> WatchOptions {
        WatchOptions { has_tail: false, progress: (self.operations_per_event, &NEW_ORDERS), debt: true }
    }

    fn run(&mut self, observer: &mut dyn Observer) -> std::result::Result<StepResult, StepError> {
        hammerdb::run(&self.hammerdb, &self.target, &self.run, observer)
    }

    fn finish(self: Box<Self>, arm: &ActiveArm, findings: &StepFindings) -> Result<Finished> {
        let result = &findings.result;
        let doing = "checking what a step left";
        let mut admin = arm.admin(doing)?;
        let checked = check_tables(&mut *admin, self.cell, self.may_read_all);
        let checked = checked.map_err(Error::session(&arm.name, doing))?;
        let printed = |name: &str| result.totals.get(name).copied().unwrap_or_default();
        let (nopm, tpm) = (printed("hammerdb_nopm"), printed("hammerdb_tpm"));
        // Only the server knows which new orders were rolled back: their procedure reports no error.
        let counted = result.kinds.iter().filter(|kind| kind.kind != ROLLED_BACK);
        let metric = |kind: &KindResult| format!("transactions_{}", kind.kind.replace('-', "_"));
        let mut metrics = checked.metrics();
        metrics.extend(counted.map(|kind| (metric(kind), kind.answers.count as f64)));
        Ok(Finished {
            unit: NEW_ORDERS.clone(),
            operations: nopm * minutes(self.run.duration),
            rows: 0,
            pacer: None,
            invalid: checked.violated,
            remark: format!(" = {nopm:.0} NOPM, {tpm:.0} TPM as HammerDB counts them"),
            metrics,
        })
    }
}

fn minutes(time: Duration) -> f64 {
    time.as_secs_f64() / 60.0
}
