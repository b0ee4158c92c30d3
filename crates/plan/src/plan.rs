//! A checked and resolved plan, with all defaults filled in and all arms and steps listed; and the interface of a
//! benchmark, which reads its own keys, names its steps and describes how they run. The caller supplies the
//! benchmarks; nothing here names one.
//!
//! A plan is pure data. [`Plan::parse`] makes one from a file, [`Plan::to_toml`] writes one that parses back to the
//! same plan, and [`schedule`](crate::schedule::schedule) turns one into actions.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::io::BufRead;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rqps_model::{Dbms, Warmup, counted};
use serde::{Serialize, Serializer};
use toml::Table;

use crate::model::{Arm, Isolated, OnServerDeath, Protocol, TestOptions, VerdictOptions, Workload};
use crate::problem::Problems;
use crate::profile::ProfileOptions;
use crate::reader::Section;
use crate::shared::SETTLE;
use crate::step::{ActionKind, Step, StepDef};

/// A benchmark for plans.
pub trait Benchmark: Sync {
    /// The word in plans and result files.
    fn id(&self) -> &'static str;

    /// Its display name.
    fn title(&self) -> &'static str;

    /// Changes with every statement, parameter or order of steps: runs of different revisions are not comparable.
    fn revision(&self) -> &'static str;

    /// Whether it runs on builds of `dbms`.
    fn runs_on(&self, dbms: Dbms) -> bool {
        dbms.speaks_sql()
    }

    /// Reads its part of a plan: `[workload]`, `[test.NAME]` and its own tables, in which nobody else reports a
    /// mistake or a key without effect. Mistakes go to the problems and are replaced by defaults.
    fn read(&self, plan: &Reading<'_>) -> BenchmarkParts;

    /// Keys of its own top-level tables: `insert`.
    fn plan_tables(&self) -> &'static [&'static str] {
        &[]
    }

    /// Where a misplaced key belongs, if it is one of this benchmark's.
    fn section_of_key(&self, _key: &str) -> Option<&'static str> {
        None
    }
}

/// An open file.
pub type Opened = Box<dyn BufRead>;

/// An open file and its whole path.
pub type OpenedAt = (PathBuf, Opened);

/// A plan while it is read.
pub struct Reading<'p> {
    pub top: &'p Section<'p>,
    /// `[workload]`.
    pub workload: &'p Section<'p>,
    pub problems: &'p Problems<'p>,
    pub protocol: Protocol,
    /// The DBMSs of the arms, each once.
    pub dbms: &'p [Dbms],
    /// The plan's directory.
    pub directory: &'p Path,
    /// Reads a text file by its path, relative to the plan's directory.
    pub read_text: &'p dyn Fn(&str) -> Result<String, String>,
    /// Opens a file of any size by its path, as [`Reading::read_text`] does; also returns its whole path. Of the
    /// address of a database, opens a dump of its tables without rows.
    pub open: &'p dyn Fn(&str) -> Result<OpenedAt, String>,
    /// All top-level keys.
    pub plan_keys: &'p [&'static str],
    pub benchmarks: &'static [&'static dyn Benchmark],
}

/// Where a misplaced key belongs, if some benchmark knows it, or calls it otherwise.
pub fn section_of_key(benchmarks: &[&dyn Benchmark], key: &str) -> Option<String> {
    if key == "tests" {
        return Some("[workload], as `steps`".to_owned());
    }
    benchmarks.iter().find_map(|benchmark| benchmark.section_of_key(key)).map(str::to_owned)
}

/// The result of [`Benchmark::read`].
pub struct BenchmarkParts {
    pub workload: Workload,
    pub tests: BTreeMap<String, TestOptions>,
    pub work: Work,
}

/// A benchmark as configured by one plan.
pub trait Workplan: Any + fmt::Debug + Send + Sync {
    fn benchmark(&self) -> &'static dyn Benchmark;

    /// Its own resolved keys of `[workload]`.
    fn own_keys(&self) -> Table;

    /// Its own resolved top-level tables.
    fn own_tables(&self) -> Table {
        Table::new()
    }

    fn table_names(&self) -> Vec<String> {
        (1..=self.tables()).map(|number| self.table_name(number)).collect()
    }

    /// The number of tables.
    fn tables(&self) -> u32;

    /// The name of table `number`, from 1.
    fn table_name(&self, number: u32) -> String;

    /// The tables and their rows, for `plan show`.
    fn data(&self) -> String {
        let tables = counted(self.tables(), "table");
        format!("{tables} of {}", counted(self.rows_per_table(), "row"))
    }

    /// Rows of each table after the load; where they differ, a mean.
    fn rows_per_table(&self) -> u64;

    /// Bytes that a row takes on disk with its index entries, about.
    fn row_bytes(&self) -> u64;

    /// Rows of all tables together.
    fn rows_total(&self) -> u64 {
        u64::from(self.tables()).saturating_mul(self.rows_per_table())
    }

    /// The step of this name, without its position.
    fn step(&self, name: &str, workload: &Workload, tests: &BTreeMap<String, TestOptions>)
    -> Option<StepDef>;

    /// Reports conflicts with the rest of the plan.
    fn check(&self, _top: &Section<'_>, _problems: &Problems<'_>, _plan: &Plan) {}

    /// Whether its tests can start from the same data each time, in any order, as blocks require.
    fn has_independent_tests(&self) -> bool;

    /// Whether CPU profiles can be taken of its tests after a run: of independent ones on loaded data, of others in a
    /// sequence of all steps.
    fn can_be_profiled(&self, _workload: &Workload) -> bool {
        self.has_independent_tests()
    }

    /// Whether an instrument can count the instructions of its operations.
    fn can_count_instructions(&self) -> bool {
        true
    }

    /// Whether the other arms repeat base's work in writing steps.
    fn repeats_base(&self) -> bool {
        false
    }

    /// Whether an interrupted step can continue from the contents of its tables. Otherwise the arm starts again, since
    /// the changed rows are unknown.
    fn can_continue(&self) -> bool {
        false
    }

    /// Whether a sequence makes a new data directory and loads the tables for each test.
    fn loads_for_each_test(&self) -> bool {
        false
    }

    /// Whether all tables are vacuumed after the load.
    fn vacuums_after_load(&self) -> bool {
        false
    }

    /// Minimum seconds of a settle.
    fn settle_seconds_min(&self, _clients: u32) -> u32 {
        0
    }

    fn sessions_per_client(&self) -> u32 {
        1
    }

    /// What a client is called, singular.
    fn client_noun(&self) -> &'static str {
        "client"
    }

    /// Fewest events of a window of blocks, unless they take too long: fewer say nothing about it.
    fn window_events_min(&self) -> u64 {
        1
    }

    /// What a window of blocks is, for people; `seconds` are those of the plan.
    fn window_of_blocks(&self, seconds: f64) -> String {
        format!("the events that base does in {seconds} s")
    }

    /// The same work with the dump that it loads at another path; `None` if it loads none.
    fn with_dump_at(&self, _path: PathBuf) -> Option<Work> {
        None
    }

    /// Memory limit of a server, page cache included.
    fn server_memory_bytes_max(&self) -> Option<u64> {
        None
    }

    /// Estimated seconds of an action; `None`: the default estimate.
    fn estimate_seconds(&self, _kind: &ActionKind) -> Option<f64> {
        None
    }

    /// A line of `plan show` on how it runs.
    fn summary(&self) -> String;

    /// A cell of `plan show`: the end of a step, or the result of a load; `None`: the default text.
    fn describe(&self, _kind: &ActionKind) -> Option<String> {
        None
    }

    /// The default warm-up of steps.
    fn warmup(&self) -> Warmup {
        Warmup::Time(Duration::ZERO)
    }

    /// Parameters of the method: name and value.
    fn method(&self, plan: &Plan) -> Vec<(&'static str, String)>;
}

/// A plan's benchmark, shared by the plan's copies.
#[derive(Debug, Clone)]
pub struct Work(Arc<dyn Workplan>);

impl Work {
    pub fn new(work: impl Workplan) -> Self {
        Self(Arc::new(work))
    }

    /// Downcasts to the plan of benchmark `W`; `None` for another benchmark.
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

/// A checked and resolved plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// Names the run; a valid folder name.
    pub name: String,
    /// How state is carried from test to test.
    pub protocol: Protocol,
    /// How often the whole sequence is repeated from the load; with two or more, arms advance in lockstep and each
    /// pass is one replicate. Always 1 with [`Protocol::Isolated`].
    #[serde(skip_serializing_if = "is_one")]
    pub passes: u32,
    /// Wall-clock time after which no further block begins; `None`: until every verdict is reached or
    /// `blocks_max` blocks are done.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "serialize_budget")]
    pub budget: Option<Duration>,
    /// The name of the arm that ratios are relative to. It also sets the fixed work of steps with [`StepDef::as_base`].
    pub base: String,
    /// Seed of everything random: rows, keys, strings.
    pub seed: u64,
    pub on_server_death: OnServerDeath,
    /// Whether the host is measured before the run and after it.
    #[serde(skip_serializing_if = "is_true")]
    pub certificate: bool,
    pub workload: Workload,
    /// The benchmark as this plan configures it.
    #[serde(skip)]
    pub work: Work,
    /// How blocks are made, with [`Protocol::Isolated`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolated: Option<Isolated>,
    /// The smallest changes that matter.
    #[serde(skip_serializing_if = "VerdictOptions::is_default")]
    pub verdict: VerdictOptions,
    /// Whether the run ends with CPU profiles, and how these are taken.
    #[serde(skip_serializing_if = "ProfileOptions::is_default")]
    pub profile: ProfileOptions,
    /// Options of single steps by name (`scan`, `scan.warm`).
    #[serde(rename = "test", skip_serializing_if = "BTreeMap::is_empty")]
    pub tests: BTreeMap<String, TestOptions>,
    /// The arms in the plan's order; 1 to [`ARMS_MAX`](crate::limits::ARMS_MAX).
    #[serde(rename = "arm")]
    pub arms: Vec<Arm>,
}

pub(crate) fn is_true(value: &bool) -> bool {
    *value
}

pub(crate) fn is_one(passes: &u32) -> bool {
    *passes == 1
}

fn serialize_budget<S: Serializer>(budget: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    let text = budget.map(|budget| humantime::format_duration(budget).to_string()).unwrap_or_default();
    serializer.serialize_str(&text)
}

impl Plan {
    /// How long each profile takes, of so many seconds unless steps have their own time: `5 s each`.
    pub fn profile_length(&self, seconds: f64) -> String {
        match self.work.has_independent_tests() {
            true => format!("{seconds} s each"),
            false => "each for as long as it lasts".to_owned(),
        }
    }

    /// The plan as a file that parses back to the same plan.
    ///
    /// # Errors
    /// If a number exceeds the range of TOML.
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

    /// The first test; blocks and profiles load for it.
    pub fn first_test(&self) -> String {
        self.workload.steps.iter().find(|step| *step != SETTLE).cloned().unwrap_or_default()
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

    /// The options given under the step's own name.
    pub fn options_of(&self, step: &str) -> TestOptions {
        self.tests.get(step).cloned().unwrap_or_default()
    }
}
