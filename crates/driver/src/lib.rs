//! The load engine: one thread and one connection per client, closed or open loop, fixed time or fixed work, latency
//! per statement kind, and windows whose ends no statement straddles.
//!
//! It knows tests ([`rqps_workloads`]) and sessions ([`rqps_wire::Session`]), but no DBMS. [`run_step`] is the door;
//! [`sysbench::run`] leads the real sysbench through the same step.

mod clock;
mod control;
mod event;
mod pacer;
mod result;
mod spec;
mod step;
pub mod sysbench;
mod warmup;
mod worker;

pub use result::{KindResult, StepResult};
pub use spec::{EndedBy, Flush, Limit, Observer, Pace, StepSpec, Warmup, Work};
pub use step::{StepError, run_step};
