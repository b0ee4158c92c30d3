//! Files that are read, and those that are left out.

use std::path::PathBuf;

use crate::formats::Format;
use crate::model::Document;

/// A file with the name that its arm was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    pub path: PathBuf,
    pub arm: Option<String>,
}

/// A file, read.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub given: Given,
    pub sha256: String,
    pub bytes: u64,
    pub format: Format,
    pub document: Document,
}

/// A file that is no part of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub path: PathBuf,
    pub why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    NotUnderstood,
    /// It was computed from results that are among the files.
    Derived,
}
