//! Servers of PostgreSQL, 9.6 to 18.

mod conf;
mod init;
mod settings;
mod shipped;
mod start;

use std::path::Path;

use rqps_builds::Build;
use rqps_builds::guard::DeathSignal;
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

pub(crate) struct Postgres;

impl System for Postgres {
    fn shipped(&self) -> &'static [(&'static str, &'static str)] {
        &shipped::FILES
    }

    fn shipped_text(&self, name: &str, limits: &HostLimits) -> Option<String> {
        shipped::text(name, limits)
    }

    fn line(&self, _section: &mut String, line: &str) -> std::result::Result<Line, String> {
        conf::parse_line(line)
    }

    fn fill(&self, making: &Making<'_>) -> Result<Applied> {
        init::fill(making)
    }

    fn data_key(&self, build: &Build, config: &Config) -> String {
        start::data_key(build, config)
    }

    fn check_data_dir(&self, data_dir: &DataDir, build: &Build, _marker: &Marker) -> Result<()> {
        start::check_data_dir(data_dir, build)
    }

    fn check_shut_down(&self, data_dir: &Path) -> std::result::Result<(), String> {
        start::check_shut_down(data_dir)
    }

    fn server_at_work(&self, data_dir: &Path) -> Option<u32> {
        start::server_at_work(data_dir)
    }

    fn socket_port(&self) -> u16 {
        5432
    }

    fn socket_name(&self, port: u16) -> String {
        format!(".s.PGSQL.{port}")
    }

    fn command(&self, start: &Start<'_>) -> Result<ServerCommand> {
        let Start { spec, data_dir, user, listen } = *start;
        let settings = Settings { build: &spec.build, user, data_dir: &data_dir.path };
        Ok(ServerCommand {
            applied: settings.apply(&spec.config, listen)?,
            program: spec.build.bin_dir.join("postgres"),
            arguments: vec!["-D".into(), data_dir.path.clone().into()],
        })
    }

    fn is_ready(&self, data_dir: &Path, build: &Build, pid: u32, socket: &Path) -> bool {
        start::is_ready(data_dir, build, pid, socket)
    }

    fn may_retry(&self, tail: &str) -> bool {
        start::may_retry(tail)
    }

    fn hint(&self, tail: &str) -> String {
        start::hint(tail)
    }

    /// A fast and an immediate shutdown.
    fn signals(&self) -> Signals {
        Signals { clean: Signal::INT, quick: Signal::QUIT, death: DeathSignal::Quit }
    }
}
