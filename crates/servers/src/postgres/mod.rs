//! Servers of PostgreSQL, 9.3 to 18.

mod available;
mod conf;
mod contrib;
mod init;
mod preloaded;
mod settings;
pub(crate) mod shared_memory;
mod shipped;

use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rqps_builds::held_dir::HeldDir;
use rqps_builds::{Build, ServerUser, server_user};
use rustix::process::Signal;

use crate::config::Config;
use crate::data_dir::{DataDir, Marker};
use crate::error::{Error, Result};
use crate::host::HostLimits;
use crate::instrument;
use crate::new_data_dir::NewDataDir;
use crate::option::Line;
use crate::private::read_private;
use crate::process::{self, end_stragglers};
use crate::spec::Applied;
use crate::system::{Cause, Known, NOT_SHUT_DOWN, PORT_TAKEN, ServerCommand, Signals, Start, System};
use settings::Settings;

/// Holds the server's pid and state.
const PID_FILE: &str = "postmaster.pid";

/// Offset of the state in `global/pg_control`, after the system identifier and two versions
/// (`ControlFileData` in `pg_control.h`; the same in all versions).
const STATE_AT: usize = 16;

/// Value of the state after a clean shutdown (`DB_SHUTDOWNED`).
const STATE_SHUT_DOWN: u32 = 1;

/// Protocol version 3.0.
const PROTOCOL: i32 = 196_608;

/// More than a server sends before it gets the password.
const ANSWER_BYTES_MAX: u64 = 1024;

/// Options that affect the files or statistics of a load.
const DATA_OPTIONS: [&str; 5] = [
    "default_statistics_target",
    "default_table_access_method",
    "default_tablespace",
    "default_toast_compression",
    "default_with_oids",
];

/// Known causes of a failed start.
const CAUSES: [Cause; 8] = [
    (
        &["No space left on device", "Check free disk space"],
        "the disk is full: free some space, or set RQPS_WORK to a directory on another disk",
    ),
    (
        &[
            "could not map anonymous shared memory",
            "could not create shared memory segment",
            "Cannot allocate memory",
        ],
        "not enough memory for this config: lower shared_buffers, or use config `sized`; with huge_pages = on reserve \
         enough huge pages (vm.nr_hugepages)",
    ),
    PORT_TAKEN,
    (
        &["pre-existing shared memory block"],
        "processes of an earlier server still hold its memory: wait until they have exited",
    ),
    (
        &["could not create semaphores"],
        "the kernel's semaphore limit is reached: raise kernel.sem, or stop other servers",
    ),
    (
        &["could not access file", "could not load library"],
        "this build lacks or cannot load a library that the config names: remove it from shared_preload_libraries",
    ),
    (
        &["io_uring"],
        "io_uring is not permitted here: check kernel.io_uring_disabled and the locked-memory limit, or use another \
         io_method",
    ),
    (
        &["could not load locale", "invalid locale"],
        "this system lacks a locale that the data directory needs",
    ),
];

pub(crate) struct Postgres;

impl System for Postgres {
    fn shipped(&self) -> &'static [(&'static str, &'static str)] {
        &shipped::FILES
    }

    fn shipped_text(&self, name: &str, limits: &HostLimits) -> Option<String> {
        shipped::text(name, limits)
    }

    fn line(&self, _section: &mut String, line: &str, _version: &str) -> std::result::Result<Line, String> {
        conf::parse_line(line)
    }

    fn own_options(&self) -> &'static [&'static str] {
        &settings::OWN_OPTIONS
    }

    fn format_option(&self, option: &str, value: &str) -> String {
        settings::format_option(option, value)
    }

    fn fill(&self, new: &NewDataDir<'_>) -> Result<Applied> {
        init::fill(new)
    }

    fn known_options<'a>(
        &self,
        build: &'a Build,
        _config: &Config,
        user: &'a ServerUser,
        place: &'a Path,
    ) -> Result<Box<dyn Known + 'a>> {
        Ok(Box::new(Settings { build, user, data_dir: place }.known()?))
    }

    fn misspelled(&self, build: &Build, option: (&str, &str)) -> Vec<(String, String)> {
        available::misspelled(&build.bin_dir, option)
    }

    /// The major version, and the options that affect the files.
    fn data_key(&self, build: &Build, config: &Config) -> String {
        let number = build.version_num();
        let mut key = format!("postgres {}", if number >= 100_000 { number / 10_000 } else { number / 100 });
        for (name, value) in config.options.iter().filter(|(name, _)| DATA_OPTIONS.contains(&name.as_str())) {
            key.push_str(&format!(" {name}={value}"));
        }
        key
    }

    fn check_data_dir(&self, data_dir: &DataDir, build: &Build, _marker: &Marker) -> Result<()> {
        let version = read_private(&data_dir.path.join("PG_VERSION"), server_user()?.uid)?;
        let version = String::from_utf8_lossy(&version);
        let version = version.trim();
        let same_series = build
            .version
            .strip_prefix(version)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
        if same_series {
            return remove_stale_pid_file(data_dir, build);
        }
        Err(Error::BadDataDir {
            path: data_dir.path.clone(),
            reason: format!(
                "it was created by PostgreSQL {version}, but the build is {}: use a build of the same major version, or \
                 create the data directory again",
                build.version
            ),
        })
    }

    fn check_shut_down(&self, data_dir: &Path) -> std::result::Result<(), String> {
        let read = |owner| HeldDir::open(data_dir)?.read(Path::new("global/pg_control"), Some(owner));
        let content = server_user().and_then(|user| read(user.uid)).map_err(|error| error.to_string())?;
        let state = content.get(STATE_AT..STATE_AT + 4).and_then(|bytes| bytes.try_into().ok());
        match state.map(u32::from_ne_bytes) {
            Some(STATE_SHUT_DOWN) => Ok(()),
            _ => Err(NOT_SHUT_DOWN.to_owned()),
        }
    }

    /// The process named in `postmaster.pid`, if it is a Postgres.
    fn running_server(&self, data_dir: &Path) -> Option<u32> {
        let pid = postmaster_pid(&data_dir.join(PID_FILE))?;
        let exe = process::exe_of(pid)?;
        let is_server = exe.file_name().is_some_and(|name| name == "postgres" || name == "postmaster");
        (is_server || instrument::is_instrument(&exe)).then_some(pid)
    }

    fn socket_port(&self) -> u16 {
        5432
    }

    fn socket_name(&self, port: u16) -> String {
        format!(".s.PGSQL.{port}")
    }

    fn apply(&self, start: &Start<'_>) -> Result<Applied> {
        let Start { spec, data_dir, user, listen } = *start;
        Settings { build: &spec.build, user, data_dir: &data_dir.path }.apply(&spec.config, listen)
    }

    fn command(&self, start: &Start<'_>) -> Result<ServerCommand> {
        let Start { spec, data_dir, .. } = *start;
        Ok(ServerCommand {
            applied: self.apply(start)?,
            program: spec.build.bin_dir.join("postgres"),
            arguments: vec!["-D".into(), data_dir.path.clone().into()],
        })
    }

    fn is_ready(&self, data_dir: &Path, build: &Build, pid: u32, socket: &Path) -> bool {
        // It reports ready before all background processes have started, and accepts sessions after that.
        (build.version_num() < 100_000 || pid_file_is_ready(data_dir, pid)) && requests_password(socket)
    }

    /// A port taken in the meantime, or processes of the previous server that are still exiting.
    fn transient_failures(&self) -> &'static [&'static str] {
        &["Address already in use", "pre-existing shared memory block"]
    }

    fn causes(&self) -> &'static [Cause] {
        &CAUSES
    }

    /// Fast and immediate shutdown.
    fn signals(&self) -> Signals {
        Signals { clean: Signal::INT, quick: Signal::QUIT, death: Signal::QUIT }
    }
}

/// Removes `postmaster.pid` if its pid belongs to another program by now, or to a zombie (if rqps died with
/// the server and nothing reaps orphans). Postgres removes it only if no process has that pid. Call when no
/// server is running.
fn remove_stale_pid_file(data_dir: &DataDir, build: &Build) -> Result<()> {
    let path = data_dir.path.join(PID_FILE);
    if !postmaster_pid(&path).is_some_and(process::exists) {
        return Ok(());
    }
    // Postgres uses this file to find sessions that outlived their main process, so end them first.
    end_stragglers(&data_dir.path, &build.bin_dir.join("postgres"));
    fs::remove_file(&path).map_err(Error::file("remove", &path))
}

fn read_pid_file(path: &Path) -> Option<String> {
    let text = read_private(path, server_user().ok()?.uid).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

fn postmaster_pid(path: &Path) -> Option<u32> {
    read_pid_file(path)?.lines().next()?.trim().parse().ok()
}

/// From 10 on, the eighth line of `postmaster.pid` has the state.
fn pid_file_is_ready(data_dir: &Path, pid: u32) -> bool {
    let Some(text) = read_pid_file(&data_dir.join(PID_FILE)) else {
        return false;
    };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.first() == Some(&pid.to_string().as_str()) && lines.get(7) == Some(&"ready")
}

/// Connects like a client. A starting server answers with an error, a ready one requests the password. The
/// session has ended when this returns.
fn requests_password(socket: &Path) -> bool {
    let Ok(mut stream) = UnixStream::connect(socket) else {
        return false;
    };
    let mut body = PROTOCOL.to_be_bytes().to_vec();
    body.extend_from_slice(b"user\0rqps\0database\0postgres\0\0");
    let length = i32::try_from(body.len() + 4).unwrap_or(i32::MAX);
    let mut message = length.to_be_bytes().to_vec();
    message.append(&mut body);
    let mut answer = [0; 5];
    let is_ready = stream.set_read_timeout(Some(Duration::from_secs(2))).is_ok()
        && stream.write_all(&message).is_ok()
        && stream.read_exact(&mut answer).is_ok()
        && answer[0] == b'R';
    if is_ready {
        // Closing with unread data would be logged. The server closes after our shutdown.
        let _closing = stream.shutdown(Shutdown::Write);
        let _read = std::io::copy(&mut stream.take(ANSWER_BYTES_MAX), &mut std::io::sink());
    }
    is_ready
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_known_cause_gives_the_hint() {
        let hint = |tail: &str| Postgres.hint(tail);
        assert!(hint("FATAL:  could not write file: No space left on device").contains("disk is full"));
        assert!(
            hint("FATAL:  could not map anonymous shared memory: Cannot allocate memory").contains("`sized`")
        );
        assert_eq!(hint("FATAL:  something else"), "");
    }
}
