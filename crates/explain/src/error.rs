//! What can go wrong while evidence is gathered: the run folder, or what was asked for.

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why there is no explanation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The run's details cannot be read.
    #[error(transparent)]
    Store(#[from] rqps_store::Error),
    /// A test was asked for that the run does not have.
    #[error("no test '{test}' in run {run}; it has: {known}")]
    NoSuchTest {
        /// What was asked for.
        test: String,
        /// The run's name.
        run: String,
        /// What there is.
        known: String,
    },
    /// An arm was asked for that the run does not have.
    #[error("run {run} has no arm number {arm}: it has {arms}, counted from 0")]
    NoSuchArm {
        /// What was asked for.
        arm: usize,
        /// The run's name.
        run: String,
        /// How many there are.
        arms: usize,
    },
}
