//! What a benchmark is to a plan: it reads its own keys, names its steps, and says how they are run. Which benchmarks
//! there are is the caller's to say; nothing here names one.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use rqps_model::{Limit, Role, Warmup};
use toml::Table;

use crate::model::{Plan, Protocol, TestOptions, Workload};
use crate::problem::Problems;
use crate::reader::Section;
use crate::schedule::ActionKind;

/// A benchmark that plans can name.
pub trait Benchmark: Sync {
    /// The word in plans and result files.
    fn id(&self) -> &'static str;

    /// Its name for people.
    fn title(&self) -> &'static str;

    /// Changes when a statement, a parameter or the order of its steps changes: runs of two revisions don't compare.
    fn revision(&self) -> &'static str;

    /// Reads what a plan says of it. What is wrong goes to the problems, and defaults stand in its place.
    fn read(&self, plan: &Reading<'_>) -> Readable;

    /// Keys of tables of its own at the top of the plan: `insert`.
    fn tables(&self) -> &'static [&'static str] {
        &[]
    }

    /// Where a key belongs that stands in another place, if it is one of this benchmark's.
    fn home_of(&self, _key: &str) -> Option<&'static str> {
        None
    }
}

/// A plan that is being read.
pub struct Reading<'p> {
    pub top: &'p Section<'p>,
    /// `[workload]`.
    pub workload: &'p Section<'p>,
    pub problems: &'p Problems<'p>,
    pub protocol: Protocol,
    /// Keys that may stand at the top of a plan.
    pub plan_keys: &'p [&'static str],
    pub benchmarks: &'static [&'static dyn Benchmark],
}

impl Reading<'_> {
    /// Where a key of `[workload]` belongs that another benchmark knows.
    pub fn home_of_other(&self, key: &str) -> Option<String> {
        self.benchmarks.iter().find_map(|benchmark| benchmark.home_of(key)).map(str::to_owned)
    }
}

/// What a benchmark read in a plan.
pub struct Readable {
    pub workload: Workload,
    pub tests: BTreeMap<String, TestOptions>,
    pub work: Work,
}

/// A benchmark as one plan wants it.
pub trait Workplan: Any + fmt::Debug + Send + Sync {
    fn benchmark(&self) -> &'static dyn Benchmark;

    /// The keys of `[workload]` that are its own, as resolved.
    fn own_keys(&self) -> Table;

    /// The tables at the top of the plan that are its own, as resolved.
    fn own_tables(&self) -> Table {
        Table::new()
    }

    fn tables(&self) -> Vec<String>;

    /// Rows of each table when everything is loaded.
    fn rows_per_table(&self) -> u64;

    /// Rows of all tables together.
    fn rows_total(&self) -> u64 {
        (self.tables().len() as u64).saturating_mul(self.rows_per_table())
    }

    /// The step of this name, but for its position.
    fn step(&self, name: &str, workload: &Workload, tests: &BTreeMap<String, TestOptions>)
    -> Option<StepDef>;

    /// What of the rest of a plan does not go with it.
    fn check(&self, _top: &Section<'_>, _problems: &Problems<'_>, _plan: &Plan) {}

    /// Whether its tests can start from the same data each time, in any order: then it goes with blocks, and CPU
    /// profiles can be taken of it.
    fn has_independent_tests(&self) -> bool;

    /// Whether the other arms repeat the work that base did in steps that write.
    fn repeats_base(&self) -> bool {
        false
    }

    /// Whether a step that was cut off can go on from what its tables hold. Else the arm begins anew, since nobody
    /// knows which rows were changed.
    fn can_continue(&self) -> bool {
        false
    }

    /// Whether every table is vacuumed between load and first step.
    fn vacuums_after_load(&self) -> bool {
        false
    }

    /// A settle lasts at least so many seconds.
    fn settle_seconds_min(&self, _clients: u32) -> u32 {
        0
    }

    fn sessions_per_client(&self) -> u32 {
        1
    }

    /// The most memory that a server may have, page cache included.
    fn server_memory_bytes_max(&self) -> Option<u64> {
        None
    }

    /// Seconds that an action is taken to last, where that is not as for any benchmark.
    fn estimate_seconds(&self, _kind: &ActionKind, _plan: &Plan) -> Option<f64> {
        None
    }

    /// How it is run, in a line of `plan show`.
    fn summary(&self) -> String;

    /// What a step does until it ends, or what a load makes, in a cell of `plan show`; none: as for any benchmark.
    fn describe(&self, _kind: &ActionKind, _plan: &Plan) -> Option<String> {
        None
    }

    /// The warm-up of steps that say nothing else.
    fn warmup(&self) -> Warmup {
        Warmup::Time(Duration::ZERO)
    }

    /// What matters of the method: name and value.
    fn method(&self, plan: &Plan) -> Vec<(&'static str, String)>;
}

/// A plan's benchmark, shared by the plan's copies.
#[derive(Debug, Clone)]
pub struct Work(Arc<dyn Workplan>);

impl Work {
    pub fn new(work: impl Workplan) -> Self {
        Self(Arc::new(work))
    }

    /// The plan of one benchmark; none of another.
    pub fn of<W: Workplan>(&self) -> Option<&W> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref()
    }
}

impl Deref for Work {
    type Target = dyn Workplan;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl PartialEq for Work {
    fn eq(&self, other: &Self) -> bool {
        self.benchmark().id() == other.benchmark().id()
            && self.own_keys() == other.own_keys()
            && self.own_tables() == other.own_tables()
    }
}

/// A step after the load.
#[derive(Debug, Clone)]
pub enum Step {
    /// Pay MVCC and write-back debt down. Named by its number: `settle-1`.
    Settle(String),
    Measure(StepDef),
}

impl Step {
    pub fn name(&self) -> &str {
        match self {
            Step::Settle(name) => name,
            Step::Measure(step) => &step.name,
        }
    }
}

/// A step that runs a test.
#[derive(Debug, Clone)]
pub struct StepDef {
    /// Unique in the arm: `scan`, `scan.warm`.
    pub name: String,
    /// Place among the arm's steps, from 1. Tests depend on what ran before, so this is kept with the result.
    pub position: u32,
    pub test: String,
    /// Section of the tables it is shown in.
    pub group: String,
    /// Whether its figures are results.
    pub role: Role,
    /// Threads and connections.
    pub clients: u32,
    pub limit: Limit,
    /// It does what base did in the step of the same name, so that both leave the same rows behind; by the limit where
    /// base has no result.
    pub as_base: bool,
    pub warmup: Warmup,
    /// Open loop: events per second that are due, of all clients together. `None`: closed loop.
    pub rate_per_second: Option<f64>,
    /// It also ends when this share of all rows has been removed.
    pub removed_share_max: Option<f64>,
    pub writes: bool,
    /// The rows it removes don't come back.
    pub shrinks: bool,
    /// Operations of one event, in the unit of its rate.
    pub operations_per_event: f64,
}
