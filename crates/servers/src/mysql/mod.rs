//! MySQL, 5.6 and later, and MariaDB, 10.2 and later: where they differ, the code asks which it is.

mod apt;
pub(crate) mod conf;
mod debian;
mod directory;
mod init;
mod install;
pub(crate) mod layout;
mod maven;
mod options;
mod parts;
mod programs;
mod recipe;
mod relocate;
mod settings;
mod shipped;
pub(crate) mod source;
mod start;
mod tarball;
pub(crate) mod version;

use std::path::Path;

use rqps_model::Dbms;
use rustix::process::Signal;

use crate::build::{Address, Build, Published};
use crate::config::Config;
use crate::data_dir::{DataDir, Marker};
use crate::dbms::{ServerCommand, Signals, Start, System};
use crate::dirs::Dirs;
use crate::error::Result;
use crate::guard::DeathSignal;
use crate::host::HostLimits;
use crate::init::Making;
use crate::option::Line;
use crate::source::SourceCode;
use crate::spec::Applied;
use crate::user::ServerUser;
use layout::Layout;
use settings::Settings;
use source::MysqlSource;

/// The socket's name in its directory.
const SOCKET: &str = "mysqld.sock";

/// One of the two behind the seam.
pub(crate) struct Mysql {
    pub dbms: Dbms,
}

impl Mysql {
    fn is_mariadb(&self) -> bool {
        self.dbms == Dbms::Mariadb
    }
}

impl System for Mysql {
    fn version_num(&self, version: &str) -> u32 {
        version::number(version)
    }

    fn check_version(&self, request: &str) -> Result<()> {
        version::Request::parse(self.dbms, request).map(|_request| ())
    }

    fn check_directory(&self, path: &Path) -> Result<()> {
        layout::Layout::find(path).map(|_layout| ())
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

    fn directory(&self, path: &Path) -> Result<Build> {
        directory::resolve(self.dbms, path)
    }

    fn source_code(&self) -> &'static dyn SourceCode {
        if self.is_mariadb() { &MysqlSource { is_mariadb: true } } else { &MysqlSource { is_mariadb: false } }
    }

    fn shipped(&self) -> &'static [(&'static str, &'static str)] {
        if self.is_mariadb() { &shipped::MARIADB } else { &shipped::MYSQL }
    }

    fn shipped_text(&self, name: &str, limits: &HostLimits) -> Option<String> {
        shipped::text(self.shipped(), name, limits)
    }

    fn line(&self, section: &mut String, line: &str) -> std::result::Result<Line, String> {
        conf::parse_line(section, line, self.is_mariadb())
    }

    fn fill(&self, making: &Making<'_>) -> Result<Applied> {
        init::fill(making)
    }

    /// Much of a config acts on the files, and a newer build changes those of an older one.
    fn data_key(&self, build: &Build, config: &Config) -> String {
        format!("{} {}", build.hash, config.hash)
    }

    fn check_data_dir(&self, data_dir: &DataDir, build: &Build, marker: &Marker) -> Result<()> {
        start::check_data_dir(data_dir, build, marker)
    }

    fn check_shut_down(&self, data_dir: &Path) -> std::result::Result<(), String> {
        start::check_shut_down(data_dir)
    }

    fn note_shut_down(&self, data_dir: &DataDir, user: &ServerUser) -> Result<()> {
        start::note_shut_down(&data_dir.path, user)
    }

    fn server_at_work(&self, data_dir: &Path) -> Option<u32> {
        start::server_at_work(data_dir)
    }

    fn socket_port(&self) -> u16 {
        3306
    }

    fn socket_name(&self, _port: u16) -> String {
        SOCKET.to_owned()
    }

    fn command(&self, start: &Start<'_>) -> Result<ServerCommand> {
        let Start { spec, data_dir, user, listen } = *start;
        let layout = Layout::find(&spec.build.root)?;
        let settings = Settings {
            build: &spec.build,
            layout: &layout,
            user,
            data_dir: &data_dir.path,
            temp_dir: data_dir.create_temp_dir(user)?,
            instrumented: spec.instrument.is_some(),
            placed: spec.cpus.is_some(),
        };
        let file = data_dir.path.join(settings::FILE);
        let applied = settings.apply(&spec.config, listen, &file)?;
        start::forget_shut_down(&data_dir.path)?;
        let arguments = vec![format!("--defaults-file={}", file.display()).into()];
        Ok(ServerCommand { applied, program: layout.server, arguments })
    }

    fn is_ready(&self, _data_dir: &Path, _build: &Build, _pid: u32, socket: &Path) -> bool {
        start::is_ready(socket)
    }

    fn may_retry(&self, tail: &str) -> bool {
        start::may_retry(tail)
    }

    fn hint(&self, tail: &str) -> String {
        start::hint(tail)
    }

    /// A server is one process; what it left is recovered.
    fn signals(&self) -> Signals {
        Signals { clean: Signal::TERM, quick: Signal::KILL, death: DeathSignal::Kill }
    }
}
