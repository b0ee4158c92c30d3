//! What this crate needs from a DBMS. `products` lists the implementations; neither they nor their
//! dependencies may use it.

use std::path::Path;

use crate::build::{Address, Build, Published, Release};
use crate::dirs::Dirs;
use crate::error::Result;
use crate::source::code::SourceCode;

/// The numbers of a dotted version, each of at most `digits_max` digits; None if it has anything else.
pub(crate) fn version_numbers(text: &str, digits_max: usize) -> Option<Vec<u64>> {
    let number = |part: &str| {
        let is_number = part.len() <= digits_max && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse().ok()).flatten()
    };
    text.split('.').map(number).collect()
}

/// How to install, find and compile builds of a DBMS.
pub(crate) trait Product: SourceCode {
    /// Refuses unsupported versions.
    fn check_version(&self, request: &str) -> Result<()>;

    /// Refuses a directory without the programs of a build. Runs none of them.
    fn check_directory(&self, path: &Path) -> Result<()>;

    /// Refuses a version that [`Self::install`] would not find. Fetches none.
    fn check_published(&self, dirs: &Dirs, request: &str) -> Result<()>;

    /// See [`crate::install`].
    fn install(&self, dirs: &Dirs, request: &str) -> Result<Build>;

    /// See [`crate::install_from`].
    fn install_from(&self, dirs: &Dirs, request: &str, from: &Address) -> Result<Build>;

    /// See [`crate::published`].
    fn published(&self, dirs: &Dirs) -> Result<Vec<Published>>;

    /// See [`crate::releases`].
    fn releases(&self, dirs: &Dirs, from: &str, to: &str) -> Result<Vec<Release>>;

    /// Resolves a directory to a build, see [`crate::resolve`].
    fn directory(&self, path: &Path) -> Result<Build>;
}
