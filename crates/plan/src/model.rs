//! The parts of a plan.
//!
//! Enums are declared with `words!`, which also defines their keys in plans and result files.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::limits;
use rqps_model::{BuildSpec, Warmup, words};

/// A variant's place in an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Arm {
    /// Unique in the plan; safe as a folder's name.
    pub name: String,
    /// The database program. A directory is absolute.
    pub build: BuildSpec,
    /// A shipped config's name, or the absolute path of a file.
    pub config: String,
    /// Whether it is the control: base measured again to count false alarms.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub control: bool,
    /// Whether blocks start it from its own loads even if it could read another arm's. The control always does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub own_load: bool,
    /// Environment of its server program, such as `LD_PRELOAD`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Statements run only on this arm, after its load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after_load: Vec<String>,
}

impl Arm {
    /// An arm named after its variant: `postgres-18.1.x10b_c8r32`.
    pub fn new(build: BuildSpec, config: impl Into<String>) -> Self {
        let config = config.into();
        let file_name = config.rsplit('/').next().unwrap_or(&config);
        let short = limits::folder_name_from(file_name.strip_suffix(".conf").unwrap_or(file_name));
        let name = limits::folder_name_from(&format!("{}.{short}", build.label()));
        let (env, after_load) = (BTreeMap::new(), Vec::new());
        Arm { name, build, config, control: false, own_load: false, env, after_load }
    }
}

/// The workload of every arm, whatever the benchmark.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Workload {
    /// Clients of a step, one thread and connection each.
    pub clients: u32,
    /// The program that sends the load.
    #[serde(skip_serializing_if = "Driver::is_default")]
    pub driver: Driver,
    /// How clients reach the server.
    pub transport: Transport,
    /// A settle step ends after this many seconds even if the server is not at rest.
    pub settle_seconds_max: u32,
    /// Names of the steps after the load, in order; `settle` may come several times, all others once.
    pub steps: Vec<String>,
}

/// What one step does differently from the rest of the workload.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TestOptions {
    /// Seconds of its window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u32>,
    /// Fixed work instead of time: events of all clients together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<u64>,
    /// Open loop: due events per second, all clients together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    #[serde(rename = "warmup_seconds", skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Warmup>,
    /// The smallest change of its rate that matters, percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_mei_percent: Option<f64>,
}

/// How the blocks of [`Protocol::Isolated`] are made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Isolated {
    /// Whether base is measured twice.
    pub control: bool,
    /// Windows of each test on each arm in a block; even, since their order is mirrored.
    pub windows: u32,
    /// Seconds that a window takes on base; every arm then does the events that base did in that time.
    pub window_seconds: f64,
    /// Maximum number of blocks.
    pub blocks_max: u32,
    /// The number of blocks that the budget is expected to reach when the run begins: looks up to it have most of the
    /// error, like those up to `blocks_max`. The run does not end with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks_expected: Option<u32>,
    /// Every test gets this many blocks, even if its verdicts are reached earlier.
    #[serde(skip_serializing_if = "is_zero")]
    pub blocks_min: u32,
    /// Whether instructions are counted under valgrind where the host has no hardware counters.
    pub count_instructions: bool,
    /// The budget that would do to count them, where only the plan's own is too short for it.
    #[serde(skip)]
    pub counting_budget_s: Option<f64>,
    /// Copies of each build from source that blocks rotate through. They differ in where functions lie.
    #[serde(skip_serializing_if = "crate::plan::is_one")]
    pub copies: u32,
}

impl Default for Isolated {
    fn default() -> Self {
        Self {
            control: true,
            windows: 2,
            window_seconds: 2.5,
            blocks_max: 18,
            blocks_expected: None,
            blocks_min: 0,
            count_instructions: true,
            counting_budget_s: None,
            copies: 1,
        }
    }
}

/// What is judged, and from which change on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerdictOptions {
    /// Whether rates and stalls are judged.
    #[serde(skip_serializing_if = "crate::plan::is_true")]
    pub rates: bool,
    /// The smallest changes that matter (minimum effects of interest), percent, by metric: `rate`, `cpu_us`,
    /// `instructions`, `wal_bytes`, `rows`, `blocks`, `fsyncs`, `stalls`. Metrics not listed have the defaults of the
    /// statistics.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mei_percent: BTreeMap<String, f64>,
}

impl Default for VerdictOptions {
    fn default() -> Self {
        Self { rates: true, mei_percent: BTreeMap::new() }
    }
}

impl VerdictOptions {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

fn is_zero(blocks: &u32) -> bool {
    *blocks == 0
}

words! {
    /// How state is carried from test to test.
    Protocol {
        /// Every test starts from the data that the tests before it left.
        Sequence = "sequence",
        /// Every block starts each arm from the same data, and windows are mirrored within it.
        Isolated = "isolated",
    }
}

words! {
    /// What to do with the rest of the run when a server dies in a step.
    OnServerDeath {
        /// Give this arm up and continue with the next.
        NextArm = "next-arm",
        Stop = "stop",
    }
}

words! {
    /// How clients reach the server.
    Transport {
        Unix = "unix",
        Tcp = "tcp",
    }
}

impl Transport {
    /// The display text.
    pub fn text(self) -> &'static str {
        match self {
            Transport::Unix => "Unix socket",
            Transport::Tcp => "TCP over loopback",
        }
    }
}

words! {
    /// The program whose clients send the load.
    #[derive(Default)]
    Driver {
        #[default]
        Rqps = "rqps",
        /// The installed sysbench.
        Sysbench = "sysbench",
        /// The installed HammerDB.
        HammerDb = "hammerdb",
        /// The db_bench of each build.
        DbBench = "db_bench",
    }
}

impl Driver {
    pub(crate) fn is_default(&self) -> bool {
        *self == Driver::default()
    }
}
