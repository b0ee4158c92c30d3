//! A plan, checked and resolved: every default filled in, every arm and step written out; and what a benchmark is to
//! it: it reads its own keys, names its steps, and says how they are run. Which benchmarks there are is the caller's to
//! say; nothing here names one.
//!
//! A plan is pure data. [`Plan::parse`] makes one from a file, [`Plan::to_toml`] writes one that parses back to the
//! same plan, and [`schedule`](crate::schedule::schedule) turns one into actions.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use rqps_model::Warmup;
use serde::{Serialize, Serializer};
use toml::Table;

use crate::model::{Arm, Isolated, OnServerDeath, Protocol, TestOptions, VerdictOptions, Workload};
use crate::problem::Problems;
use crate::profile::ProfileOptions;
use crate::reader::Section;
use crate::shared::SETTLE;
use crate::step::{ActionKind, Step, StepDef};

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
    fn plan_tables(&self) -> &'static [&'static str] {
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

/// Where a key belongs that some benchmark knows.
pub fn home_of(benchmarks: &[&dyn Benchmark], key: &str) -> Option<String> {
    benchmarks.iter().find_map(|benchmark| benchmark.home_of(key)).map(str::to_owned)
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

    /// The names of all tables that it makes.
    fn table_names(&self) -> Vec<String> {
        (1..=self.tables()).map(|number| self.table_name(number)).collect()
    }

    /// How many tables it makes.
    fn tables(&self) -> u32;

    /// The name of a table, counted from 1.
    fn table_name(&self, number: u32) -> String;

    /// Rows of each table when everything is loaded.
    fn rows_per_table(&self) -> u64;

    /// Rows of all tables together.
    fn rows_total(&self) -> u64 {
        u64::from(self.tables()).saturating_mul(self.rows_per_table())
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
    fn estimate_seconds(&self, _kind: &ActionKind) -> Option<f64> {
        None
    }

    /// How it is run, in a line of `plan show`.
    fn summary(&self) -> String;

    /// What a step does until it ends, or what a load makes, in a cell of `plan show`; none: as for any benchmark.
    fn describe(&self, _kind: &ActionKind) -> Option<String> {
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

/// What to measure, on which arms, how.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// Names the run; safe as a folder's name.
    pub name: String,
    /// How state is carried from test to test.
    pub protocol: Protocol,
    /// How often the whole sequence is repeated from the load on; with two or more, arms advance in lockstep and each
    /// pass is one replicate. Always 1 with [`Protocol::Isolated`].
    #[serde(skip_serializing_if = "is_one")]
    pub passes: u32,
    /// Wall-clock time after which no further block begins; `None`: until every verdict is reached.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "serialize_budget")]
    pub budget: Option<Duration>,
    /// The name of the arm that ratios are relative to. It also sets the fixed work of steps with [`StepDef::as_base`].
    pub base: String,
    /// Seed of everything random: rows, keys, strings.
    pub seed: u64,
    /// What to do when a server dies in a step.
    pub on_server_death: OnServerDeath,
    pub workload: Workload,
    /// The benchmark, as this plan wants it.
    #[serde(skip)]
    pub work: Work,
    /// How blocks are made, with [`Protocol::Isolated`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolated: Option<Isolated>,
    /// What verdicts are held against.
    #[serde(skip_serializing_if = "VerdictOptions::is_default")]
    pub verdict: VerdictOptions,
    /// Whether the run ends with CPU profiles, and how these are taken.
    #[serde(skip_serializing_if = "ProfileOptions::is_default")]
    pub profile: ProfileOptions,
    /// What single steps do differently, by a step's name (`scan`, `scan.warm`).
    #[serde(rename = "test", skip_serializing_if = "BTreeMap::is_empty")]
    pub tests: BTreeMap<String, TestOptions>,
    /// What is compared, in the plan's order; 1 to [`ARMS_MAX`](crate::limits::ARMS_MAX).
    #[serde(rename = "arm")]
    pub arms: Vec<Arm>,
}

fn is_one(passes: &u32) -> bool {
    *passes == 1
}

fn serialize_budget<S: Serializer>(budget: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    let text = budget.map(|budget| humantime::format_duration(budget).to_string()).unwrap_or_default();
    serializer.serialize_str(&text)
}

impl Plan {
    /// The plan as a file that parses back to the same plan.
    ///
    /// # Errors
    /// When a number is beyond what TOML can hold.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        let mut plan = Table::new();
        for (key, value) in Table::try_from(self)? {
            if key != "workload" {
                plan.insert(key, value);
                continue;
            }
            let mut workload = Table::new();
            workload.insert("benchmark".to_owned(), self.work.benchmark().id().into());
            workload.extend(self.work.own_keys());
            workload.extend(Table::try_from(&self.workload)?);
            plan.insert(key, workload.into());
            plan.extend(self.work.own_tables());
        }
        toml::to_string_pretty(&plan)
    }

    /// The index of the base arm in [`Plan::arms`].
    pub fn base_index(&self) -> usize {
        self.arms.iter().position(|arm| arm.name == self.base).unwrap_or(0)
    }

    /// How its blocks are made; the defaults for a sequence.
    pub fn blocks(&self) -> Isolated {
        self.isolated.clone().unwrap_or_default()
    }

    /// Clients of a test in a block.
    pub fn clients_of(&self, test: &str) -> u32 {
        self.options_of(test).clients.unwrap_or(self.workload.clients)
    }

    /// Seconds that a window of a test in a block lasts on base.
    pub fn window_seconds_of(&self, test: &str) -> f64 {
        self.options_of(test).seconds.map_or_else(|| self.blocks().window_seconds, f64::from)
    }

    /// The steps after the load, with settle steps numbered (`settle-1`, `settle-2`) so that every name is unique.
    pub fn steps(&self) -> Vec<Step> {
        let mut settles = 0;
        let known = self.workload.steps.iter().filter_map(|name| {
            if name == SETTLE {
                settles += 1;
                return Some(Step::Settle(format!("settle-{settles}")));
            }
            self.work.step(name, &self.workload, &self.tests).map(Step::Measure)
        });
        let placed = known.enumerate().map(|(at, step)| match step {
            Step::Measure(step) => Step::Measure(StepDef { position: at as u32 + 1, ..step }),
            settle => settle,
        });
        placed.collect()
    }

    /// The measured step of this name.
    pub fn step(&self, name: &str) -> Option<StepDef> {
        let position = self.workload.steps.iter().position(|step| step == name).unwrap_or(0) as u32 + 1;
        let step = self.work.step(name, &self.workload, &self.tests)?;
        Some(StepDef { position, ..step })
    }

    /// What is said of a step under its own name.
    pub fn options_of(&self, step: &str) -> TestOptions {
        self.tests.get(step).cloned().unwrap_or_default()
    }
}
