//! The engine of the Insert Benchmark on real servers: tables end up as planned, figures add up, rates are kept or
//! missed, and whatever goes wrong leaves no session behind.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

mod failures;
mod lab;
mod rates;
mod steps;
