//! Why the engine process cannot do what it was asked.

use std::io;
use std::path::{Path, PathBuf};

/// Missing functions that a message names.
const NAMED_MAX: usize = 3;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "cannot load {path}: {reason}; install the library that it names, or use a build that was compiled for this host"
    )]
    NotLoaded { path: PathBuf, reason: String },
    #[error(
        "{path} lacks functions of RocksDB's C API ({missing}); name a librocksdb.so, or the library of RocksDB's Java \
         package, 5.18 or later"
    )]
    NoCApi { path: PathBuf, missing: String },
    /// RocksDB's own words.
    #[error("{0}")]
    Engine(String),
    #[error("cannot {action}: {source}")]
    Io { action: String, source: io::Error },
    /// The other side ended the conversation.
    #[error("the connection was closed")]
    Closed,
    #[error("cancelled")]
    Cancelled,
    #[error("{0}")]
    Misuse(String),
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Error::Io { action, source }
    }

    pub(crate) fn no_c_api(path: &Path, missing: &[&str]) -> Self {
        let named = missing[..missing.len().min(NAMED_MAX)].join(", ");
        let rest = missing.len().saturating_sub(NAMED_MAX);
        let missing = if rest == 0 { named } else { format!("{named} and {rest} more") };
        Error::NoCApi { path: path.to_path_buf(), missing }
    }
}
