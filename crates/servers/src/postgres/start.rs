//! Starting Postgres: what is checked before, how one sees that it is ready, what its last words mean.

use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rqps_builds::held_dir::HeldDir;
use rqps_builds::{Build, server_user};

use crate::config::Config;
use crate::data_dir::DataDir;
use crate::error::{Error, Result};
use crate::instrument;
use crate::private::read_private;
use crate::process::{self, end_stragglers};
use crate::system::advice;

/// Holds the pid and the state of the server at work.
const PID_FILE: &str = "postmaster.pid";

/// Where `global/pg_control` holds the state: after a number of the system, and two versions (`ControlFileData` in
/// `pg_control.h`, the same in all versions).
const STATE_AT: usize = 16;

/// Value of that state after a clean shutdown (`DB_SHUTDOWNED`).
const STATE_SHUT_DOWN: u32 = 1;

/// The protocol's version number 3.0.
const PROTOCOL: i32 = 196_608;

/// More than a server says to a client that gives no password.
const ANSWER_BYTES_MAX: u64 = 1024;

/// Options by which the same load leaves other files or other statistics.
const OPTIONS_OF_DATA: [&str; 5] = [
    "default_statistics_target",
    "default_table_access_method",
    "default_tablespace",
    "default_toast_compression",
    "default_with_oids",
];

/// The major version, and what of the config the files depend on.
pub(crate) fn data_key(build: &Build, config: &Config) -> String {
    let number = build.version_num();
    let mut key = format!("postgres {}", if number >= 100_000 { number / 10_000 } else { number / 100 });
    for (name, value) in config.options.iter().filter(|(name, _)| OPTIONS_OF_DATA.contains(&name.as_str())) {
        key.push_str(&format!(" {name}={value}"));
    }
    key
}

/// Refuses a data directory of another major version.
pub(crate) fn check_data_dir(data_dir: &DataDir, build: &Build) -> Result<()> {
    let version = read_private(&data_dir.path.join("PG_VERSION"), server_user()?.uid)?;
    let version = String::from_utf8_lossy(&version);
    let version = version.trim();
    let same_series = build
        .version
        .strip_prefix(version)
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
    if !same_series {
        return Err(Error::BadDataDir {
            path: data_dir.path.clone(),
            reason: format!(
                "it was made by PostgreSQL {version} and the build is {}: take a build of the same series, or make the \
                 data directory anew",
                build.version
            ),
        });
    }
    remove_stale_pid_file(data_dir, build)
}

/// Refuses a data directory whose server was not shut down cleanly, with the reason. Call when no server is at work.
pub(crate) fn check_shut_down(data_dir: &Path) -> std::result::Result<(), String> {
    let read = |owner| HeldDir::open(data_dir)?.read(Path::new("global/pg_control"), Some(owner));
    let content = server_user().and_then(|user| read(user.uid)).map_err(|error| error.to_string())?;
    let state = content.get(STATE_AT..STATE_AT + 4).and_then(|bytes| bytes.try_into().ok());
    if state.map(u32::from_ne_bytes) == Some(STATE_SHUT_DOWN) {
        return Ok(());
    }
    Err("its server was not shut down cleanly: start it and stop it first".to_owned())
}

/// The server at work on a data directory: the process that `postmaster.pid` names, while it is a Postgres.
pub(crate) fn server_at_work(data_dir: &Path) -> Option<u32> {
    let pid = postmaster_pid(&data_dir.join(PID_FILE))?;
    let exe = process::exe_of(pid)?;
    let is_server = exe.file_name().is_some_and(|name| name == "postgres" || name == "postmaster");
    (is_server || instrument::is_instrument(&exe)).then_some(pid)
}

/// Removes `postmaster.pid` when its process is something else by now, or has ended without anybody having waited for
/// it (where rqps died with it, and nobody adopts): Postgres itself does so only when there is no such process. Call
/// when no server is at work.
fn remove_stale_pid_file(data_dir: &DataDir, build: &Build) -> Result<()> {
    let path = data_dir.path.join(PID_FILE);
    if !postmaster_pid(&path).is_some_and(process::exists) {
        return Ok(());
    }
    // The file is what tells Postgres of sessions that outlived their main process.
    end_stragglers(&data_dir.path, &build.bin_dir.join("postgres"));
    fs::remove_file(&path).map_err(Error::file("remove", &path))
}

fn pid_file(path: &Path) -> Option<String> {
    let text = read_private(path, server_user().ok()?.uid).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

fn postmaster_pid(path: &Path) -> Option<u32> {
    pid_file(path)?.lines().next()?.trim().parse().ok()
}

/// Whether the server accepts sessions now.
pub(crate) fn is_ready(data_dir: &Path, build: &Build, pid: u32, socket: &Path) -> bool {
    // It says so before it has started all background processes, and takes sessions after that.
    (build.version_num() < 100_000 || says_ready(data_dir, pid)) && greets(socket)
}

/// From 10 on, the eighth line of `postmaster.pid` holds the state.
fn says_ready(data_dir: &Path, pid: u32) -> bool {
    let Some(text) = pid_file(&data_dir.join(PID_FILE)) else {
        return false;
    };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.first() == Some(&pid.to_string().as_str()) && lines.get(7) == Some(&"ready")
}

/// Knocks as a client does. A server that is starting answers with an error, one that is ready asks for the password.
/// The session is over when this returns.
fn greets(socket: &Path) -> bool {
    let Ok(mut stream) = UnixStream::connect(socket) else {
        return false;
    };
    let mut body = PROTOCOL.to_be_bytes().to_vec();
    body.extend_from_slice(b"user\0rqps\0database\0postgres\0\0");
    let length = i32::try_from(body.len() + 4).unwrap_or(i32::MAX);
    let mut message = length.to_be_bytes().to_vec();
    message.append(&mut body);
    let mut answer = [0; 5];
    let asks_for_password = stream.set_read_timeout(Some(Duration::from_secs(2))).is_ok()
        && stream.write_all(&message).is_ok()
        && stream.read_exact(&mut answer).is_ok()
        && answer[0] == b'R';
    if asks_for_password {
        // Closing with something unread would be noted in the log. The server closes when it sees that we do.
        let _closing = stream.shutdown(Shutdown::Write);
        let _read = std::io::copy(&mut stream.take(ANSWER_BYTES_MAX), &mut std::io::sink());
    }
    asks_for_password
}

/// Whether trying the start again may help: a port taken in between, or processes of the server before that are still
/// ending.
pub(crate) fn may_retry(tail: &str) -> bool {
    tail.contains("Address already in use") || tail.contains("pre-existing shared memory block")
}

/// Advice for the causes that are known, on a line of its own, or nothing.
pub(crate) fn hint(tail: &str) -> String {
    let known = [
        (
            &["No space left on device", "Check free disk space"][..],
            "the disk is full: free some space, or set RQPS_WORK to a directory on another disk",
        ),
        (
            &[
                "could not map anonymous shared memory",
                "could not create shared memory segment",
                "Cannot allocate memory",
            ],
            "the host has not enough memory for this config: lower shared_buffers, or take config `sized`; with huge_pages = on \
             reserve as many huge pages (vm.nr_hugepages)",
        ),
        (
            &["Address already in use"],
            "the port was taken by another program each time: try again, or use the Unix socket",
        ),
        (
            &["pre-existing shared memory block"],
            "processes of an earlier server still hold its memory: wait until they have ended",
        ),
        (
            &["could not create semaphores"],
            "the kernel's limit of semaphores is reached: raise kernel.sem, or stop other servers",
        ),
        (
            &["could not access file"],
            "a library that the config names is not in this build: remove it from shared_preload_libraries",
        ),
        (
            &["io_uring"],
            "io_uring is not allowed here: see kernel.io_uring_disabled and the limit of locked memory, or take another \
             io_method",
        ),
        (
            &["could not load locale", "invalid locale"],
            "this system lacks a locale that the data directory needs",
        ),
    ];
    advice(tail, &known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_known_cause_is_hinted_at() {
        assert!(hint("FATAL:  could not write file: No space left on device").contains("disk is full"));
        assert!(
            hint("FATAL:  could not map anonymous shared memory: Cannot allocate memory").contains("`sized`")
        );
        assert_eq!(hint("FATAL:  something else"), "");
    }
}
