//! Errors of HammerDB and of starting it.

use std::io;
use std::path::PathBuf;

/// Texts in error messages if the server is gone or shutting down: libpq's, and those of MySQL's client library.
const LOST_SERVER_WORDS: [&str; 9] = [
    "server closed the connection",
    "terminating connection",
    "the database system is",
    "no connection to the server",
    "connection to server",
    "server has gone away",
    "Lost connection",
    "Connection to database failed",
    "Can't connect to",
];

/// Why HammerDB gave no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "no HammerDB found: let RQPS_HAMMERDB name its directory, install it in one of {}, or set `driver = \"rqps\"`",
        list(.0)
    )]
    NotFound(Vec<PathBuf>),
    #[error(
        "RQPS_HAMMERDB is {0}, and there is no program `hammerdbcli` in it: name the directory that has it, as \
         /opt/HammerDB-5.0"
    )]
    NotThere(PathBuf),
    #[error("can't start {path}/hammerdbcli: {source}; is it executable by this user?")]
    Start { path: PathBuf, source: io::Error },
    #[error("{path}/hammerdbcli does not say which version it is; it says: {words}")]
    NoVersion { path: PathBuf, words: String },
    /// The plan or the server needs something that HammerDB does not support.
    #[error("HammerDB {what}; {remedy}")]
    CannotDo { what: String, remedy: &'static str },
    #[error("can't write HammerDB's scripts to {path}: {source}; set TMPDIR to a directory with room")]
    Scripts { path: PathBuf, source: io::Error },
    #[error("can't read what HammerDB's virtual users counted, {path}: {source}")]
    Counts { path: PathBuf, source: io::Error },
    #[error("HammerDB, {doing}: {words}")]
    Failed { doing: &'static str, words: String },
    #[error("HammerDB's output has {0}; please report this with HammerDB's version")]
    Output(String),
    /// By the caller.
    #[error("cancelled")]
    Cancelled,
}

fn list(paths: &[PathBuf]) -> String {
    let shown: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    shown.join(", ")
}

impl Error {
    /// HammerDB's own error messages, if it failed with some.
    pub fn words(&self) -> Option<&str> {
        match self {
            Error::Failed { words, .. } => Some(words),
            _ => None,
        }
    }

    /// Whether the server was gone or shutting down.
    pub fn lost_server(&self) -> bool {
        self.words().is_some_and(|words| LOST_SERVER_WORDS.iter().any(|sign| words.contains(sign)))
    }
}
