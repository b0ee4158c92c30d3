//! Runs a plan: walks the schedule, starts and stops servers, loads, settles, measures, and journals each
//! finished action before the next one begins.
//!
//! [`begin`] creates a run folder for a plan, [`resume`] reopens an unfinished one, [`Execution::run`] does
//! the work. [`reopen`] opens a run for [`Execution::profile`], finished or not. Servers are started from the
//! calling thread and die with it, so that thread must live as long as the run.

mod anew;
mod arm;
mod base;
mod begin;
mod certificate;
mod control;
mod debt;
mod describe;
mod driver;
mod error;
mod inputs;
mod isolated;
mod kinds;
mod kit;
mod measure;
mod needs;
mod observe;
mod own_configs;
mod passes;
mod place;
mod profile;
mod progress;
mod rehearsal;
mod run;
mod setup;
mod spec;
mod sql;
mod step;
mod step_observer;
mod system;
mod trial;
mod work;

pub use arm::{ActiveArm, Ingredients};
pub use begin::{Resume, begin, foresee, limits_of, reopen, resolve, resume};
pub use control::RunControl;
pub use driver::{Driver, Finished, Job, Loaded, WatchOptions, Window};
pub use error::{Death, Error, Result};
pub use isolated::{Ending, verdicts_within_s};
pub use kit::{Host, Kit, ThisHost};
pub use needs::Needs;
pub use observe::StepFindings;
pub use own_configs::{
    Examined, Without, adjusted_in_own_configs, check_own_configs, examine_own_configs,
    lacking_in_own_configs, place_of, refused_in_own_configs,
};
pub use place::{Orphans, Place, clean, clean_measured, clean_orphans, serve_dir};
pub use profile::{ProfileRequest, ProfiledTests};
pub use progress::{Progress, TimeLeft};
pub use rehearsal::rehearse;
pub use run::{Execution, Finish};
pub use sql::{drivers, server, systems};
pub use system::{
    Address, Admin, Debt, Example, Handle, Instance, Look, PageImages, Reservation, ServerResult,
    SessionResult, SettleTick, System,
};
