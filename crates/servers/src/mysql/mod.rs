//! MySQL, 5.6 and later, and MariaDB, 10.2 and later: where they differ, the code asks which it is.

mod apt;
pub(crate) mod conf;
mod debian;
mod directory;
mod install;
pub(crate) mod layout;
mod maven;
mod parts;
mod programs;
mod recipe;
mod relocate;
mod tarball;
pub(crate) mod source;
pub(crate) mod version;

use std::path::{Path, PathBuf};

use rqps_plan::Dbms;
use rustix::process::Signal;

use crate::build::{Address, Build, Published};
use crate::data_dir::{DataDir, Marker};
use crate::dbms::{ServerCommand, Signals, Start, System};
use crate::dirs::Dirs;
use crate::error::{Error, Result};
use crate::guard::DeathSignal;
use crate::host::HostLimits;
use crate::init::Making;
use crate::option::Line;
use crate::source::SourceCode;
use crate::spec::Applied;
use source::MysqlSource;

/// One of the two behind the seam.
pub(crate) struct Mysql {
    pub dbms: Dbms,
}

impl Mysql {
    fn is_mariadb(&self) -> bool {
        self.dbms == Dbms::Mariadb
    }

    fn unsupported(&self, path: &Path) -> Error {
        Error::NotABuild { path: PathBuf::from(path), reason: format!("rqps has no {} builds", self.dbms) }
    }
}

impl System for Mysql {
    fn version_num(&self, version: &str) -> u32 {
        version::number(version)
    }

    fn install(&self, dirs: &Dirs, request: &str) -> Result<Build> {
        install::install(dirs, self.dbms, request)
    }

    fn install_from(&self, dirs: &Dirs, request: &str, from: &Address) -> Result<Build> {
        install::install_from(dirs, self.dbms, request, from)
    }

    fn published(&self) -> Result<Option<Vec<Published>>> {
        install::published(self.dbms).map(Some)
    }

    fn directory(&self, dirs: &Dirs, path: &Path) -> Result<Build> {
        directory::resolve(dirs, self.dbms, path)
    }

    fn source_code(&self) -> &'static dyn SourceCode {
        if self.is_mariadb() { &MysqlSource { is_mariadb: true } } else { &MysqlSource { is_mariadb: false } }
    }

    fn shipped(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    fn shipped_text(&self, _name: &str, _limits: &HostLimits) -> Option<String> {
        None
    }

    fn line(&self, section: &mut String, line: &str) -> std::result::Result<Line, String> {
        conf::parse_line(section, line, self.is_mariadb())
    }

    fn fill(&self, making: &Making<'_>) -> Result<Applied> {
        Err(self.unsupported(&making.spec.build.root))
    }

    fn check_data_dir(&self, _data_dir: &DataDir, build: &Build, _marker: &Marker) -> Result<()> {
        Err(self.unsupported(&build.root))
    }

    fn check_shut_down(&self, _data_dir: &Path) -> std::result::Result<(), String> {
        Err(format!("rqps has no {} builds", self.dbms))
    }

    fn server_at_work(&self, _data_dir: &Path) -> Option<u32> {
        None
    }

    fn socket_port(&self) -> u16 {
        3306
    }

    fn socket_name(&self, _port: u16) -> String {
        "mysqld.sock".to_owned()
    }

    fn command(&self, start: &Start<'_>) -> Result<ServerCommand> {
        Err(self.unsupported(&start.spec.build.root))
    }

    fn is_ready(&self, _data_dir: &Path, _build: &Build, _pid: u32, _socket: &Path) -> bool {
        false
    }

    fn may_retry(&self, _tail: &str) -> bool {
        false
    }

    fn hint(&self, _tail: &str) -> String {
        String::new()
    }

    /// A server is one process; what it left is recovered.
    fn signals(&self) -> Signals {
        Signals { clean: Signal::TERM, quick: Signal::KILL, death: DeathSignal::Kill }
    }
}
