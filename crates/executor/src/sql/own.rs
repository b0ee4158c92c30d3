//! Driver of the user's own SQL: rqps' clients.

use super::microbenchmarks::window;
use crate::arm::ActiveArm;
use crate::control::RunControl;
use crate::driver::{Driver, Job, Loaded, Window, work_of};
use crate::error::{Error, Result};
use crate::system::Admin;
use rqps_driver::Observer;
use rqps_model::FixedWork;
use rqps_plan::{Benchmark, Driver as Program, Plan, StepDef};
use rqps_store::Load;
use rqps_workloads::sql::{Sql, SqlPlan};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

pub static CLIENTS: &dyn Driver = &OwnClients;

struct OwnClients;

impl OwnClients {
    /// Prepares the statements of every test once, so that mistakes show before other arms are loaded.
    fn prepare_all(
        &self,
        plan: &Plan,
        arm: &ActiveArm,
        admin: &mut dyn Admin,
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        for step in plan.workload.steps.iter().filter_map(|name| plan.step(name)) {
            control.check()?;
            let step = StepDef { clients: 1, ..step };
            let nothing = FixedWork { warmup: vec![0], window: vec![0] };
            let mut window = self.prepare(Job::of_work(plan, &step, 0, nothing), arm, admin)?;
            window.run(&mut Unobserved { stop: control.stop }).map_err(|source| Error::Step {
                arm: arm.name.clone(),
                step: step.name.clone(),
                source,
            })?;
        }
        Ok(())
    }
}

/// Of a window without events.
struct Unobserved<'a> {
    stop: &'a AtomicBool,
}

impl Observer for Unobserved<'_> {
    fn window_opens(&mut self, _sessions: &[u32]) {}
    fn window_closes(&mut self) {}
    fn statistics_complete(&mut self) {}
    fn progress(&mut self, _phase: &'static str, _elapsed_s: f64, _events: u64) {}
    fn cancelled(&mut self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
    fn force(&mut self) {}
}

impl Driver for OwnClients {
    fn id(&self) -> &'static str {
        Program::Rqps.key()
    }

    fn benchmark(&self) -> &'static str {
        Sql.id()
    }

    fn takes_turns(&self, step: &StepDef) -> bool {
        step.rate_per_second.is_none()
    }

    /// Runs the schema.
    fn load(&self, plan: &Plan, arm: &ActiveArm, control: &mut RunControl<'_>) -> Result<Loaded> {
        let start = Instant::now();
        let mut admin = arm.admin("running the schema")?;
        for piece in work_of::<SqlPlan>(self, plan)?.schema() {
            control.check()?;
            control.progress.action_progress("schema", start.elapsed().as_secs_f64(), None);
            let doing = format!("running the statement on line {} of the schema", piece.line);
            admin.query(&piece.text).map_err(Error::session(&arm.name, &doing))?;
        }
        let load_us = start.elapsed().as_micros() as u64;
        self.prepare_all(plan, arm, &mut *admin, control)?;
        let load = Load { tables: plan.work.tables(), rows: plan.work.rows_total(), load_us, index_us: 0 };
        Ok(Loaded { load, summary: format!("schema in {:.1} s", start.elapsed().as_secs_f64()) })
    }

    fn prepare<'a>(
        &self,
        job: Job<'a>,
        arm: &ActiveArm,
        admin: &mut dyn Admin,
    ) -> Result<Box<dyn Window + 'a>> {
        let test = work_of::<SqlPlan>(self, job.plan)?.test(&job.step.test);
        let test = test.ok_or_else(|| Error::NoClients { step: job.step.name.clone(), driver: self.id() })?;
        window((Program::Rqps, self), test, job, arm, admin)
    }
}
