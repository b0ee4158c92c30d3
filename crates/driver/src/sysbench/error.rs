//! Errors of sysbench and of starting it.

use super::process::CRASHED;
use std::path::PathBuf;

/// Texts in error messages if the server is gone or shutting down: libpq's, and MySQL's error numbers.
const LOST_SERVER_WORDS: [&str; 7] = [
    "server closed the connection",
    "terminating connection",
    "the database system is",
    "could not connect to server",
    "connection to server",
    "errno = 2006",
    "errno = 2013",
];

/// Why sysbench gave no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "can't start sysbench: {0}; install it (on Debian the package `sysbench`), or set `driver = \"rqps\"`"
    )]
    Start(std::io::Error),
    #[error("sysbench says it is `{0}`, and 1.0.20 or a later one is needed")]
    Version(String),
    /// The plan needs something that sysbench does not support.
    #[error("sysbench {what}; {remedy}")]
    CannotDo { what: &'static str, remedy: &'static str },
    #[error("can't write sysbench's scripts to {path}: {source}; set TMPDIR to a directory with room")]
    Scripts { path: PathBuf, source: std::io::Error },
    #[error("sysbench, {doing}: {words}")]
    Failed { doing: &'static str, words: String },
    #[error("sysbench's output has {0}; please report this with the output of `sysbench --version`")]
    Output(String),
}

impl Error {
    /// sysbench's own error messages, if it failed with some.
    pub fn words(&self) -> Option<&str> {
        match self {
            Error::Failed { words, .. } => Some(words),
            _ => None,
        }
    }

    /// Whether the server was gone or shutting down.
    pub fn lost_server(&self) -> bool {
        self.words().is_some_and(|words| {
            words.contains(CRASHED) || LOST_SERVER_WORDS.iter().any(|sign| words.contains(sign))
        })
    }
}
