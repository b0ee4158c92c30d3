//! Lean protocol clients for the hot path.
//!
//! The client shares the machine with the server it measures, so what it spends is taken from the
//! measurement. This crate sends a prepared statement with one system call, counts the reply in
//! place with (usually) one more, and keeps nothing of it. What is not hot (login, errors, small
//! administrative queries) is left to the `postgres-protocol` crate where there is one.
//!
//! It knows connections, statements and results; it knows nothing about tests. Each protocol is a
//! module with its own [`Session`]: [`postgres`] and [`mysql`].

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
