//! Who asks: a driver sends the load of one benchmark to instances of the systems whose addresses it knows.

use crate::arm::ActiveArm;
use crate::control::RunControl;
use crate::error::Result;
use crate::observe::StepFindings;
use crate::system::Admin;
use rqps_driver::{Member, Observer, SliceSpec, StepError, StepResult};
use rqps_model::{FixedWork, Limit, Metrics, Pacer, Unit, Warmup};
use rqps_plan::{Plan, StepDef};
use rqps_store::Load;

/// A program whose clients run a benchmark.
pub trait Driver: Sync {
    /// Its word in plans.
    fn id(&self) -> &'static str;

    /// The benchmark that it runs, by its word in plans.
    fn benchmark(&self) -> &'static str;

    /// What a run says of it, unless that goes without saying.
    ///
    /// # Errors
    /// Where it is not installed.
    fn described(&self) -> Result<Option<String>> {
        Ok(None)
    }

    /// Whether windows of several arms can share a stretch of time, in which arms take turns of some milliseconds.
    fn takes_turns(&self, _step: &StepDef) -> bool {
        false
    }

    /// Makes the benchmark's tables as they are before its first step.
    fn load(&self, plan: &Plan, arm: &ActiveArm, control: &mut RunControl<'_>) -> Result<Loaded>;

    /// Gets ready for one window: `admin` is a session on the arm's instance.
    fn prepare<'a>(
        &self,
        job: Job<'a>,
        arm: &ActiveArm,
        admin: &mut dyn Admin,
    ) -> Result<Box<dyn Window + 'a>>;
}

/// What a load made.
pub struct Loaded {
    pub load: Load,
    /// The result in a few words.
    pub summary: String,
}

/// What is to be run.
#[derive(Clone)]
pub struct Job<'a> {
    pub plan: &'a Plan,
    pub step: &'a StepDef,
    /// Steps of the same number repeat the same operations.
    pub draws: u32,
    pub limit: Limit,
    pub warmup: Warmup,
    /// It also ends when so many rows are gone.
    pub removed_rows_max: Option<u64>,
    /// Whether the step was cut off before.
    pub repeats: bool,
    /// Whether clients let the instance go first on the CPU that they share.
    pub gives_way: bool,
    /// Whether the instance's counters are read around the window, so that sessions hand theirs in at its end.
    pub reads_counters: bool,
    /// What a turn is, where arms take turns.
    pub slice: Option<SliceSpec>,
}

impl<'a> Job<'a> {
    /// A step with this much work, in a first attempt.
    pub(crate) fn of(plan: &'a Plan, step: &'a StepDef, draws: u32, limit: Limit, warmup: Warmup) -> Self {
        Self {
            plan,
            step,
            draws,
            limit,
            warmup,
            removed_rows_max: None,
            repeats: false,
            gives_way: false,
            reads_counters: false,
            slice: None,
        }
    }

    /// A step with a fixed number of events for each client.
    pub(crate) fn of_work(plan: &'a Plan, step: &'a StepDef, draws: u32, work: FixedWork) -> Self {
        Self::of(plan, step, draws, Limit::Work(work), Warmup::Time(std::time::Duration::ZERO))
    }
}

/// One window that is ready to run.
pub trait Window {
    /// Statements that the instance is asked to explain, with their kinds.
    fn examples(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// How it is watched.
    fn watch_options(&self) -> WatchOptions;

    /// Runs it. Called once.
    fn run(&mut self, observer: &mut dyn Observer) -> std::result::Result<StepResult, StepError>;

    /// What is run where arms take turns; every driver that says it does so has it.
    fn member(&self) -> Option<Member<'_>> {
        None
    }

    /// What came of it, once its sessions have ended.
    fn finish(self: Box<Self>, arm: &ActiveArm, findings: &StepFindings) -> Result<Finished>;
}

/// How a window is watched.
pub struct WatchOptions {
    /// Sessions stay after the window.
    pub owes_events: bool,
    /// Operations that an event, as progress counts them, stands for, and what the rate counts.
    pub progress: (f64, &'static Unit),
    /// Whether the instance's debt is looked at each second.
    pub debt: bool,
}

/// What a window came to, beside what every step's result says.
pub struct Finished {
    pub unit: Unit,
    /// In the unit of the rate.
    pub operations: f64,
    /// Read or changed.
    pub rows: u64,
    pub pacer: Option<Pacer>,
    pub metrics: Metrics,
    /// Why the result must not be used, if so.
    pub invalid: Option<String>,
    /// What the summary adds to the rate.
    pub remark: String,
}
