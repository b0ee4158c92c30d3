//! Driver of the user's own SQL: rqps' clients.

use super::microbenchmarks::window;
use crate::arm::ActiveArm;
use crate::control::RunControl;
use crate::driver::{Driver, Job, Loaded, Window, work_of};
use crate::error::{Error, Result};
use crate::system::Admin;
use rqps_plan::{Benchmark, Driver as Program, Plan, StepDef};
use rqps_store::Load;
use rqps_workloads::sql::{Sql, SqlPlan};
use std::time::Instant;

pub static CLIENTS: &dyn Driver = &OwnClients;

struct OwnClients;

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
