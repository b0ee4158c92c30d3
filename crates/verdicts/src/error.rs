//! Errors of judging a run folder. Each message names the place and the remedy.

use std::path::PathBuf;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The run folder could not be read.
    #[error(transparent)]
    Store(#[from] rqps_store::Error),
    /// The run's plan could not be read.
    #[error("{}: {why}. A run keeps the plan it was made from: put the file back as it was", path.display())]
    Plan { path: PathBuf, why: String },
    #[error(
        "{run}, action {seq}: the latencies cannot be read: {why}. Fetch the run folder again from where it was made"
    )]
    Latency { run: String, seq: u32, why: String },
    #[error("{run} cannot be judged: {source}")]
    InvalidData { run: String, source: rqps_stats::InvalidData },
}
