//! What this crate needs from a DBMS. The implementations are listed in `systems`, which neither an implementation nor
//! anything it depends on may use.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rqps_builds::{Build, ServerUser};
use rustix::process::Signal;

use crate::config::Config;
use crate::data_dir::{DataDir, Marker};
use crate::error::Result;
use crate::host::HostLimits;
use crate::new_data_dir::NewDataDir;
use crate::option::Line;
use crate::spec::{Applied, Listen, ServerSpec};

/// A start is given up after this long in any case: enough to recover some 100 GB of WAL.
pub(crate) const START_MAX: Duration = Duration::from_secs(2 * 3600);

/// What differs between DBMSs in configs, data directories and servers.
pub(crate) trait System: Sync {
    /// Name and text of each shipped config, before anything is filled in.
    fn shipped(&self) -> &'static [(&'static str, &'static str)];

    /// The text of a shipped config, fitted to the host; none when there is no such config.
    fn shipped_text(&self, name: &str, limits: &HostLimits) -> Option<String>;

    /// Parses one line of a config. `section` is the current section, updated by a section header; it is empty at the
    /// start of a file.
    fn line(&self, section: &mut String, line: &str) -> std::result::Result<Line, String>;

    /// Fills an empty directory with a new cluster that has the superuser, the database for the work and the config.
    fn fill(&self, new: &NewDataDir<'_>) -> Result<Applied>;

    /// What the content of a data directory depends on: builds with equal keys can read each other's, and would have
    /// written the same.
    fn data_key(&self, build: &Build, config: &Config) -> String;

    /// Refuses a data directory that this build cannot serve. Call when no server is running.
    fn check_data_dir(&self, data_dir: &DataDir, build: &Build, marker: &Marker) -> Result<()>;

    /// Refuses a data directory whose server was not shut down cleanly, with the reason. Call when no server is
    /// running.
    fn check_shut_down(&self, data_dir: &Path) -> std::result::Result<(), String>;

    /// Records a clean shutdown, where the server's own files do not.
    fn note_shut_down(&self, _data_dir: &DataDir, _user: &ServerUser) -> Result<()> {
        Ok(())
    }

    /// The pid of the server running on a data directory.
    fn running_server(&self, data_dir: &Path) -> Option<u32>;

    /// The port of servers that listen on their Unix socket alone: each has a directory of its own.
    fn socket_port(&self) -> u16;

    /// The socket's name in its directory.
    fn socket_name(&self, port: u16) -> String;

    /// Writes the options of a server and returns how to start it.
    fn command(&self, start: &Start<'_>) -> Result<ServerCommand>;

    /// Whether the server accepts sessions now.
    fn is_ready(&self, data_dir: &Path, build: &Build, pid: u32, socket: &Path) -> bool;

    /// Messages in the log after which a failed start is worth another try.
    fn transient_failures(&self) -> &'static [&'static str];

    fn is_transient(&self, tail: &str) -> bool {
        self.transient_failures().iter().any(|message| tail.contains(message))
    }

    /// Known causes of a failed start, the most specific first.
    fn causes(&self) -> &'static [Cause];

    /// Advice for the first known cause that the end of a log shows, on a line of its own; empty if there is none.
    fn hint(&self, tail: &str) -> String {
        self.causes()
            .iter()
            .find(|(signs, _)| signs.iter().any(|sign| tail.contains(sign)))
            .map_or_else(String::new, |(_, advice)| format!("\nhint: {advice}"))
    }

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
    pub death: Signal,
}

/// Messages of which one shows the cause, and what to do about it.
pub(crate) type Cause = (&'static [&'static str], &'static str);

pub(crate) const PORT_TAKEN: Cause = (
    &["Address already in use"],
    "another program took the port each time: try again, or use the Unix socket",
);

/// Why a data directory cannot be copied as it is.
pub(crate) const NOT_SHUT_DOWN: &str = "its server was not shut down cleanly: start it and stop it first";
