//! Driver of the Insert Benchmark, with rqps' own clients: the position of the queue, the state before and
//! after a step, and the window between them.
//!
//! The position is read from the tables: the newest row shows the last insert, the oldest one how far deletes
//! have come. So an interrupted step continues to its planned end, and every arm ends each step with the same
//! rows.

mod position;
mod state;

use super::clients::flush;
use super::system::SqlAddress;
use crate::arm::ActiveArm;
use crate::control::RunControl;
use crate::driver::{Driver, Finished, Job, Loaded, WatchOptions, Window, work_of};
use crate::error::{Error, Result};
use crate::observe::StepFindings;
use crate::system::{Admin, Example};
use position::QueuePosition;
use rqps_driver::queue::QueueSpec;
use rqps_driver::{Observer, StepError, StepResult};
use rqps_model::Limit;
use rqps_plan::{Benchmark, Plan, StepDef};
use rqps_store::Load;
use rqps_workloads::insert_benchmark::{
    InsertBenchmark, InsertOptions, InsertPlan, Sizes, Stretch, create_table, drop_indexes, example_sql,
    existing_indexes_sql, stretches, table_name,
};
use rqps_workloads::{Dialect, Queue, Test};
use state::{State, keys};
use std::time::Instant;

/// Statement kind of the lookups that deletes need. Their latencies are reported as metrics, not with the
/// kinds.
const MIN_KIND: &str = "min";

/// rqps' own clients.
pub static CLIENTS: &dyn Driver = &InsertClients;

struct InsertClients;

impl Driver for InsertClients {
    fn id(&self) -> &'static str {
        "rqps"
    }

    fn benchmark(&self) -> &'static str {
        InsertBenchmark.id()
    }

    /// Creates the tables, which l.i0 fills.
    fn load(
        &self,
        plan: &Plan,
        _test: &str,
        arm: &ActiveArm,
        _control: &mut RunControl<'_>,
    ) -> Result<Loaded> {
        let work = work_of::<InsertPlan>(self, plan)?;
        let dialect = SqlAddress::of(arm, self)?.adapter.dialect();
        let start = Instant::now();
        let doing = "creating the tables";
        let mut admin = arm.admin(doing)?;
        let partitions = work.sizes().partitions(work.options.partitions, work.tests.iter().copied());
        let tables = plan.work.tables();
        for table in 1..=tables {
            for sql in create_table(dialect, table, partitions) {
                admin.query(&sql).map_err(Error::session(&arm.name, doing))?;
            }
        }
        let load_us = start.elapsed().as_micros() as u64;
        let load = Load { tables, rows: 0, load_us, index_us: 0 };
        Ok(Loaded { load, summary: "empty tables: l.i0 fills them".to_owned() })
    }

    fn prepare<'a>(
        &self,
        job: Job<'a>,
        arm: &ActiveArm,
        admin: &mut dyn Admin,
    ) -> Result<Box<dyn Window + 'a>> {
        let address = SqlAddress::of(arm, self)?;
        let step = InsertStep::of(&job, work_of::<InsertPlan>(self, job.plan)?, address.adapter.dialect())
            .ok_or_else(|| Error::NoClients { step: job.step.name.clone(), driver: self.id() })?;
        if step.repeats {
            undo_partial_work(admin, &step, &arm.name)?;
        }
        let before = State::read(arm, admin, &step)?;
        let position = QueuePosition::read(admin, &step, &arm.name)?;
        if step.repeats {
            position.restore_keys(admin, &step, &arm.name)?;
        }
        let examples = examples(&step, keys(admin, &arm.name)?);
        let flush = admin.flush().filter(|_| job.reads_counters).map(flush);
        let spec = QueueSpec {
            test: step.test,
            step: step.step.name.clone(),
            dialect: step.dialect,
            shared_table: step.options.shared_table,
            seed: step.plan.seed,
            draws: job.draws,
            delete_form: step.options.delete_form,
            pacer: step.options.pacer,
            positions: position.positions(&step),
            limit: job.limit,
            flush,
        };
        Ok(Box::new(InsertWindow { step, spec, address, before, position, examples }))
    }
}

/// A step of the benchmark.
struct InsertStep<'a> {
    plan: &'a Plan,
    step: &'a StepDef,
    test: &'static Test,
    options: &'a InsertOptions,
    /// Whether an earlier attempt was interrupted.
    repeats: bool,
    queue: Queue,
    dialect: Dialect,
    sizes: Sizes,
    stretches: Vec<Stretch>,
    /// This step's part of the queue.
    stretch: Stretch,
}

impl<'a> InsertStep<'a> {
    /// `None` for a step of another benchmark.
    fn of(job: &Job<'a>, work: &'a InsertPlan, dialect: Dialect) -> Option<Self> {
        let Job { plan, step, repeats, .. } = *job;
        let options = &work.options;
        let sizes = work.sizes();
        let stretches = stretches(work.tests.iter().copied(), &sizes);
        let stretch = *stretches.iter().find(|stretch| stretch.test.name == step.test)?;
        let test = stretch.test;
        let queue = test.queue?;
        Some(Self { plan, step, test, options, repeats, queue, dialect, sizes, stretches, stretch })
    }

    fn deletes(&self) -> bool {
        self.sizes.deletes(self.test)
    }

    fn clients(&self) -> u32 {
        self.step.clients
    }

    /// Whether several clients use one table.
    fn is_shared(&self) -> bool {
        self.options.shared_table && self.clients() > 1
    }

    /// The number of a client's table.
    fn table_of(&self, client: u32) -> u32 {
        if self.options.shared_table { 1 } else { client + 1 }
    }
}

struct InsertWindow<'a> {
    step: InsertStep<'a>,
    spec: QueueSpec,
    address: SqlAddress,
    before: State,
    /// The queue's position before the window.
    position: QueuePosition,
    examples: Vec<(&'static str, String)>,
}

impl Window for InsertWindow<'_> {
    fn examples(&self) -> Vec<Example> {
        self.examples.iter().cloned().map(Example::literal).collect()
    }

    fn watch_options(&self) -> WatchOptions {
        let queue = &self.step.queue;
        let operations = queue.queries.map_or(f64::from(queue.rows_per_statement), |_| 1.0);
        WatchOptions { has_tail: false, progress: (operations, self.step.test.unit), debt: true }
    }

    fn run(&mut self, observer: &mut dyn Observer) -> std::result::Result<StepResult, StepError> {
        let mut result = self.address.adapter.run_queue(&self.spec, &self.address.endpoint, observer)?;
        result.kinds.retain(|kind| kind.kind != MIN_KIND);
        Ok(result)
    }

    fn finish(self: Box<Self>, arm: &ActiveArm, findings: &StepFindings) -> Result<Finished> {
        let (step, result) = (&self.step, &findings.result);
        let mut admin = arm.admin("reading the state after a step")?;
        let after = State::read(arm, &mut *admin, step)?;
        if step.repeats {
            step.set_end_keys(&mut *admin, &arm.name)?;
        }
        let misplaced = match self.spec.limit {
            Limit::Rows(_) if !step.is_shared() => {
                QueuePosition::read(&mut *admin, step, &arm.name)?.misplaced(step)
            }
            _ => None,
        };
        let debt_name = arm.system.debt_name();
        let mut metrics = self.before.metrics(debt_name, "before");
        metrics.extend(after.metrics(debt_name, "after"));
        let inserted = result.changed_rows - result.removed_rows;
        let (operations, rows) = match step.queue.queries {
            Some(_) => (result.queries, result.rows),
            None if step.queue.builds_indexes => {
                let indexed = step.stretch.to.inserted * u64::from(step.clients());
                (indexed, indexed)
            }
            None => (inserted, inserted),
        };
        Ok(Finished {
            unit: step.test.unit.clone(),
            operations: operations as f64,
            rows,
            pacer: step.queue.rows_per_second.map(|_| step.options.pacer),
            metrics,
            invalid: self.position.partly_done(step).or_else(|| result.invalid.clone()).or(misplaced),
            remark: background(result),
        })
    }
}

/// The achieved rate of background writes, and whether it missed the target, for the summary.
fn background(result: &StepResult) -> String {
    let total = |name: &str| result.totals.get(name).copied();
    match (total("background_rows_per_s"), total("background_target_rows_per_s")) {
        (Some(achieved), Some(target)) if total("background_kept") == Some(0.0) => {
            format!(" beside {achieved:.0} of {target:.0} inserts/s: TARGET MISSED")
        }
        (Some(achieved), _) => format!(" beside {achieved:.0} inserts/s"),
        _ => String::new(),
    }
}

/// Undoes partial work that an interrupted step can't continue from: rows in tables that only this step
/// fills, and some of the indexes.
fn undo_partial_work(admin: &mut dyn Admin, step: &InsertStep<'_>, arm: &str) -> Result<()> {
    let doing = "undoing an interrupted step";
    let mut run = |sql: &str| admin.query(sql).map_err(Error::session(arm, doing));
    for table in 1..=step.plan.work.tables() {
        if step.stretch.from.statements == 0 {
            let restart = if step.dialect == Dialect::Postgres { " RESTART IDENTITY" } else { "" };
            run(&format!("TRUNCATE TABLE {}{restart}", table_name(table)))?;
        }
        if step.queue.builds_indexes {
            let found = run(&existing_indexes_sql(step.dialect, table))?;
            let existing: Vec<String> =
                found.rows.iter().filter_map(|row| row.first().cloned().flatten()).collect();
            for sql in drop_indexes(step.dialect, table, &existing) {
                run(&sql)?;
            }
        }
    }
    Ok(())
}

/// One statement of each kind in the step, on the first table.
fn examples(step: &InsertStep<'_>, keys: (i64, i64)) -> Vec<(&'static str, String)> {
    let skips = |kind: &str| !step.deletes() && matches!(kind, "delete" | MIN_KIND);
    let kinds = step.test.statements().map(|statement| statement.kind).filter(|kind| !skips(kind));
    let (rows, form) = (step.queue.rows_per_statement, step.options.delete_form);
    kinds.filter_map(|kind| Some((kind, example_sql(kind, step.dialect, form, 1, rows, keys)?))).collect()
}
