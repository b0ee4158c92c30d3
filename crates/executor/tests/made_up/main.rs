//! The executor on a made-up benchmark, system, driver and host. Tests what happens to a run if its process
//! is killed, an instance dies, a disk is full or the user stops it, at any moment, and again while it is
//! resumed.
#![allow(clippy::unwrap_used)] // helpers of tests are not `#[test]` functions

mod benchmark;
mod driver;
mod host;
mod run;
mod scenarios;
mod simulation;
mod system;
mod world;

use rqps_executor::Kit;

static KIT: Kit = Kit {
    systems: &[&system::Ledgers],
    benchmarks: &[&benchmark::Ledger],
    drivers: &[&driver::Clerks],
    host: &host::Desk,
};
