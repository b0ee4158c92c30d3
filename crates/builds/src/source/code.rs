//! The differences between DBMSs in building from source: how to recognise a source tree, what the build
//! needs, and its steps.

use std::path::{Path, PathBuf};

use super::flavour::{Flavour, System};
use crate::held_dir::HeldDir;

/// How to build a DBMS from source.
pub(crate) trait SourceCode: Sync {
    /// The supported build systems, the default first.
    fn systems(&self) -> &'static [System];

    /// The version of a source tree; None if it is not this DBMS's.
    fn version(&self, tree: &Path) -> Option<String>;

    /// The file that identifies a source tree, as a phrase.
    fn identified_by(&self) -> &'static str;

    /// Whether a source tree contains output of programs, as tarballs do, which the build uses if it is newer than what
    /// it is made from.
    fn has_output(&self, _tree: &Path) -> bool {
        false
    }

    /// The files that `version` and `programs` look at.
    fn telling_files(&self) -> &'static [&'static str];

    /// Programs that the build runs besides the compiler.
    fn programs(&self, site: &Site<'_>) -> Vec<&'static str>;

    fn steps(&self, site: &Site<'_>) -> Vec<Step>;
}

#[derive(Debug)]
pub(crate) struct Site<'a> {
    /// Our copy of the source.
    pub tree: PathBuf,
    /// The empty build directory.
    pub build: PathBuf,
    pub prefix: PathBuf,
    pub flavour: &'a Flavour,
    /// The flavour's options at this version.
    pub options: Vec<String>,
    /// Parallel compiler processes.
    pub jobs: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The current activity, as a participle.
    pub phase: &'static str,
    pub program: String,
    pub arguments: Vec<String>,
}

impl Step {
    pub fn new(phase: &'static str, program: impl Into<String>, arguments: &[&str]) -> Step {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        Step { phase, program: program.into(), arguments }
    }

    #[must_use]
    pub fn args(mut self, arguments: impl IntoIterator<Item = String>) -> Step {
        self.arguments.extend(arguments);
        self
    }
}

/// Reads a file of a source tree that somebody else may have made, without following links or waiting on
/// pipes.
pub(crate) fn read_file(tree: &Path, name: &str) -> Option<String> {
    let content = HeldDir::open(tree).and_then(|tree| tree.read(Path::new(name), None)).ok()?;
    Some(String::from_utf8_lossy(&content).into_owned())
}

pub(crate) fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
