//! What can go wrong between a run folder and its verdicts. Each message names the place and the remedy.

use std::path::PathBuf;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The run folder could not be read.
    #[error(transparent)]
    Store(#[from] rqps_store::Error),
    /// The run's own plan cannot be read.
    #[error("{}: {why}. A run keeps the plan it was made from: put the file back as it was", path.display())]
    Plan {
        /// The plan in the run folder.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Latencies cannot be read.
    #[error(
        "{run}, action {seq}: the latencies cannot be read: {why}. Fetch the run folder again from where it was made"
    )]
    Latency {
        /// The run.
        run: String,
        /// The action's number.
        seq: u32,
        /// What is wrong with them.
        why: String,
    },
    /// The figures contradict themselves.
    #[error("{run} cannot be judged: {source}")]
    Misshapen {
        /// The run.
        run: String,
        /// What the statistics refuse.
        source: rqps_stats::Misshapen,
    },
}
