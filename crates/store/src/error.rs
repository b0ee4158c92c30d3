//! Errors of run folders. Each message names the place and the remedy.

use std::path::{Path, PathBuf};

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder is locked by a living process.
    #[error("{} is in use by another rqps (pid {pid}): wait for it to end, or stop it first", path.display())]
    InUse {
        path: PathBuf,
        /// The holder (`?` if unreadable).
        pid: String,
    },
    /// The folder has no `run.db`.
    #[error("{} is not a run folder (no run.db in it): `rqps ls` lists the runs there are", path.display())]
    NotARun { path: PathBuf },
    /// The run was killed before its plan was recorded.
    #[error("{} holds no plan: rqps was stopped, or the disk was full, while it created the folder. Delete it and run the plan again", path.display())]
    Empty { path: PathBuf },
    /// A living process has not recorded its plan yet.
    #[error("{} is being created by another rqps (pid {pid}): try again in a moment", path.display())]
    BeingCreated {
        path: PathBuf,
        /// The holder (`?` if unreadable).
        pid: String,
    },
    /// The disk was full before the plan was recorded.
    #[error(
        "no space left for {}: the run has not begun. Free some space, delete this folder and run the plan again", path.display()
    )]
    NotBegun { path: PathBuf },
    /// The database was written by a newer rqps.
    #[error(
        "{} has schema version {found}, this rqps knows versions up to {known}: read it with the newer rqps that wrote it", path.display()
    )]
    NewerSchema { path: PathBuf, found: i64, known: i64 },
    /// The database was written by an older rqps and is opened for reading only.
    #[error("{} has the older schema version {found}, this rqps reads version {known}: `rqps resume` or any other verb that writes migrates it", path.display())]
    OlderSchema { path: PathBuf, found: i64, known: i64 },
    /// An action or note names an arm that was not recorded.
    #[error("the run has no arm named {0:?}: record it with put_arm before its actions")]
    UnknownArm(String),
    /// A block was finished that had not begun.
    #[error("the run has no block {0}: record it with begin_block before it is finished")]
    UnknownBlock(u32),
    /// A name cannot be a folder name.
    #[error(
        "{0:?} cannot name a run folder: use letters, digits, '.', '_' and '-', and no '.' or '-' in front"
    )]
    BadName(String),
    /// The disk is full.
    #[error(
        "no space left for {}: free some, then continue; every finished action is kept", path.display()
    )]
    DiskFull { path: PathBuf },
    #[error("{}: {source}. Is it a run.db, whole, and readable by you?", path.display())]
    Sql { path: PathBuf, source: rusqlite::Error },
    #[error("cannot {what} {}: {source}", path.display())]
    Io { what: &'static str, path: PathBuf, source: std::io::Error },
}

impl Error {
    /// Whether the request is at fault: the user must name another folder or try again later.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::InUse { .. }
                | Self::NotARun { .. }
                | Self::Empty { .. }
                | Self::BeingCreated { .. }
                | Self::BadName(_)
        )
    }

    /// Of a folder whose run is not yet recorded: a full disk leaves nothing that could be resumed.
    pub fn before_begin(self, folder: &Path) -> Self {
        match self {
            Self::DiskFull { .. } => Self::NotBegun { path: folder.to_owned() },
            other => other,
        }
    }

    /// Adds the operation and path to a file error; a full disk has its own message.
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| match source.kind() {
            std::io::ErrorKind::StorageFull => Self::DiskFull { path: path.to_owned() },
            _ => Self::Io { what, path: path.to_owned(), source },
        }
    }

    /// Adds the database's path to its error; a full disk has its own message.
    pub(crate) fn sql(path: &Path) -> impl FnOnce(rusqlite::Error) -> Self {
        move |source| match source.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => Self::DiskFull { path: path.to_owned() },
            _ => Self::Sql { path: path.to_owned(), source },
        }
    }
}
