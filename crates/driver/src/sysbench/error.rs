//! Why sysbench gave no result.

use super::process::CRASHED;
use std::path::PathBuf;

/// Words by which sysbench's drivers tell that the server is gone or going: libpq's, and MySQL's error numbers.
const LOST_SERVER_WORDS: [&str; 7] = [
    "server closed the connection",
    "terminating connection",
    "the database system is",
    "could not connect to server",
    "connection to server",
    "errno = 2006",
    "errno = 2013",
];

/// What went wrong between this program and sysbench.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not installed, or can't be started.
    #[error(
        "can't start sysbench: {0}; install it (on Debian the package `sysbench`), or set `driver = \"rqps\"`"
    )]
    Start(std::io::Error),
    /// An older one than this program can lead.
    #[error("sysbench says it is `{0}`, and 1.0.20 or a later one is needed")]
    Version(String),
    /// The plan wants what it can't do.
    #[error("sysbench {what}; {remedy}")]
    CannotDo { what: &'static str, remedy: &'static str },
    /// Its scripts could not be written.
    #[error("can't write sysbench's scripts to {path}: {source}; set TMPDIR to a directory with room")]
    Scripts { path: PathBuf, source: std::io::Error },
    #[error("sysbench, {doing}: {words}")]
    Failed { doing: &'static str, words: String },
    /// It said what this program doesn't understand.
    #[error("sysbench's output has {0}; please report this with the output of `sysbench --version`")]
    Output(String),
}

impl Error {
    /// What sysbench said, where that is why it failed.
    pub fn words(&self) -> Option<&str> {
        match self {
            Error::Failed { words, .. } => Some(words),
            _ => None,
        }
    }

    /// Whether its sessions found the server gone or going.
    pub fn lost_server(&self) -> bool {
        match self {
            Error::Failed { words, .. } => {
                words.contains(CRASHED) || LOST_SERVER_WORDS.iter().any(|sign| words.contains(sign))
            }
            _ => false,
        }
    }
}
