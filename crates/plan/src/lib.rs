//! Plan files: parsing, checking, and the schedule they become.
//!
//! [`Plan::parse`] reads a plan file and finds every mistake in it at once. [`schedule::schedule`] turns a plan into a
//! list of actions, which is all that the executor sees. Everything here is pure: no file is opened, nothing is run.

mod arms;
mod driver;
pub mod estimate;
mod insert;
mod insert_steps;
pub mod isolated;
pub mod limits;
mod memory;
pub mod model;
mod parse;
mod problem;
mod profile;
mod protocol;
mod reader;
pub mod schedule;
pub mod shipped;
mod show;
mod steps;
mod written;

pub use driver::Driver;
pub use insert::{EndsBy, InsertOptions};
pub use memory::Memory;
pub use model::{
    Arm, Benchmark, Isolated, OnServerDeath, Plan, Protocol, TestOptions, Transport, VerdictOptions,
    Workload, WriteWork,
};
pub use parse::{CheckedPlan, PlanContext};
pub use problem::{PlanErrors, Problem};
pub use profile::{ProfileAfter, ProfileOptions};
pub use protocol::parse_budget;
pub use schedule::{Action, ActionKind, Measure, Schedule, Settle, schedule};
pub use show::render_schedule;
