//! Builds of RocksDB, 5.18 and later: libraries that export its C API.

mod engine;
mod install;
mod library;
mod source;
mod version;

use std::path::Path;

use rqps_model::Dbms;

use crate::build::{Address, Build, Published, Release};
use crate::dirs::Dirs;
use crate::error::{Error, Result};
use crate::product::Product;

pub use engine::{ENGINE_ARGUMENT, describe, engine_program, knows};
pub use library::{library_of, program_in};

pub(crate) struct Rocksdb;

impl Product for Rocksdb {
    fn check_version(&self, request: &str) -> Result<()> {
        install::check(request)
    }

    fn check_directory(&self, path: &Path) -> Result<()> {
        library::find(path).and_then(|library| library::check_c_api(&library))
    }

    /// All that is published is known.
    fn check_published(&self, _dirs: &Dirs, request: &str) -> Result<()> {
        install::check(request)
    }

    fn install(&self, dirs: &Dirs, request: &str) -> Result<Build> {
        install::install(dirs, request)
    }

    fn install_from(&self, _dirs: &Dirs, request: &str, _from: &Address) -> Result<Build> {
        Err(Error::NoAddress { dbms: Dbms::Rocksdb, request: request.to_owned() })
    }

    fn published(&self, _dirs: &Dirs) -> Result<Vec<Published>> {
        install::published()
    }

    fn releases(&self, _dirs: &Dirs, _from: &str, _to: &str) -> Result<Vec<Release>> {
        Ok(install::published()?.into_iter().map(|published| Release::of(published.version, 1)).collect())
    }

    fn directory(&self, path: &Path) -> Result<Build> {
        library::resolve(path)
    }
}
