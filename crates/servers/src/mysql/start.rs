//! Starting MySQL and MariaDB: what is checked before, how one sees that a server is ready, what its last words mean.

use std::fs;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rqps_builds::{Build, ServerUser};
use rqps_model::Dbms;

use crate::data_dir::{DataDir, Marker};
use crate::error::{Error, Result};
use crate::instrument;
use crate::private::write_private;
use crate::process;
use crate::system::advice;

/// The socket's name in its directory.
pub(crate) const SOCKET: &str = "mysqld.sock";

/// Is in a data directory whose server was shut down cleanly: InnoDB's files say so in a way that changes from version
/// to version.
const SHUT_DOWN: &str = "rqps-shut-down";

/// Version of the protocol with which a server greets; an error has another number in its place.
const PROTOCOL: u8 = 10;

/// The first MySQL that changes the data directory of an older minor version by itself.
const UPGRADES_ITSELF_SINCE: u32 = 80_000;

const SERVERS: [&str; 2] = ["mysqld", "mariadbd"];

/// Refuses a data directory that the build would upgrade, or could not read.
pub(crate) fn check_data_dir(data_dir: &DataDir, build: &Build, marker: &Marker) -> Result<()> {
    let made_by = marker.build.rsplit_once('-').map_or(marker.build.as_str(), |(_, version)| version);
    let same = if build.dbms == Dbms::Mysql && build.version_num() >= UPGRADES_ITSELF_SINCE {
        marker.build == build.label()
    } else {
        series(&marker.build) == series(&build.label())
    };
    if same {
        return Ok(());
    }
    Err(Error::BadDataDir {
        path: data_dir.path.clone(),
        reason: format!(
            "it was made by {} {made_by} and the build is {}, which would change it or cannot read it: take a build of \
             the same version, or make the data directory anew",
            marker.dbms, build.version
        ),
    })
}

/// Up to the second number of a version, whatever stands before it.
fn series(label: &str) -> Vec<&str> {
    label.split('.').take(2).collect()
}

pub(crate) fn check_shut_down(data_dir: &Path) -> std::result::Result<(), String> {
    if data_dir.join(SHUT_DOWN).exists() {
        return Ok(());
    }
    Err("its server was not shut down cleanly: start it and stop it first".to_owned())
}

pub(crate) fn note_shut_down(data_dir: &Path, user: &ServerUser) -> Result<()> {
    write_private(&data_dir.join(SHUT_DOWN), b"", Some(user))
}

/// Takes the note away: what is started may end in any way.
pub(crate) fn forget_shut_down(data_dir: &Path) -> Result<()> {
    let path = data_dir.join(SHUT_DOWN);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::file("remove", &path)(error))
        }
        _ => Ok(()),
    }
}

/// The server at work on a data directory: a server works in it, whoever started it.
pub(crate) fn server_at_work(data_dir: &Path) -> Option<u32> {
    let is_server = |exe: PathBuf| {
        let named = exe.file_name().is_some_and(|name| SERVERS.iter().any(|server| name == *server));
        named || instrument::is_instrument(&exe)
    };
    process::working_in(data_dir).into_iter().find(|pid| process::exe_of(*pid).is_some_and(is_server))
}

/// Whether the server accepts sessions now: it listens while it still starts, but greets when it is ready.
pub(crate) fn is_ready(socket: &Path) -> bool {
    let Ok(mut stream) = UnixStream::connect(socket) else {
        return false;
    };
    // Three bytes of length, a number, and what the packet says.
    let mut start = [0; 5];
    stream.set_read_timeout(Some(Duration::from_secs(2))).is_ok()
        && stream.read_exact(&mut start).is_ok()
        && start[4] == PROTOCOL
}

/// Whether trying the start again may help: a port taken in between, or a server before that is still ending.
pub(crate) fn may_retry(tail: &str) -> bool {
    tail.contains("Address already in use") || tail.contains("Unable to lock ./ibdata1")
}

/// Advice for the causes that are known, on a line of its own, or nothing.
pub(crate) fn hint(tail: &str) -> String {
    advice(
        tail,
        &[
            (
                &["No space left on device", "Disk is full", "Errcode: 28", "OS errno 28", "error number 28"],
                "the disk is full: free some space, set RQPS_WORK to a directory on another disk, or take a config \
                 with less redo log, such as `sized`",
            ),
            (
                &[
                    "Cannot allocate memory",
                    "cannot allocate memory",
                    "errno 12",
                    "Out of memory",
                    "Cannot map",
                ],
                "the host has not enough memory for this config: lower innodb_buffer_pool_size, or take config `sized`",
            ),
            (
                &["Address already in use"],
                "the port was taken by another program each time: try again, or use the Unix socket",
            ),
            (
                &["Unable to lock ./ibdata1", "Unable to lock ./ibdata"],
                "another server still holds the data: wait until it has ended",
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
                "the data are of another version: make the data directory anew",
            ),
            (
                &["Too many open files", "Errcode: 24"],
                "the limit of open files is reached: raise it (`ulimit -n`), or lower table_open_cache",
            ),
            (
                &["io_setup() failed", "io_uring_queue_init() failed", "Linux Native AIO"],
                "the kernel's asynchronous I/O is exhausted or forbidden: raise fs.aio-max-nr, or set \
                 innodb_use_native_aio = OFF",
            ),
            (
                &["Unrecognized value", "Error while setting value", "unknown variable"],
                "correct the value in the config, or take another config for this build",
            ),
            (
                &["Can't open shared library"],
                "a plugin that the config names is not in this build: remove it from plugin_load",
            ),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_of_one_dbms() {
        assert_eq!(series("mysql-5.7.22"), series("mysql-5.7.19"));
        assert_ne!(series("mysql-5.6.14"), series("mysql-5.7.22"));
        assert_ne!(series("mariadb-10.2.11"), series("mariadb-10.11.5"));
    }

    #[test]
    fn the_first_known_cause_is_hinted_at() {
        assert!(
            hint("[ERROR] InnoDB: Error number 28 means 'No space left on device'").contains("disk is full")
        );
        assert!(hint("mmap(24696061952 bytes) failed; errno 12").contains("`sized`"));
        assert_eq!(hint("[ERROR] Aborting"), "");
    }
}
