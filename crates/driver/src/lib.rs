//! The load engine: one thread and one connection per client, closed or open loop, fixed time or fixed work, latency
//! per statement kind, and windows whose ends no statement straddles.
//!
//! It knows tests ([`rqps_workloads`]) and sessions ([`rqps_wire::Session`]), but no DBMS. [`run_step`] is the door;
//! [`run_in_turns`] that of several arms whose turns follow each other by milliseconds;
//! [`sysbench::run`] leads the real sysbench through the same step; [`queue::run_queue`] runs the steps of the Insert
//! Benchmark.

mod client_threads;
mod clock;
mod control;
mod error;
mod event;
mod lead;
mod pacer;
pub mod queue;
mod result;
mod spec;
mod step;
pub mod sysbench;
mod turns;
mod warmup;
mod worker;

pub use error::StepError;
pub use result::{KindResult, StepResult};
pub use spec::{CpuClock, Flush, Observer, Pace, SliceSpec, StepSpec};
pub use step::{Clients, run_step};
pub use turns::{Member, run_in_turns};
