//! Driver of the user's own SQL: rqps' clients.

use super::microbenchmarks::window;
use super::system::SqlAddress;
use crate::arm::ActiveArm;
use crate::control::RunControl;
use crate::driver::{Driver, Job, Loaded, Window, work_of};
use crate::error::{Error, Result};
use crate::system::Admin;
use crate::work::none_refused;
use rqps_driver::{Observer, StepError};
use rqps_model::{FixedWork, counted};
use rqps_plan::{Benchmark, Driver as Program, Plan, StepDef};
use rqps_store::Load;
use rqps_workloads::sql::{Dump, DumpReader, Item, Sql, SqlPlan};
use rqps_workloads::{Dialect, Test};
use std::collections::BTreeSet;
use std::io::BufReader;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

pub static CLIENTS: &dyn Driver = &OwnClients;

struct OwnClients;

impl OwnClients {
    /// Prepares the statements of a test in a session of its own.
    fn prepare_once(
        &self,
        (plan, step): (&Plan, &StepDef),
        test: &'static Test,
        arm: &ActiveArm,
        admin: &mut dyn Admin,
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        control.check()?;
        let step = StepDef { clients: 1, ..step.clone() };
        let nothing = FixedWork { warmup: vec![0], window: vec![0] };
        let mut window =
            window((Program::Rqps, self), test, Job::of_work(plan, &step, 0, nothing), arm, admin)?;
        let ended = window.run(&mut Unobserved { stop: control.stop });
        let failed = |source| Error::Step { arm: arm.name.clone(), step: step.name.clone(), source };
        ended.map(drop).map_err(failed)
    }
}

/// Loads a dump in one session.
fn load_dump((dump, dialect): (&Dump, Dialect), arm: &ActiveArm, control: &mut RunControl<'_>) -> Result<()> {
    let start = Instant::now();
    let refused = |why: String| Error::Dump { arm: arm.name.clone(), path: dump.path.clone(), why };
    let file =
        rqps_builds::open_file(&dump.path).map_err(|error| refused(format!("cannot read it: {error}")))?;
    let mut reader = DumpReader::new(BufReader::new(file), dialect);
    let mut admin = arm.admin("loading the dump")?;
    while let Some(item) = reader.next_item().map_err(refused)? {
        control.check()?;
        let percent = 100.0 * reader.bytes() as f64 / dump.bytes.max(1) as f64;
        control.progress.action_progress("dump", start.elapsed().as_secs_f64(), Some((percent, "%")));
        let failed = |line: usize, source| {
            Error::of_statement(&arm.name, &format!("{}:{line}", dump.path.display()))(source)
        };
        match item {
            Item::Statement { piece, optional } => match admin.query(&piece.text) {
                Err(rqps_wire::Error::Db { .. }) if optional => {}
                outcome => outcome.map(drop).map_err(|source| failed(piece.line, source))?,
            },
            Item::Copy { statement } => {
                let before = reader.lines();
                let stop = control.stop;
                let mut next = |rows: &mut Vec<u8>| match stop.load(Ordering::Relaxed) {
                    true => Err("interrupted".to_owned()),
                    false => reader.copy_rows(rows),
                };
                let copied = admin.copy_rows(&statement, &mut next);
                control.check()?;
                copied.map_err(|source| failed(before + row_of(&source), source))?;
            }
        }
    }
    match reader.sha256() == dump.sha256 {
        true => Ok(()),
        false => Err(refused(
            "it is not the file with which this run began: restore that, or begin another run".to_owned(),
        )),
    }
}

/// The row of a COPY that is refused, from 1; 0 if the server does not tell.
fn row_of(error: &rqps_wire::Error) -> usize {
    let rqps_wire::Error::Db { detail: Some(context), .. } = error else { return 0 };
    let number = |part: &str| {
        let digits: String = part.strip_prefix("line ")?.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    context.split(", ").find_map(number).unwrap_or(0)
}

/// The tables that the load created, but for those that it dropped or that nobody can read, and the rows of all
/// together. Rows of a partition are not counted with its parent's.
fn count_rows(plan: &Plan, dialect: Dialect, admin: &mut dyn Admin) -> (u32, u64) {
    let only = match dialect {
        Dialect::Postgres => "ONLY ",
        Dialect::Mysql => "",
    };
    let mut count = |number| -> Option<u64> {
        let counted = admin.query(&format!("SELECT count(*) FROM {only}{}", plan.work.table_name(number)));
        counted.ok()?.value()?.parse().ok()
    };
    let known = (1..=plan.work.tables()).filter_map(&mut count);
    known.fold((0, 0), |(tables, rows), of_table| (tables + 1, rows + of_table))
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

    fn has_own_statements(&self, _plan: &Plan) -> bool {
        true
    }

    /// The dump of a database that is there is taken when a run begins.
    fn can_rehearse(&self, plan: &Plan) -> bool {
        let dump = work_of::<SqlPlan>(self, plan).ok().and_then(SqlPlan::dump);
        dump.is_none_or(|dump| dump.address().is_none())
    }

    fn takes_turns(&self, step: &StepDef) -> bool {
        step.rate_per_second.is_none()
    }

    /// Runs the schema.
    fn load(
        &self,
        plan: &Plan,
        _test: &str,
        arm: &ActiveArm,
        control: &mut RunControl<'_>,
    ) -> Result<Loaded> {
        let start = Instant::now();
        let work = work_of::<SqlPlan>(self, plan)?;
        if let Some(dump) = work.dump() {
            let dialect = SqlAddress::of(arm, self)?.adapter.dialect();
            load_dump((dump, dialect), arm, control)?;
        }
        // The dump's session is over, and with it the options that it set.
        let mut admin = arm.admin("running the schema")?;
        for piece in work.schema() {
            control.check()?;
            control.progress.action_progress("schema", start.elapsed().as_secs_f64(), None);
            let place = work.schema_line(piece.line);
            admin.query(&piece.text).map_err(Error::of_statement(&arm.name, &place))?;
        }
        let load_us = start.elapsed().as_micros() as u64;
        let (tables, rows) = count_rows(plan, SqlAddress::of(arm, self)?.adapter.dialect(), &mut *admin);
        let load = Load { tables, rows, load_us, index_us: 0 };
        let seconds = start.elapsed().as_secs_f64();
        Ok(Loaded { load, summary: format!("{} in {seconds:.1} s", counted(rows, "row")) })
    }

    /// Prepares the statements of every test once, so that all mistakes show before other arms are loaded.
    fn check_statements(&self, plan: &Plan, arm: &ActiveArm, control: &mut RunControl<'_>) -> Result<()> {
        let work = work_of::<SqlPlan>(self, plan)?;
        let mut admin = arm.admin("trying the statements")?;
        let mut refused: Vec<String> = Vec::new();
        let mut prepared = BTreeSet::new();
        for step in plan.workload.steps.iter().filter_map(|name| plan.step(name)) {
            // The same with other numbers of clients is the same.
            let Some(test) = work.test(&step.test).filter(|test| prepared.insert(test.name)) else {
                continue;
            };
            let mut prepare = |test| self.prepare_once((plan, &step), test, arm, &mut *admin, control);
            let Err(error) = prepare(test) else { continue };
            // It names the first of the test's statements that are refused.
            let mut is_found = false;
            for (place, alone) in work.statements(&step.test) {
                if let Err(Error::Step { source: StepError::Client { source, .. }, .. }) = prepare(alone) {
                    let said = Error::of_statement(&arm.name, &place)(*source);
                    let Error::Refused { statements, .. } = said else { return Err(said) };
                    is_found = true;
                    // A script can be a test and in mixes.
                    let is_new = statements.iter().all(|one| !refused.contains(one));
                    refused.extend(statements.into_iter().filter(|_| is_new));
                }
            }
            if !is_found {
                return Err(error);
            }
        }
        none_refused(arm, refused)
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
