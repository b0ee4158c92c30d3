//! Databases of RocksDB, each in a process of its own that rqps starts: the engine process.

mod conf;
mod options;
mod shipped;

use std::os::unix::net::UnixStream;
use std::path::Path;

use rqps_builds::rocksdb::{ENGINE_ARGUMENT, engine_program, library_of};
use rqps_builds::{Build, ServerUser};
use rustix::process::Signal;

use crate::config::Config;
use crate::data_dir::{DataDir, Marker};
use crate::error::Result;
use crate::host::HostLimits;
use crate::new_data_dir::NewDataDir;
use crate::option::Line;
use crate::process;
use crate::spec::Applied;
use crate::system::{CORRECT_CONFIG, Cause, Known, ServerCommand, Signals, Start, System};

const SOCKET: &str = "engine.sock";

/// How RocksDB reports data that are not what it wrote.
const DAMAGE: &[&str] = &["Corruption: ", "MANIFEST-"];

/// Known causes of a failed start.
const CAUSES: [Cause; 8] = [
    (
        &["No space left on device"],
        "the disk is full: free some space, or set RQPS_WORK to a directory on another disk",
    ),
    (&["cannot load"], "`rqps builds` shows the build; install the package of the missing library"),
    (
        &["lock hold by current process", "While lock file"],
        "another process uses the database: wait until it has exited",
    ),
    (
        &["not linked with the binary"],
        "this build lacks that compression: use config `sized` without it, or a build that has it",
    ),
    (
        &["Direct I/O is not supported"],
        "the file system has no O_DIRECT (tmpfs has none): set RQPS_WORK to a directory on a disk",
    ),
    (
        DAMAGE,
        "the database is damaged, or a newer release wrote it: `rqps resume` starts its arm over from the load",
    ),
    (
        &["cannot catch foreign exceptions"],
        "the library rejected the options of the config by an exception instead of an error: correct the config's values; \
         leave out its options by halves to find the one",
    ),
    (&["Error parsing", "Invalid argument"], CORRECT_CONFIG),
];

pub(crate) struct Rocksdb;

impl System for Rocksdb {
    fn shipped(&self) -> &'static [(&'static str, &'static str)] {
        &shipped::FILES
    }

    fn shipped_text(&self, name: &str, limits: &HostLimits) -> Option<String> {
        shipped::text(name, limits)
    }

    fn line(&self, section: &mut String, line: &str, _version: &str) -> std::result::Result<Line, String> {
        conf::parse_line(section, line)
    }

    fn format_option(&self, option: &str, value: &str) -> String {
        options::format_option(option, value)
    }

    /// RocksDB creates its files when it opens the database for the first time.
    fn fill(&self, new: &NewDataDir<'_>) -> Result<Applied> {
        options::apply(&new.spec.build, &new.spec.config)
    }

    fn known_options<'a>(
        &self,
        build: &'a Build,
        _config: &Config,
        _user: &'a ServerUser,
        _place: &'a Path,
    ) -> Result<Box<dyn Known + 'a>> {
        Ok(Box::new(options::known(build)?))
    }

    /// Many options decide what files have.
    fn data_key(&self, build: &Build, config: &Config) -> String {
        format!("{} {}", build.hash, config.hash)
    }

    /// Whether a build can read the files only it knows: its error has a hint.
    fn check_data_dir(&self, _data_dir: &DataDir, _build: &Build, _marker: &Marker) -> Result<()> {
        Ok(())
    }

    /// Its files can be copied whenever no process uses them: opening replays the log.
    fn check_shut_down(&self, _data_dir: &Path) -> std::result::Result<(), String> {
        Ok(())
    }

    /// An engine process works in its data directory.
    fn running_server(&self, data_dir: &Path) -> Option<u32> {
        let program = engine_program().ok()?;
        let is_engine = |pid: &u32| process::exe_of(*pid).is_some_and(|exe| exe == program);
        process::working_in(data_dir, false).into_iter().find(is_engine)
    }

    fn socket_port(&self) -> u16 {
        0
    }

    fn socket_name(&self, _port: u16) -> String {
        SOCKET.to_owned()
    }

    fn keeps_empty(&self) -> bool {
        false
    }

    fn apply(&self, start: &Start<'_>) -> Result<Applied> {
        options::apply(&start.spec.build, &start.spec.config)
    }

    fn command(&self, start: &Start<'_>) -> Result<ServerCommand> {
        let Start { spec, data_dir, listen, .. } = *start;
        let applied = self.apply(start)?;
        let library = library_of(&spec.build)?;
        let arguments = vec![
            ENGINE_ARGUMENT.into(),
            "serve".into(),
            library.into(),
            data_dir.path.clone().into(),
            listen.socket_dir.join(SOCKET).into(),
            options::string(&spec.build, &spec.config)?.into(),
        ];
        Ok(ServerCommand { program: engine_program()?, arguments, applied })
    }

    /// It listens only once the database is open.
    fn is_ready(&self, _data_dir: &Path, _build: &Build, _pid: u32, socket: &Path) -> bool {
        UnixStream::connect(socket).is_ok()
    }

    fn transient_failures(&self) -> &'static [&'static str] {
        &["While lock file"]
    }

    fn causes(&self) -> &'static [Cause] {
        &CAUSES
    }

    fn damage(&self) -> &'static [&'static str] {
        DAMAGE
    }

    /// SIGTERM closes the database; the next start recovers from SIGKILL.
    fn signals(&self) -> Signals {
        Signals { clean: Signal::TERM, quick: Signal::KILL, death: Signal::KILL }
    }
}
