//! What can go wrong while evidence is gathered: the run folder, or what was asked for.

pub type Result<T> = std::result::Result<T, Error>;

/// Why there is no explanation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The run's details cannot be read.
    #[error(transparent)]
    Store(#[from] rqps_store::Error),
    /// A test was asked for that the run does not have.
    #[error("no test '{test}' in run {run}; it has: {known}")]
    NoSuchTest { test: String, run: String, known: String },
    /// An arm was asked for that the run does not have.
    #[error("run {run} has no arm {arm}; it has {arms}, numbered from 0")]
    NoSuchArm { arm: usize, run: String, arms: usize },
}
