//! Servers that speak SQL: how each DBMS is administered and measured, and the drivers that run load on them.

mod adapter;
mod adapters;
mod clients;
mod insert;
mod literals;
mod log;
mod microbenchmarks;
mod mysql;
mod own;
mod postgres;
pub mod server;
mod system;
mod tables;
mod tproc_c;
#[cfg(test)]
mod warm_tests;
mod write_back;

/// Systems that speak SQL.
pub mod systems {
    pub use super::system::{MYSQL, POSTGRES};
}

/// Drivers for them.
pub mod drivers {
    pub use super::insert::CLIENTS as INSERT_CLIENTS;
    pub use super::microbenchmarks::{CLIENTS, SYSBENCH};
    pub use super::own::CLIENTS as SQL_CLIENTS;
    pub use super::tproc_c::{CLIENTS as TPROC_C_CLIENTS, HAMMERDB};
}
