//! What differs between DBMSs in source code: how a tree is recognised, what its build needs, and its steps.

use std::path::{Path, PathBuf};

use super::flavour::{Flavour, System};
use crate::held_dir::HeldDir;

/// What a DBMS knows of its own source code.
pub(crate) trait SourceCode: Sync {
    /// Its build systems, the default first.
    fn systems(&self) -> &'static [System];

    /// The version that a tree says it is; nothing when it is not of this DBMS.
    fn version(&self, tree: &Path) -> Option<String>;

    /// The file that identifies such a tree, as a phrase.
    fn identified_by(&self) -> &'static str;

    /// Programs that the build runs, beside the compiler.
    fn programs(&self, site: &Site<'_>) -> Vec<&'static str>;

    /// The steps of the build, in order.
    fn steps(&self, site: &Site<'_>) -> Vec<Step>;
}

#[derive(Debug)]
pub(crate) struct Site<'a> {
    /// A private copy of the source.
    pub tree: PathBuf,
    /// An empty directory to build in.
    pub build: PathBuf,
    pub prefix: PathBuf,
    pub flavour: &'a Flavour,
    /// The flavour's options at this version.
    pub options: Vec<String>,
    /// Compilers in parallel.
    pub jobs: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// What it does, as a participle.
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
    pub fn and(mut self, arguments: impl IntoIterator<Item = String>) -> Step {
        self.arguments.extend(arguments);
        self
    }
}

/// A file of a source's tree, which somebody else may have made: no link is followed, and no pipe waited for.
pub(crate) fn file_of(tree: &Path, name: &str) -> Option<String> {
    let content = HeldDir::open(tree).and_then(|tree| tree.read(Path::new(name), None)).ok()?;
    Some(String::from_utf8_lossy(&content).into_owned())
}

pub(crate) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
