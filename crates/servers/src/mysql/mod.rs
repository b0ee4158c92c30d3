//! Servers of MySQL 5.6 and later, and of MariaDB 10.2 and later; `Mysql::dbms` distinguishes them.

mod conf;
mod init;
mod options;
mod plugins;
mod settings;
mod shipped;
mod start;

pub use plugins::is_of_a_plugin;

use std::path::{Path, PathBuf};

use rqps_builds::mysql::Layout;
use rqps_builds::{Build, ServerUser};
use rqps_model::Dbms;
use rustix::process::Signal;

use crate::config::Config;
use crate::data_dir::{DataDir, Marker};
use crate::error::{Error, Result};
use crate::host::HostLimits;
use crate::instrument;
use crate::new_data_dir::NewDataDir;
use crate::option::Line;
use crate::process;
use crate::spec::Applied;
use crate::system::{
    CORRECT_CONFIG, Cause, Known, NOT_SHUT_DOWN, PORT_TAKEN, ServerCommand, Signals, Start, System,
};
use settings::Settings;
use start::{SHUT_DOWN, SOCKET};

/// The first MySQL version that upgrades the data directory of an older minor version by itself.
const SELF_UPGRADING_SINCE: u32 = 80_000;

const SERVERS: [&str; 2] = ["mysqld", "mariadbd"];

/// Known causes of a failed start.
const CAUSES: [Cause; 10] = [
    (
        &["No space left on device", "Disk is full", "Errcode: 28", "OS errno 28", "error number 28"],
        "the disk is full: free some space, set RQPS_WORK to a directory on another disk, or use a config \
         with less redo log, such as `sized`",
    ),
    (
        &["Cannot allocate memory", "cannot allocate memory", "errno 12", "Out of memory", "Cannot map"],
        "not enough memory for this config: lower innodb_buffer_pool_size, or use config `sized`",
    ),
    PORT_TAKEN,
    (
        &["Unable to lock ./ibdata1", "Unable to lock ./ibdata"],
        "another server still uses the data: wait until it has exited",
    ),
    (
        &["error while loading shared libraries"],
        "a library is missing: `rqps builds` shows the build; install the library's package",
    ),
    (
        &[
            "Upgrade is not supported",
            "Cannot boot server version",
            "Invalid MySQL server upgrade",
            "Invalid MySQL server downgrade",
            "Unsupported redo log format",
            "Cannot upgrade server earlier than",
            "Upgrade after a crash is not supported",
            "Redo log format is v",
        ],
        "the data belong to another version: create the data directory again",
    ),
    (
        &["Too many open files", "Errcode: 24"],
        "the limit on open files is reached: raise it (`ulimit -n`), or lower table_open_cache",
    ),
    (
        &["io_setup() failed", "io_uring_queue_init() failed", "Linux Native AIO"],
        "the kernel's asynchronous I/O is exhausted or not permitted: raise fs.aio-max-nr, or set \
         innodb_use_native_aio = OFF",
    ),
    (&["Unrecognized value", "Error while setting value", "unknown variable"], CORRECT_CONFIG),
    (
        &["Can't open shared library"],
        "this build lacks a plugin that the config names: remove it from plugin_load",
    ),
];

/// MySQL or MariaDB.
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

    fn line(&self, section: &mut String, line: &str, version: &str) -> std::result::Result<Line, String> {
        conf::parse_line(section, line, version, self.is_mariadb())
    }

    fn own_options(&self) -> &'static [&'static str] {
        &settings::OWN_OPTIONS
    }

    fn format_option(&self, option: &str, value: &str) -> String {
        conf::format_option(option, value)
    }

    fn fill(&self, new: &NewDataDir<'_>) -> Result<Applied> {
        init::fill(new)
    }

    fn known_options<'a>(
        &self,
        build: &'a Build,
        config: &Config,
        user: &'a ServerUser,
        place: &'a Path,
    ) -> Result<Box<dyn Known + 'a>> {
        let layout = Layout::find(&build.root)?;
        let plugins = plugins::loaded_by(&config.options, &layout)?;
        let known = options::known((build, &layout, user), &plugins)?;
        Ok(Box::new(settings::OfBuild { build, layout, user, place, plugins, known }))
    }

    /// Many options affect the files, and a newer build changes those of an older one.
    fn data_key(&self, build: &Build, config: &Config) -> String {
        format!("{} {}", build.hash, config.hash)
    }

    /// Also refuses one that the build would upgrade.
    fn check_data_dir(&self, data_dir: &DataDir, build: &Build, marker: &Marker) -> Result<()> {
        let created_by = marker.build.rsplit_once('-').map_or(marker.build.as_str(), |(_, version)| version);
        let is_compatible = if build.dbms == Dbms::Mysql && build.version_num() >= SELF_UPGRADING_SINCE {
            marker.build == build.label()
        } else {
            series(&marker.build) == series(&build.label())
        };
        if is_compatible {
            return Ok(());
        }
        Err(Error::BadDataDir {
            path: data_dir.path.clone(),
            reason: format!(
                "it was created by {} {created_by}, but the build is {}, which would upgrade it or cannot read it: use a \
                 build of the same version, or create the data directory again",
                marker.dbms, build.version
            ),
        })
    }

    fn check_shut_down(&self, data_dir: &Path) -> std::result::Result<(), String> {
        if data_dir.join(SHUT_DOWN).exists() { Ok(()) } else { Err(NOT_SHUT_DOWN.to_owned()) }
    }

    fn note_shut_down(&self, data_dir: &DataDir, user: &ServerUser) -> Result<()> {
        start::note_shut_down(&data_dir.path, user)
    }

    /// A server whose working directory it is, whoever started it.
    fn running_server(&self, data_dir: &Path) -> Option<u32> {
        let is_server = |exe: PathBuf| {
            let has_server_name =
                exe.file_name().is_some_and(|name| SERVERS.iter().any(|server| name == *server));
            has_server_name || instrument::is_instrument(&exe)
        };
        let pids = process::working_in(data_dir, false);
        pids.into_iter().find(|pid| process::exe_of(*pid).is_some_and(is_server))
    }

    fn socket_port(&self) -> u16 {
        3306
    }

    fn socket_name(&self, _port: u16) -> String {
        SOCKET.to_owned()
    }

    fn apply(&self, start: &Start<'_>) -> Result<Applied> {
        apply(start, &Layout::find(&start.spec.build.root)?)
    }

    fn command(&self, start: &Start<'_>) -> Result<ServerCommand> {
        let Start { spec, data_dir, .. } = *start;
        let layout = Layout::find(&spec.build.root)?;
        let applied = apply(start, &layout)?;
        start::forget_shut_down(&data_dir.path)?;
        let file = data_dir.path.join(settings::FILE);
        let arguments = vec![format!("--defaults-file={}", file.display()).into()];
        Ok(ServerCommand { applied, program: layout.server, arguments })
    }

    fn is_ready(&self, _data_dir: &Path, _build: &Build, _pid: u32, socket: &Path) -> bool {
        start::is_ready(socket)
    }

    /// A port taken in the meantime, or a previous server that is still exiting.
    fn transient_failures(&self) -> &'static [&'static str] {
        &["Address already in use", "Unable to lock ./ibdata1"]
    }

    fn causes(&self) -> &'static [Cause] {
        &CAUSES
    }

    /// A server is a single process; the next start recovers.
    fn signals(&self) -> Signals {
        Signals { clean: Signal::TERM, quick: Signal::KILL, death: Signal::KILL }
    }
}

/// Writes the options of a server.
fn apply(start: &Start<'_>, layout: &Layout) -> Result<Applied> {
    let Start { spec, data_dir, user, listen } = *start;
    let settings = Settings {
        build: &spec.build,
        layout,
        user,
        data_dir: &data_dir.path,
        temp_dir: data_dir.create_temp_dir(user)?,
        instrumented: spec.instrument.is_some(),
        placed: spec.cpus.is_some(),
    };
    settings.apply(&spec.config, listen, &data_dir.path.join(settings::FILE))
}

/// The version up to its second number, with any prefix.
fn series(label: &str) -> Vec<&str> {
    label.split('.').take(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_compared_with_their_dbms() {
        assert_eq!(series("mysql-5.7.22"), series("mysql-5.7.19"));
        assert_ne!(series("mysql-5.6.14"), series("mysql-5.7.22"));
        assert_ne!(series("mariadb-10.2.11"), series("mariadb-10.11.5"));
    }

    #[test]
    fn an_error_that_names_an_option_of_the_config_blames_it() {
        let log = "2026-11-28T08:39:29Z 0 [Warning] [MY-010161] [Server] You need --log-bin for --max-connections.\n\
                   2026-11-28T08:39:32Z 0 [ERROR] [MY-013797] [Server] Option --authentication-policy is set to an \
                   invalid value.\n2026-11-28T08:39:32Z 0 [ERROR] [MY-010119] [Server] Aborting";
        let why = |option: &str| {
            let options = vec![(option.to_owned(), "1".to_owned())];
            let config = Config { options, ..crate::load_config(Dbms::Mysql, "9.7.4", "sized").unwrap() };
            Mysql { dbms: Dbms::Mysql }.why(&config, log)
        };
        let blamed = why("authentication_policy");
        assert!(blamed.refuses_config && blamed.telling.starts_with("[ERROR] [MY-013797]"), "{blamed:?}");
        assert!(
            blamed.hint.contains("--authentication-policy") && blamed.hint.contains("new run"),
            "{blamed:?}"
        );
        // One that only a warning names is not to blame, nor is one that is part of another's name.
        for other in ["max_connections", "authentication"] {
            assert!(!why(other).refuses_config, "{other}");
        }
    }

    #[test]
    fn the_first_known_cause_gives_the_hint() {
        let hint = |tail: &str| Mysql { dbms: Dbms::Mysql }.hint(tail);
        assert!(
            hint("[ERROR] InnoDB: Error number 28 means 'No space left on device'").contains("disk is full")
        );
        let mmap = |level| format!("[{level}] [MY-012681] [InnoDB] mmap(24696061952 bytes) failed; errno 12");
        assert!(hint(&mmap("ERROR")).contains("`sized`"));
        assert_eq!(hint(&mmap("Warning")), "", "it falls back from large pages");
        assert_eq!(hint("[ERROR] Aborting"), "");
    }
}
