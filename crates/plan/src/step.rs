//! Steps of a plan, and the actions they become.

use rqps_model::{Group, Limit, Role, Warmup};

/// A step after the load.
#[derive(Debug, Clone)]
pub enum Step {
    /// Pays MVCC and write-back debt down. Named `settle-1`, `settle-2`, …
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
    /// Position among the arm's steps, from 1; stored with the result, since tests depend on what ran before.
    pub position: u32,
    pub test: String,
    /// Section of the tables it is shown in.
    pub group: &'static Group,
    /// Whether its figures are results.
    pub role: Role,
    /// Threads and connections.
    pub clients: u32,
    pub limit: Limit,
    /// Repeats base's work in the step of the same name, so that both leave the same rows; ends by its limit if base
    /// has no result.
    pub as_base: bool,
    pub warmup: Warmup,
    /// Open loop: due events per second, all clients together. `None`: closed loop.
    pub rate_per_second: Option<f64>,
    /// Also ends when this share of all rows has been removed.
    pub removed_share_max: Option<f64>,
    pub writes: bool,
    /// Whether what it leaves behind depends on its time, not on its clients' operations: a background writer writes at
    /// a rate.
    pub writes_by_time: bool,
    /// Whether it reduces the number of rows.
    pub shrinks: bool,
    /// Operations of one event, in the unit of its rate.
    pub operations_per_event: f64,
}

/// One thing to do on one arm.
#[derive(Debug, Clone)]
pub struct Action {
    /// Place in the schedule, from 0.
    pub seq: u32,
    /// Index in [`Plan::arms`].
    pub arm: usize,
    /// The pass over all steps, from 1.
    pub pass: u32,
    pub kind: ActionKind,
}

#[derive(Debug, Clone)]
pub enum ActionKind {
    /// Create the arm's data directory if it is missing, and start its server.
    Start,
    /// Create the tables, fill them, build their indexes.
    Load(LoadDef),
    Vacuum,
    /// Wait until the server is at rest.
    Settle(Settle),
    Measure(StepDef),
    Stop,
}

impl ActionKind {
    /// A short name, unique within an arm: `start`, `load`, `settle-1`, `scan.warm`, `stop`.
    pub fn name(&self) -> &str {
        match self {
            ActionKind::Start => "start",
            ActionKind::Load(load) => &load.name,
            ActionKind::Vacuum => "vacuum",
            ActionKind::Settle(settle) => &settle.step,
            ActionKind::Measure(step) => &step.name,
            ActionKind::Stop => "stop",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadDef {
    /// Unique in the arm: `load`, or with several loads `load-TEST`.
    pub name: String,
    /// The first test that finds these tables.
    pub test: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settle {
    /// Unique in the arm: `settle-1`.
    pub step: String,
    /// Place among the arm's steps, from 1.
    pub position: u32,
    /// Minimum seconds.
    pub seconds_min: u32,
    /// Maximum seconds.
    pub seconds_max: u32,
}
