//! Servers of MySQL, 5.6 and later, and MariaDB, 10.2 and later: where they differ, the code asks which it is.

mod conf;
mod init;
mod options;
mod settings;
mod shipped;
mod start;

use std::path::Path;

use rqps_builds::guard::DeathSignal;
use rqps_builds::mysql::Layout;
use rqps_builds::{Build, ServerUser};
use rqps_model::Dbms;
use rustix::process::Signal;

use crate::config::Config;
use crate::data_dir::{DataDir, Marker};
use crate::error::Result;
use crate::host::HostLimits;
use crate::making::Making;
use crate::option::Line;
use crate::spec::Applied;
use crate::system::{ServerCommand, Signals, Start, System};
use settings::Settings;
use start::SOCKET;

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
