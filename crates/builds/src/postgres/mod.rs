//! Builds of PostgreSQL, 9.3 to 18.

mod directory;
mod install;
mod old;
mod programs;
mod registry;
mod releases;
mod source;
mod version;

use std::path::Path;

use rqps_model::Dbms;

use crate::build::{Address, Build, Published, Release};
use crate::dirs::Dirs;
use crate::error::{Error, Result};
use crate::product::Product;

pub(crate) struct Postgres;

impl Product for Postgres {
    fn check_version(&self, request: &str) -> Result<()> {
        version::Request::parse(request).map(|_request| ())
    }

    fn check_directory(&self, path: &Path) -> Result<()> {
        directory::check(path)
    }

    fn check_published(&self, dirs: &Dirs, request: &str) -> Result<()> {
        install::check_published(dirs, request)
    }

    fn install(&self, dirs: &Dirs, request: &str) -> Result<Build> {
        install::install(dirs, request)
    }

    fn install_from(&self, _dirs: &Dirs, request: &str, _from: &Address) -> Result<Build> {
        Err(Error::NoAddress { dbms: Dbms::Postgres, request: request.to_owned() })
    }

    fn published(&self, dirs: &Dirs) -> Result<Vec<Published>> {
        releases::published(dirs)
    }

    fn releases(&self, dirs: &Dirs, from: &str, to: &str) -> Result<Vec<Release>> {
        releases::releases(dirs, from, to)
    }

    fn directory(&self, path: &Path) -> Result<Build> {
        directory::resolve(path)
    }
}
