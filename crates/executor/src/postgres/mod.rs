//! What the executor does on a Postgres server beside running tests: load, vacuum, settle.

mod cancel;
pub mod load;
pub(crate) mod log;
pub mod settle;

pub use cancel::end_statements;
