//! The load engine of the Insert Benchmark on real servers: content of the tables, figures, rates, and
//! failures, which must leave no session behind.

#![allow(clippy::unwrap_used, reason = "a failed unwrap in a helper fails the test")]

mod failures;
mod lab;
mod rates;
mod steps;
