//! Lean protocol clients for the hot path.
//!
//! The client shares the machine with the server it measures, so its own cost distorts the measurement. This
//! crate sends a prepared statement with one system call, and receives the reply with (usually) one more,
//! counts its rows in place and discards it. For Postgres, the rest (login, errors, administrative queries)
//! is left to the `postgres-protocol` crate.
//!
//! It handles connections, statements and results, and does not depend on tests. Each protocol is a module
//! with its own [`Session`]: [`postgres`] and [`mysql`].

mod channel;
mod connect;
mod endpoint;
mod error;
mod inbox;
pub mod mysql;
mod params;
pub mod postgres;
#[cfg(test)]
mod scripted;
mod session;
mod socket;
mod table;

pub use endpoint::{Endpoint, Host};
pub use error::Error;
pub use params::{Encoding, Params};
pub use session::{Outcome, ParamType, Session};
pub use table::Table;
