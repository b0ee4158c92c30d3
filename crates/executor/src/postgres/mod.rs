//! What the executor does on a Postgres server beside running tests: load, vacuum, settle.

pub mod load;
pub mod settle;
