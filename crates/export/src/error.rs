//! What can go wrong with an export. Each message names the place and the remedy.

use std::path::{Path, PathBuf};

pub type Result<T> = std::result::Result<T, Error>;

/// An error of an export.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of that name is there.
    #[error("{} is there already{}: name another directory with --to, or replace files with --force", path.display(), more(*others))]
    Exists { path: PathBuf, others: usize },
    /// Two runs have the same name, by which rows are told apart.
    #[error(
        "two runs are called `{0}`, so that their rows could not be told apart: export them one by one, or rename a folder"
    )]
    SameName(String),
    /// A table that there is not.
    #[error("no table `{name}`; there are: {known}")]
    UnknownTable { name: String, known: String },
    /// A format that is no text.
    #[error("parquet is no text for standard output: name a directory with --to, or take --as csv or jsonl")]
    NotText,
    #[error("stopped; nothing was written")]
    Stopped,
    #[error(transparent)]
    Store(#[from] rqps_store::Error),
    /// The figures of a run cannot be put together.
    #[error(transparent)]
    Verdicts(#[from] rqps_verdicts::Error),
    /// A latency histogram cannot be read.
    #[error(
        "run {run}, action {seq}, statement {statement}: the latency histogram is damaged; leave out tables `latencies` and `latency_buckets` with --table"
    )]
    Histogram { run: String, seq: u32, statement: String },
    /// A row does not fit its table's description.
    #[error(
        "table {table}, column {column}: the value does not fit the description; this is a mistake in rqps, please report it"
    )]
    Misfit { table: &'static str, column: String },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
}

fn more(others: usize) -> String {
    if others == 0 { String::new() } else { format!(", and {others} more") }
}

impl Error {
    /// Whether what was asked for is at fault.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Exists { .. } | Self::SameName(_) | Self::UnknownTable { .. } | Self::NotText => true,
            Self::Store(error) => error.is_usage(),
            _ => false,
        }
    }

    /// Whether the reader of standard output has closed it.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Write { source, .. } if source.kind() == std::io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn write(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Write { path: path.to_owned(), source }
    }
}
