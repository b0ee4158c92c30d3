//! Plans on many hosts. A plan is cut into tasks, each a plan of its own that one host runs; the results of all hosts
//! become one comparison.
//!
//! Slurm decides what runs where and when. This crate knows what is not done: [`cut()`] makes tasks, [`Fleet`] is the
//! folder that they and their results are in, [`decide()`] says which tasks have to be submitted again, [`Claim`] lets
//! one process at a time work on a task, [`collect()`] joins results.

mod archive;
mod ask;
mod claim;
pub mod collect;
mod cut;
mod decide;
mod error;
mod files;
mod folder;
mod home;
mod journal;
mod place;
mod reached;
mod script;
mod serve;
mod slurm;
mod spec;

pub use ask::Reached;
pub use claim::{Begun, Claim, Claimed, Heard};
pub use collect::{Collected, Doubts, HostResult, MeasuredArm, Split, collect};
pub use cut::{Piece, cut, pieces_for};
pub use decide::{FAILURES_MAX, History, State, Traces, decide, is_superfluous};
pub use error::{Error, Result};
pub use folder::{Fleet, PIECES, Pass, check_path};
pub use home::Home;
pub use journal::{Event, Journal};
pub use script::script;
pub use serve::serve;
pub use slurm::{Job, Slurm, this_host};
pub use spec::{FORMAT, OverSsh, Place, Spec, Task, replicas_of};
