//! The load generator: a [`Driver`] runs the steps of one benchmark against instances of the systems whose
//! [`Address`](crate::Address) type it supports.

use crate::arm::ActiveArm;
use crate::control::RunControl;
use crate::error::{Error, Result};
use crate::observe::StepFindings;
use crate::system::{Admin, Example, Instance};
use rqps_driver::{Member, Observer, StepError, StepResult, Turn};
use rqps_model::{BuildSpec, FixedWork, Limit, Metrics, Pacer, Unit, Warmup};
use rqps_plan::{Plan, StepDef, Workplan};
use rqps_store::Load;
use std::time::Duration;

/// What [`Driver::warm`] does, for errors.
const WARMING: &str = "reading the tables once";

/// A program whose clients run a benchmark.
pub trait Driver: Sync {
    /// Its name in plans.
    fn id(&self) -> &'static str;

    /// The id of the benchmark that it runs.
    fn benchmark(&self) -> &'static str;

    /// Describes the driver in the run's method; `None` if there is nothing to note.
    ///
    /// # Errors
    /// If its program is not installed.
    fn described(&self) -> Result<Option<String>> {
        Ok(None)
    }

    /// Whether it can drive this build.
    ///
    /// # Errors
    /// If the build lacks what the driver runs.
    fn check_build(&self, _build: &BuildSpec) -> Result<()> {
        Ok(())
    }

    /// Whether it can drive an instance that was started for a trial, before anything is measured.
    ///
    /// # Errors
    /// If what the driver runs does not fit the instance, with its arm.
    fn check_instance(&self, _arm: &str, _instance: &dyn Instance) -> Result<()> {
        Ok(())
    }

    /// Whether a plan has statements of the user's for it, which only a server can judge.
    fn has_own_statements(&self, _plan: &Plan) -> bool {
        false
    }

    /// Whether the tables that statements of the user's work on are soon loaded, so that a server can judge these
    /// before a run.
    fn can_rehearse(&self, _plan: &Plan) -> bool {
        false
    }

    /// Whether windows of several arms can run interleaved, in turns of some milliseconds. If true,
    /// [`Window::member`] must return a member for windows of this step.
    fn takes_turns(&self, _step: &StepDef) -> bool {
        false
    }

    /// Creates the tables as this test expects them, replacing those of an earlier load. A load that takes
    /// long must check `control.stopped()` and then return
    /// [`Error::Interrupted`](crate::Error::Interrupted).
    fn load(&self, plan: &Plan, test: &str, arm: &ActiveArm, control: &mut RunControl<'_>) -> Result<Loaded>;

    /// Checks the user's own statements of all tests on loaded tables.
    ///
    /// # Errors
    /// [`Error::Refused`](crate::Error::Refused) with all that the server refuses.
    fn check_statements(&self, _plan: &Plan, _arm: &ActiveArm, _control: &mut RunControl<'_>) -> Result<()> {
        Ok(())
    }

    /// Checks what an arm's `after_load` statements made of the tables of this test.
    ///
    /// # Errors
    /// If the benchmark cannot work on them: [`Error::WrongLoad`](crate::Error::WrongLoad).
    fn check_load(&self, _plan: &Plan, _test: &str, _arm: &ActiveArm) -> Result<()> {
        Ok(())
    }

    /// Reads at most `rows_max` rows of each table, and its indexes, once, so that no window reads from disk
    /// what another arm's window finds in memory.
    fn warm(&self, plan: &Plan, arm: &ActiveArm, rows_max: u64) -> Result<()> {
        let read = arm.admin(WARMING)?.warm(&plan.work.table_names(), rows_max);
        read.map_err(Error::session(&arm.name, WARMING))
    }

    /// Prepares one window; `admin` is a session on the arm's instance.
    fn prepare<'a>(
        &self,
        job: Job<'a>,
        arm: &ActiveArm,
        admin: &mut dyn Admin,
    ) -> Result<Box<dyn Window + 'a>>;
}

/// The part of a plan that belongs to the driver's benchmark.
pub(crate) fn work_of<'a, W: Workplan>(driver: &dyn Driver, plan: &'a Plan) -> Result<&'a W> {
    let no_driver = Error::NoDriver { driver: driver.id(), benchmark: plan.work.benchmark().id() };
    plan.work.of().ok_or(no_driver)
}

/// Result of a load.
pub struct Loaded {
    pub load: Load,
    /// The result in a few words, for the progress display.
    pub summary: String,
}

/// One window to run.
#[derive(Clone)]
pub struct Job<'a> {
    pub plan: &'a Plan,
    pub step: &'a StepDef,
    /// Part of the seed: windows of a step with equal `draws` repeat the same operations.
    pub draws: u32,
    pub limit: Limit,
    pub warmup: Warmup,
    /// The window also ends once this many rows have been removed.
    pub removed_rows_max: Option<u64>,
    /// Whether an earlier attempt at the step was interrupted.
    pub repeats: bool,
    /// Whether clients yield to the instance on the CPU that they share.
    pub yields_cpu: bool,
    /// Whether the instance's counters are read around the window, so that sessions must flush their
    /// statistics before and after it.
    pub reads_counters: bool,
    /// Whether a check may read whole tables after the window. In blocks that would move what is cached between two
    /// windows.
    pub may_read_all: bool,
    /// How long turns are; `None` if arms do not take turns.
    pub turn: Option<Turn>,
    /// Whether an instance stands still while other arms take their turns.
    pub freezes: bool,
}

impl<'a> Job<'a> {
    /// A first attempt at a step, with everything optional off.
    pub(crate) fn of(plan: &'a Plan, step: &'a StepDef, draws: u32, limit: Limit, warmup: Warmup) -> Self {
        Self {
            plan,
            step,
            draws,
            limit,
            warmup,
            removed_rows_max: None,
            repeats: false,
            yields_cpu: false,
            reads_counters: false,
            may_read_all: true,
            turn: None,
            freezes: false,
        }
    }

    /// As [`Job::of`], with a fixed number of events for each client and no timed warm-up.
    pub(crate) fn of_work(plan: &'a Plan, step: &'a StepDef, draws: u32, work: FixedWork) -> Self {
        Self::of(plan, step, draws, Limit::Work(work), Warmup::Time(Duration::ZERO))
    }
}

/// One window that is ready to run.
pub trait Window {
    /// Statements to explain.
    fn examples(&self) -> Vec<Example> {
        Vec::new()
    }

    fn watch_options(&self) -> WatchOptions;

    /// Runs it. Called once.
    fn run(&mut self, observer: &mut dyn Observer) -> std::result::Result<StepResult, StepError>;

    /// The window's part in a run of several arms in turns; see [`Driver::takes_turns`].
    fn member(&self) -> Option<Member<'_>> {
        None
    }

    /// Computes the result. Called after the window's sessions have ended.
    fn finish(self: Box<Self>, arm: &ActiveArm, findings: &StepFindings) -> Result<Finished>;
}

/// What the executor observes during a window.
pub struct WatchOptions {
    /// Whether sessions still run events after the window closes; otherwise they end with it.
    pub has_tail: bool,
    /// Operations per event that [`Observer::progress`] reports, and the unit of the displayed rate.
    pub progress: (f64, &'static Unit),
    /// Whether the instance's debt is sampled every second.
    pub debt: bool,
}

/// The result of a window, beside its [`StepResult`].
pub struct Finished {
    pub unit: Unit,
    /// In the unit of the rate.
    pub operations: f64,
    /// Rows read or changed.
    pub rows: u64,
    pub pacer: Option<Pacer>,
    pub metrics: Metrics,
    /// Why the result must not be used, if it must not.
    pub invalid: Option<String>,
    /// Text that follows the rate in the summary.
    pub remark: String,
}
