//! Export errors. Each message names the place and the remedy.

use std::path::{Path, PathBuf};

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file exists, and so do `others` more.
    #[error("{} already exists{}: choose another directory with --to, or replace files with --force", path.display(), more(*others))]
    Exists { path: PathBuf, others: usize },
    /// Two runs have the same name, which is part of the key of every table.
    #[error(
        "two runs are named `{0}`, so their rows could not be distinguished: export them one by one, or rename a folder"
    )]
    SameName(String),
    #[error("no table `{name}`. {remedy}")]
    UnknownTable { name: String, remedy: String },
    /// Text output was requested in a binary format.
    #[error(
        "parquet cannot be written to standard output: choose a directory with --to, or use --as csv or jsonl"
    )]
    NotText,
    #[error("interrupted; nothing was written")]
    Stopped,
    #[error(transparent)]
    Store(#[from] rqps_store::Error),
    #[error(transparent)]
    Verdicts(#[from] rqps_verdicts::Error),
    #[error(
        "run {run}, action {seq}, statement {statement}: the latency histogram is damaged; use --table to export all tables but `latencies` and `latency_buckets`"
    )]
    Histogram { run: String, seq: u32, statement: String },
    /// A row does not match the description of its table.
    #[error(
        "table {table}, column {column}: the value does not match docs/EXPORT.md; this is a bug in rqps, please report it"
    )]
    Misfit { table: &'static str, column: String },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
}

fn more(others: usize) -> String {
    if others == 0 { String::new() } else { format!(", and {others} more") }
}

impl Error {
    /// Whether the user's request caused it.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Exists { .. } | Self::SameName(_) | Self::UnknownTable { .. } | Self::NotText => true,
            Self::Store(error) => error.is_usage(),
            _ => false,
        }
    }

    /// Whether the reader closed standard output.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Write { source, .. } if source.kind() == std::io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn write(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Write { path: path.to_owned(), source }
    }
}
