//! Builds of MySQL 5.6 and later, and of MariaDB 10.2 and later; `Mysql::dbms` distinguishes them.

mod apt;
mod debian;
mod directory;
mod install;
mod layout;
mod maven;
mod parts;
mod programs;
mod recipe;
mod relocate;
mod source;
mod tarball;
mod version;

use std::path::Path;

use rqps_model::Dbms;

use crate::build::{Address, Build, Published, Release};
use crate::dirs::Dirs;
use crate::error::Result;
use crate::product::Product;
pub use layout::Layout;

/// MySQL or MariaDB.
pub(crate) struct Mysql {
    pub dbms: Dbms,
}

impl Mysql {
    fn is_mariadb(&self) -> bool {
        self.dbms == Dbms::Mariadb
    }
}

impl Product for Mysql {
    fn check_version(&self, request: &str) -> Result<()> {
        version::Request::parse(self.dbms, request).map(|_request| ())
    }

    fn check_directory(&self, path: &Path) -> Result<()> {
        Layout::find(path).map(|_layout| ())
    }

    fn check_published(&self, dirs: &Dirs, request: &str) -> Result<()> {
        install::check_published(dirs, self.dbms, request)
    }

    fn install(&self, dirs: &Dirs, request: &str) -> Result<Build> {
        install::install(dirs, self.dbms, request)
    }

    fn install_from(&self, dirs: &Dirs, request: &str, from: &Address) -> Result<Build> {
        install::install_from(dirs, self.dbms, request, from)
    }

    fn published(&self, _dirs: &Dirs) -> Result<Vec<Published>> {
        install::published(self.dbms)
    }

    fn releases(&self, _dirs: &Dirs, _from: &str, _to: &str) -> Result<Vec<Release>> {
        Ok(install::published(self.dbms)?
            .into_iter()
            .map(|published| Release::of(published.version, 2))
            .collect())
    }

    fn directory(&self, path: &Path) -> Result<Build> {
        directory::resolve(self.dbms, path)
    }
}
