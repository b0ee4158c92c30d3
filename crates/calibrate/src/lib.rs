//! How often verdicts are wrong on this host, measured.

mod error;
pub mod shim;

pub use error::{Error, Result};
