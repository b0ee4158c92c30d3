//! Plan files: parsing, checking, and the schedule they become.
//!
//! [`Plan::parse`] reads a plan file and finds every mistake in it at once. [`schedule::schedule`] turns a plan into a
//! list of actions, the executor's only input. Everything here is pure: no files are opened, nothing is executed.

mod arms;
mod driver;
mod errors;
pub mod estimate;
pub mod isolated;
pub mod limits;
pub mod model;
mod parse;
mod plan;
mod problem;
mod profile;
mod protocol;
pub mod reader;
pub mod schedule;
pub mod shared;
pub mod shipped;
mod show;
mod step;

pub use errors::{PlanErrors, PlannedBuild};
pub use model::{
    Arm, Driver, Isolated, OnServerDeath, Protocol, TestOptions, Transport, VerdictOptions, Workload,
};
pub use parse::{CheckedPlan, PlanContext};
pub use plan::{Benchmark, BenchmarkParts, Opened, Plan, Reading, Work, Workplan, section_of_key};
pub use problem::{Problem, Problems};
pub use profile::{ProfileAfter, ProfileOptions};
pub use protocol::parse_budget;
pub use schedule::{Schedule, schedule};
pub use shared::SETTLE;
pub use show::render_schedule;
pub use step::{Action, ActionKind, LoadDef, Settle, Step, StepDef};
