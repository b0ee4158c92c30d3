//! The seam between DBMSs: everything that this crate asks of one. Who implements it stands in `systems`, which no
//! implementer may use, nor anything that one needs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rqps_builds::guard::DeathSignal;
use rqps_builds::{Build, ServerUser};
use rustix::process::Signal;

use crate::config::Config;
use crate::data_dir::{DataDir, Marker};
use crate::error::Result;
use crate::host::HostLimits;
use crate::making::Making;
use crate::option::Line;
use crate::spec::{Applied, Listen, ServerSpec};

/// A start is given up after this long in any case: recovery of some 100 GB of WAL fits in.
pub(crate) const START_MAX: Duration = Duration::from_secs(2 * 3600);

/// What one DBMS knows of its configs, data directories and servers.
pub(crate) trait System: Sync {
    /// Name and text of each shipped config, before anything is filled in.
    fn shipped(&self) -> &'static [(&'static str, &'static str)];

    /// The text of a shipped config, fitted to the host; none when there is no such config.
    fn shipped_text(&self, name: &str, limits: &HostLimits) -> Option<String>;

    /// Reads one line of a config. `section` is the one that the line is in, and is changed by a line that begins
    /// another; it is empty at the start of a file.
    fn line(&self, section: &mut String, line: &str) -> std::result::Result<Line, String>;

    /// Fills an empty directory with a new cluster that has the superuser, the database for the work and the config.
    fn fill(&self, making: &Making<'_>) -> Result<Applied>;

    /// What a data directory that this build makes with this config depends on: builds of one key can read each
    /// other's, and find in it what they would have put there.
    fn data_key(&self, build: &Build, config: &Config) -> String;

    /// Refuses a data directory that this build cannot serve. Call when no server is at work.
    fn check_data_dir(&self, data_dir: &DataDir, build: &Build, marker: &Marker) -> Result<()>;

    /// Refuses a data directory whose server was not shut down cleanly, with the reason. Call when no server is at
    /// work.
    fn check_shut_down(&self, data_dir: &Path) -> std::result::Result<(), String>;

    /// Notes that a server has shut down cleanly, where its files do not say so themselves.
    fn note_shut_down(&self, _data_dir: &DataDir, _user: &ServerUser) -> Result<()> {
        Ok(())
    }

    /// The server at work on a data directory, by its pid.
    fn server_at_work(&self, data_dir: &Path) -> Option<u32>;

    /// The port of servers that listen on their Unix socket alone: each has a directory of its own.
    fn socket_port(&self) -> u16;

    /// The socket's name in its directory.
    fn socket_name(&self, port: u16) -> String;

    /// Writes the options of a server that is to be started, and says how.
    fn command(&self, start: &Start<'_>) -> Result<ServerCommand>;

    /// Whether the server accepts sessions now.
    fn is_ready(&self, data_dir: &Path, build: &Build, pid: u32, socket: &Path) -> bool;

    /// Whether trying a failed start again may help, from the last words of its log.
    fn may_retry(&self, tail: &str) -> bool;

    /// Advice for the causes that are known, on a line of its own, or nothing.
    fn hint(&self, tail: &str) -> String;

    /// How its servers are ended.
    fn signals(&self) -> Signals;
}

pub(crate) struct Start<'a> {
    pub spec: &'a ServerSpec,
    pub data_dir: &'a DataDir,
    pub user: &'a ServerUser,
    pub listen: &'a Listen,
}

pub(crate) struct ServerCommand {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    pub applied: Applied,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Signals {
    /// A clean shutdown: sessions are ended, nothing is left to recover.
    pub clean: Signal,
    /// At once, without leaving anything of the server behind: the next start recovers.
    pub quick: Signal,
    /// The same, when it is the kernel that sends it at our death.
    pub death: DeathSignal,
}

/// The first of some known causes whose signs are in the last words of a log: its advice, on a line of its own.
pub(crate) fn advice(tail: &str, known: &[(&[&str], &str)]) -> String {
    known
        .iter()
        .find(|(signs, _)| signs.iter().any(|sign| tail.contains(sign)))
        .map_or_else(String::new, |(_, advice)| format!("\nhint: {advice}"))
}
