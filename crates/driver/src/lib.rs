//! The load engine: one thread and one connection per client, closed or open loop, fixed time or fixed work,
//! latency per statement kind. No statement is in flight when a window opens or closes.
//!
//! It depends on tests ([`rqps_workloads`]) and sessions ([`rqps_wire::Session`]), but on no DBMS. Entry
//! points: [`run_step`]; [`run_in_turns`] for several arms that take turns of some milliseconds;
//! [`sysbench::run`], which runs the same step with the real sysbench;
//! [`hammerdb::run`], which runs TPROC-C with the real HammerDB; [`queue::run_queue`] for the steps of
//! the Insert Benchmark.

mod child;
mod client_threads;
mod clock;
mod control;
mod error;
mod event;
pub mod hammerdb;
mod lead;
mod pacer;
mod private_dir;
pub mod queue;
mod repeated;
mod result;
mod spec;
mod step;
pub mod sysbench;
pub mod tproc_c;
mod turns;
mod users;
mod warmup;
mod worker;

pub use error::StepError;
pub use event::latency_histogram;
pub use private_dir::PrivateDir;
pub use result::{KindResult, Marks, StepResult};
pub use spec::{CpuClock, Flush, Observer, Pace, StepSpec, Turn};
pub use step::{Clients, run_step};
pub use turns::{Member, run_in_turns};
