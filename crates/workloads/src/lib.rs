//! Benchmarks as data: schema, rows, statements, transactions, order of steps.
//!
//! Nothing here connects to a server. Each benchmark is a module ([`microbenchmarks`], [`insert_benchmark`], [`sql`],
//! [`tproc_c`], [`db_bench`]); SQL differences between DBMSs are in [`dialect`], random draws in
//! [`rqps_model::random`] and [`zipf`].

pub mod db_bench;
pub mod dialect;
pub mod expect;
pub mod expression;
pub mod insert_benchmark;
pub mod microbenchmarks;
pub mod model;

pub mod rows;
pub mod sql;
pub mod sync_latency;
pub mod tproc_c;
pub mod zipf;

pub use dialect::Dialect;
pub use model::{Expect, Key, Param, Part, Protocol, QueryMix, Queue, Script, Statement, Table, Test};

/// All benchmarks, in the order in which messages list them. The first is the default of plans.
pub static BENCHMARKS: &[&dyn rqps_plan::Benchmark] = &[
    &microbenchmarks::Microbenchmarks,
    &insert_benchmark::InsertBenchmark,
    &sql::Sql,
    &tproc_c::TprocC,
    &db_bench::DbBench,
    &sync_latency::SyncLatency,
];
