//! Benchmarks as data: schema, rows, statements, transactions, order of steps.
//!
//! Nothing here opens a socket or knows a server. A benchmark is a module ([`microbenchmarks`], [`insert_benchmark`]);
//! how SQL is spelled for one DBMS is in [`dialect`]; what random draws are is in [`random`] and [`zipf`].

pub mod benchmark;
pub mod dialect;
pub mod expect;
pub mod insert_benchmark;
pub mod microbenchmarks;
pub mod model;
pub mod random;
pub mod rows;
pub mod step;
pub mod zipf;

pub use benchmark::Benchmark;
pub use dialect::Dialect;
pub use model::{Expect, Group, Key, Param, Part, Protocol, QueryMix, Queue, Statement, Table, Test};
pub use step::{Seconds, Step, StepError, StepKind};
