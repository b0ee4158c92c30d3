//! Benchmarks as data: schema, rows, statements, transactions, order of steps.
//!
//! Nothing here opens a socket or knows a server. A benchmark is a module ([`microbenchmarks`], [`insert_benchmark`]);
//! how SQL is spelled for one DBMS is in [`dialect`]; what random draws are is in [`random`] and [`zipf`].

pub mod dialect;
pub mod expect;
pub mod insert_benchmark;
pub mod microbenchmarks;
pub mod model;

pub mod rows;
pub mod zipf;

pub use dialect::Dialect;
pub use model::{Expect, Key, Param, Part, Protocol, QueryMix, Queue, Statement, Table, Test};

/// The benchmarks that there are, in the order in which messages list them; the first is that of plans which name none.
pub static BENCHMARKS: [&dyn rqps_plan::Benchmark; 2] =
    [&microbenchmarks::Microbenchmarks, &insert_benchmark::InsertBenchmark];
