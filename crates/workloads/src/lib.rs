//! Benchmarks as data: schema, rows, statements, transactions, order of steps.
//!
//! Nothing here opens a socket or knows a server. A benchmark is a file ([`microbenchmarks`]); how its SQL is
//! spelled for one DBMS is in [`dialect`]; what its random draws are is in [`random`] and [`zipf`].

pub mod dialect;
pub mod expect;
pub mod microbenchmarks;
pub mod model;
pub mod random;
pub mod rows;
pub mod step;
pub mod zipf;

pub use dialect::Dialect;
pub use model::{Expect, Group, Key, Param, Part, Protocol, RateUnit, Statement, Table, Test};
pub use step::{Role, Seconds, Step, StepError, StepKind};
