//! Files that are read, and those that are left out.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::formats::Format;
use crate::model::Document;

/// A file with the name that its arm was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    pub path: PathBuf,
    pub arm: Option<String>,
    /// The repeat that it was given as.
    pub repeat: Option<Repeat>,
    /// How many directories all files of an import are in, which tell none apart.
    pub above: usize,
}

/// A path that was given as one repeat of all arms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeat {
    /// From 1.
    pub number: u32,
    pub root: PathBuf,
}

impl Given {
    /// The path, without that of the repeat, which only says which repeat it is, and without the directories that all
    /// files are in.
    pub fn within(&self) -> &Path {
        let mut components = self.of_repeat().components();
        components.by_ref().take(self.above).for_each(drop);
        components.as_path()
    }

    /// The directory that all files are in.
    pub fn of_all(&self) -> Option<&Path> {
        self.path.ancestors().nth(self.within().components().count())
    }

    fn of_repeat(&self) -> &Path {
        let within = self.repeat.as_ref().and_then(|repeat| self.path.strip_prefix(&repeat.root).ok());
        match within {
            Some(within) if within.as_os_str().is_empty() => {
                self.path.file_name().map_or(&*self.path, Path::new)
            }
            within => within.unwrap_or(&self.path),
        }
    }
}

/// Tells files which directories they all are in.
pub fn leave_out_common(loaded: &mut [Loaded]) {
    let directories = |one: &Loaded| -> Vec<OsString> {
        let directory = one.given.of_repeat().parent().unwrap_or(Path::new(""));
        directory.components().map(|part| part.as_os_str().to_owned()).collect()
    };
    let Some(first) = loaded.first().map(directories) else { return };
    let common = |one: &Loaded| first.iter().zip(directories(one)).take_while(|(a, b)| *a == b).count();
    let above = loaded.iter().map(common).min().unwrap_or(0);
    loaded.iter_mut().for_each(|one| one.given.above = above);
}

/// A file, read.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub given: Given,
    pub sha256: String,
    pub bytes: u64,
    /// When it was last changed, milliseconds since 1970 (UTC).
    pub modified_at_ms: Option<i64>,
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
    /// A standard error without a message.
    Quiet,
    /// It was computed from results that are among the files.
    Derived,
    /// A run of rqps, such as a previous import.
    OwnRun,
}
