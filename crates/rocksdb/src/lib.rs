//! RocksDB as a system under test, and the driver of db_bench's steps in the engine process.
//!
//! [`system`] starts engine processes and speaks with them by [`connection`]; [`driver`] runs steps: [`window`] leads
//! one through its phases, [`metrics`] computes its figures.

mod admin;
mod connection;
mod direct;
mod driver;
mod metrics;
mod settle;
mod system;
mod window;

pub use driver::CLIENTS;
pub use system::ROCKSDB;
