//! RocksDB as a system under test, and the drivers of db_bench's steps: client threads in the engine process, and the
//! build's own db_bench.
//!
//! [`system`] starts engine processes and speaks with them by [`connection`]; [`driver`] runs steps: [`window`] leads
//! one through its phases, [`metrics`] computes its figures; [`taken`] compares an engine's options with its config's.

mod admin;
mod connection;
mod direct;
mod driver;
mod metrics;
mod settle;
mod system;
mod taken;
mod window;

pub use driver::{CLIENTS, DB_BENCH};
pub use system::ROCKSDB;
