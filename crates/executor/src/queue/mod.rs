//! A step of the Insert Benchmark: where the queue stands, what the step finds and leaves, and the window between them.
//!
//! Everything is counted from the tables themselves: the newest row says which insert was the last, the oldest one how
//! far the deletes have come. So a step that was cut off goes on to the place at which it was to end, and every arm
//! ends each step with the same rows.

mod findings;
mod position;
mod state;

use crate::adapter::Admin;
use crate::arm::ActiveArm;
use crate::error::{Error, Result};
use crate::eyes::{Eyes, Watching};
use crate::measure::{StepInput, StepOutput};
use crate::outside::Outside;
use crate::work::{Done, Task, after_load};
use position::Standing;
use rqps_driver::Flush;
use rqps_driver::queue::QueueSpec;
use rqps_model::{Limit, QueryPlan};
use rqps_plan::{Plan, StepDef};
use rqps_store::{Load, Measured, Observation};
use rqps_workloads::insert_benchmark::{
    InsertOptions, InsertPlan, Sizes, Stretch, create_table, drop_indexes, example_sql, existing_indexes_sql,
    stretches, table_name,
};
use rqps_workloads::{Dialect, Queue, Test};
use state::{State, keys};
use std::time::{Duration, Instant};

/// Creates the tables, which l.i0 fills.
pub(crate) fn create(task: &Task<'_>, work: &InsertPlan, outside: &mut Outside<'_>) -> Result<Done> {
    let (plan, arm) = (task.plan, task.arm);
    let start = Instant::now();
    let doing = "creating the tables";
    let mut admin = arm.admin(doing)?;
    let partitions = work.sizes().partitions(work.options.partitions, work.tests.iter().copied());
    let tables = plan.work.tables().len() as u32;
    for table in 1..=tables {
        for sql in create_table(arm.adapter.dialect(), table, partitions) {
            admin.query(&sql).map_err(Error::session(&arm.name, doing))?;
        }
    }
    let load_us = start.elapsed().as_micros() as u64;
    after_load(task, outside)?;
    let load = Load { tables, rows: 0, load_us, index_us: 0 };
    Ok(Done {
        observation: Some(Observation::new(Measured::Load(load))),
        ..Done::plain("empty tables: l.i0 fills them")
    })
}

/// What a step works with.
struct Work<'a> {
    plan: &'a Plan,
    step: &'a StepDef,
    test: &'static Test,
    options: &'a InsertOptions,
    /// Whether the step was cut off before.
    repeats: bool,
    queue: Queue,
    dialect: Dialect,
    sizes: Sizes,
    stretches: Vec<Stretch>,
    /// What of the queue is this step's.
    stretch: Stretch,
}

impl<'a> Work<'a> {
    /// None for a step that is not of this benchmark.
    fn of(input: &StepInput<'a>, work: &'a InsertPlan, dialect: Dialect) -> Option<Self> {
        let StepInput { plan, step, attempt, .. } = *input;
        let repeats = attempt > 1;
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

/// Runs such a step on an arm's server.
pub(crate) fn measure(
    arm: &mut ActiveArm,
    input: &StepInput<'_>,
    work: &InsertPlan,
    outside: &mut Outside<'_>,
) -> Result<StepOutput> {
    let doing = "preparing a step";
    let adapter = arm.adapter;
    let Some(work) = Work::of(input, work, adapter.dialect()) else {
        let driver = input.plan.workload.driver.key();
        return Err(Error::NoClients { step: input.step.name.clone(), driver });
    };
    let mut admin = arm.admin(doing)?;
    admin.begin_step().map_err(Error::session(&arm.name, doing))?;
    if work.repeats {
        outside.watcher.goes_on("undoing what was half done", 0.0, None);
        tidy(&mut *admin, &work, &arm.name)?;
    }
    let before = State::read(arm, &mut *admin, &work)?;
    let standing = Standing::read(&mut *admin, &work, &arm.name)?;
    if work.repeats {
        standing.restore_keys(&mut *admin, &work, &arm.name)?;
    }
    let fingerprint = admin.fingerprint()?;
    let plans = plans(&mut *admin, &work, &arm.name)?;
    let flush = admin.flush();
    let spec = QueueSpec {
        test: work.test,
        step: work.step.name.clone(),
        dialect: work.dialect,
        shared_table: work.options.shared_table,
        seed: work.plan.seed,
        draws: 1,
        delete_form: work.options.delete_form,
        pacer: work.options.pacer,
        positions: standing.positions(&work),
        limit: work.step.limit.clone(),
        flush: flush
            .map(|how| Flush { idle: Duration::from_millis(how.idle_ms), sql: how.session_sql.to_owned() }),
    };
    let watching = Watching {
        owes_events: false,
        progress: (
            work.queue.queries.map_or(f64::from(work.queue.rows_per_statement), |_| 1.0),
            work.test.unit,
        ),
        beside: Some(arm.admin("looking at the debt")?),
    };
    let endpoint = arm.endpoint.clone();
    let mut eyes = Eyes::new(admin, arm, outside, watching);
    let outcome = adapter.run_queue(&spec, &endpoint, &mut eyes);
    let step = eyes.into_findings(&work.step.name, outcome)?;
    let mut admin = arm.admin("reading what a step leaves")?;
    let after = State::read(arm, &mut *admin, &work)?;
    if work.repeats {
        work.leave_keys(&mut *admin, &arm.name)?;
    }
    let misplaced = match spec.limit {
        Limit::Rows(_) if !work.is_shared() => {
            Standing::read(&mut *admin, &work, &arm.name)?.misplaced(&work)
        }
        _ => None,
    };
    let mut observation = findings::observation(&work, adapter, &step, (before, after));
    observation.fingerprint = fingerprint;
    observation.plans = plans;
    Ok(StepOutput {
        summary: findings::summary(&observation),
        observation,
        work: step.result.work,
        invalid: standing.went_on(&work).or(step.result.invalid).or(misplaced),
    })
}

/// Undoes what a step that was cut off has left where it can't go on from there: half a table that is filled by nothing
/// else, and some of the indexes.
fn tidy(admin: &mut dyn Admin, work: &Work<'_>, arm: &str) -> Result<()> {
    let doing = "undoing what a step that was cut off has left";
    let mut run = |sql: &str| admin.query(sql).map_err(Error::session(arm, doing));
    for table in 1..=work.plan.work.tables().len() as u32 {
        if work.stretch.from.statements == 0 {
            let restart = if work.dialect == Dialect::Postgres { " RESTART IDENTITY" } else { "" };
            run(&format!("TRUNCATE TABLE {}{restart}", table_name(table)))?;
        }
        if work.queue.builds_indexes {
            let found = run(&existing_indexes_sql(work.dialect, table))?;
            let existing: Vec<String> =
                found.rows.iter().filter_map(|row| row.first().cloned().flatten()).collect();
            for sql in drop_indexes(work.dialect, table, &existing) {
                run(&sql)?;
            }
        }
    }
    Ok(())
}

/// How the server would carry out each kind of statement of the step, on the first table.
fn plans(admin: &mut dyn Admin, work: &Work<'_>, arm: &str) -> Result<Vec<QueryPlan>> {
    let keys = keys(admin, arm)?;
    let mut plans = Vec::new();
    for statement in work.test.statements() {
        let skips = !work.deletes() && matches!(statement.kind, "delete" | "min");
        let (rows, form) = (work.queue.rows_per_statement, work.options.delete_form);
        let sql = example_sql(statement.kind, work.dialect, form, 1, rows, keys);
        let Some(sql) = sql.filter(|_| !skips) else {
            continue;
        };
        plans.push(admin.explain(statement.kind, &sql)?);
    }
    Ok(plans)
}
