//! What this crate needs from a DBMS. The implementations are listed in `products`, which neither an implementation nor
//! anything it depends on may use.

use std::path::Path;

use crate::build::{Address, Build, Published};
use crate::dirs::Dirs;
use crate::error::Result;
use crate::source::code::SourceCode;

/// A DBMS as what is published, installed and compiled.
pub(crate) trait Product: SourceCode {
    /// Refuses a version that rqps does not work with.
    fn check_version(&self, request: &str) -> Result<()>;

    /// Refuses a directory without the programs of a build. Nothing of it is run.
    fn check_directory(&self, path: &Path) -> Result<()>;

    /// See [`crate::install`].
    fn install(&self, dirs: &Dirs, request: &str) -> Result<Build>;

    /// See [`crate::install_from`].
    fn install_from(&self, dirs: &Dirs, request: &str, from: &Address) -> Result<Build>;

    /// See [`crate::published`].
    fn published(&self) -> Result<Option<Vec<Published>>>;

    /// A directory as a build, see [`crate::resolve`].
    fn directory(&self, path: &Path) -> Result<Build>;
}
