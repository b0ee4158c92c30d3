//! Carries a plan out: walks the schedule, starts and stops servers, loads, settles, measures, and journals each
//! finished action before the next one begins.
//!
//! [`begin`] makes a run folder for a plan, [`resume`] takes one up again, [`Execution::run`] does the work;
//! [`reopen`] takes up a run that has ended for [`Execution::profile`]. Servers
//! are started from the calling thread and die with it, so that thread must live as long as the run.

mod adapter;
mod adapters;
mod anew;
mod arm;
mod base;
mod begin;
mod beside;
mod describe;
mod driver;
mod error;
mod eyes;
mod inputs;
mod isolated;
mod literals;
mod log;
mod measure;
mod mysql;
mod observe;
mod outside;
mod passes;
mod place;
mod postgres;
mod profile;
mod queue;
mod run;
mod seat;
pub mod server;
mod tables;
mod trial;
mod watch;
mod work;
mod write_back;

pub use arm::{Ingredients, endpoint};
pub use begin::{Resume, begin, reopen, resolve, resume};
pub use error::{Death, Error, Result};
pub use place::{Orphans, Place, clean, clean_orphans, serve_dir};
pub use profile::{ProfileRequest, ProfiledTests};
pub use run::{Execution, Finish};
pub use watch::Watcher;
