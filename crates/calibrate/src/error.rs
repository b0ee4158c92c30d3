//! Errors of a calibration, each with its place and remedy.

use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file operation failed.
    #[error("cannot {action} {path}: {source}", path = path.display())]
    File { action: &'static str, path: PathBuf, source: std::io::Error },
    /// A file of a calibration cannot be parsed.
    #[error("{path} is not a valid calibration file: {source}", path = path.display())]
    Format { path: PathBuf, source: serde_json::Error },
    /// The doses differ from those that were sealed before the verdicts.
    #[error(
        "the doses in {path} are not the ones that were sealed: their SHA-256 is {found}, the run recorded \
         {committed}; this run proves nothing, measure again",
        path = path.display()
    )]
    SealBroken { path: PathBuf, found: String, committed: String },
    /// The verdicts differ from those that were written before the seal was opened.
    #[error(
        "the verdicts in {path} changed after they were frozen: their SHA-256 is {found}, the run recorded \
         {committed}; delete the folder `calibration` only if you accept losing the proof that verdicts came first",
        path = path.display()
    )]
    VerdictsChanged { path: PathBuf, found: String, committed: String },
    /// The run is not a calibration.
    #[error("{path} is not a calibration run: {reason}; `rqps calibrate` makes one", path = path.display())]
    NoCalibration { path: PathBuf, reason: String },
    /// There are too few blocks or arms.
    #[error("{what}; a new campaign needs a larger --budget or fewer --tests")]
    TooLittle { what: String },
    /// An option is invalid.
    #[error("{0}")]
    Design(String),
    /// The run folder cannot be read or written.
    #[error(transparent)]
    Store(#[from] rqps_store::Error),
    /// The run cannot be judged.
    #[error(transparent)]
    Verdicts(#[from] rqps_verdicts::Error),
    #[error(transparent)]
    InvalidData(#[from] rqps_stats::InvalidData),
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Whether the user can fix it.
    pub fn is_usage(&self) -> bool {
        match self {
            Error::NoCalibration { .. } | Error::Design(_) => true,
            Error::Store(error) => error.is_usage(),
            _ => false,
        }
    }

    /// For `map_err` on file operations.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::File { action, path, source }
    }
}
