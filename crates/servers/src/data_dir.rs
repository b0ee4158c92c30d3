//! A server's data directory and what rqps keeps beside it.
//!
//! For a data directory `X` there are: `X/rqps.json`, the marker that rqps made it; `X.password`, the superuser's,
//! which servers cannot read: they all run as one user; `X.lock`, locked while an rqps works on it; `X.server.json`,
//! the process that serves it; `X.sock/`, its Unix socket; `X.server.tmp/`, its temporary files, where it needs a place
//! for them; `X.initdb/`, the next `X` while it is being made. Only what carries the marker is ever removed.
//!
//! `X` belongs to the server's user. What is done in it goes by `held_dir`, since links may have been planted there.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rqps_model::Dbms;
use rustix::fs::OFlags;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use crate::dbms::{self, Signals};
use crate::error::{Error, Result};
use crate::freeze;
use crate::guard::DeathSignal;
use crate::held_dir::HeldDir;
use crate::identity::sha256_hex;
use crate::memory;
use crate::process::{self, Identity};
use crate::user::{ServerUser, server_user};

/// The marker's name within a data directory.
const MARKER: &str = "rqps.json";

/// Longest path of a socket directory: the kernel allows 107 bytes for the socket, whose own name takes some.
const SOCKET_DIR_BYTES_MAX: usize = 90;

/// How long a server left behind may take for a clean shutdown before it is ended harder.
const LEFTOVER_PATIENCE: Duration = Duration::from_secs(5);

/// How long a server may take to end whose rqps was killed while it started.
const ORPHAN_PATIENCE: Duration = Duration::from_secs(3);

/// How long a lock may be held by what only passes by, and how often that is looked at.
const LOCK_WAIT: Duration = Duration::from_secs(1);
const LOCK_POLL: Duration = Duration::from_millis(20);

/// Ends any server whose marker is gone.
const ANY_SERVER: Signals = Signals { clean: Signal::TERM, quick: Signal::QUIT, death: DeathSignal::Kill };

/// Written into each data directory that rqps makes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Marker {
    pub dbms: Dbms,
    /// `postgres-18.1`.
    pub build: String,
}

/// The process that serves a data directory, as written beside it.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    process: Identity,
    socket_dir: PathBuf,
}

/// A data directory by its absolute path.
#[derive(Debug, Clone)]
pub(crate) struct DataDir {
    pub path: PathBuf,
}

impl DataDir {
    pub fn at(path: &Path) -> Result<DataDir> {
        let path = std::path::absolute(path).map_err(Error::file("find", path))?;
        if path.parent().is_none() || path.file_name().is_none() {
            return Err(Error::NotOurs { path });
        }
        Ok(DataDir { path })
    }

    /// The path with something behind its last name.
    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(suffix);
        PathBuf::from(name)
    }

    /// Where the next content is made.
    pub fn staging(&self) -> PathBuf {
        self.beside(".initdb")
    }

    fn record_path(&self) -> PathBuf {
        self.beside(".server.json")
    }

    /// The last name of the path, for log files.
    pub fn name(&self) -> String {
        self.path.file_name().map_or_else(|| "server".to_owned(), |name| name.to_string_lossy().into_owned())
    }

    fn lock_path(&self) -> PathBuf {
        self.beside(".lock")
    }

    /// Keeps every other rqps off this directory until the returned file is dropped. A lock that is held for a moment
    /// only is waited for: what another thread has just forked holds all open files until it runs its own program.
    pub fn lock(&self) -> Result<File> {
        let path = self.lock_path();
        let start = Instant::now();
        loop {
            let file = OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .mode(0o600)
                .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
                .open(&path)
                .map_err(Error::file("create", &path))?;
            match file.try_lock() {
                Ok(()) if is_same_file(&file, &path) => return Ok(file),
                // Who held it before has removed it with the data.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if start.elapsed() < LOCK_WAIT => thread::sleep(LOCK_POLL),
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::InUse {
                        path: self.path.clone(),
                        holder: "another server of this or another running rqps".to_owned(),
                    });
                }
                Err(TryLockError::Error(error)) => return Err(Error::file("lock", &path)(error)),
            }
        }
    }

    /// Takes the lock's file away. Call with the lock held, when nothing is left to lock.
    pub fn remove_lock(&self) -> Result<()> {
        let path = self.lock_path();
        fs::remove_file(&path).map_err(Error::file("remove", &path))
    }

    /// The marker, when there is one.
    pub fn marker(&self) -> Option<Marker> {
        read_marker(&self.path)
    }

    fn password_path(&self) -> PathBuf {
        self.beside(".password")
    }

    pub fn password(&self) -> Result<String> {
        let path = self.password_path();
        let bad = |reason: &str| Error::BadDataDir {
            path: self.path.clone(),
            reason: format!("{} {reason}: make the data directory anew", path.display()),
        };
        if fs::symlink_metadata(&path).is_err() {
            return Err(bad("is not there"));
        }
        String::from_utf8(read_private(&path, rustix::process::geteuid().as_raw())?)
            .map_err(|_| bad("holds no password"))
    }

    /// Keeps it where this user alone can read it.
    pub fn keep_password(&self, password: &str) -> Result<()> {
        in_its_dir(&self.password_path(), |dir, name| dir.write(name, password.as_bytes(), None))
    }

    /// Where the socket goes: beside the data, or in `/tmp` when that path is too long for a socket.
    pub fn socket_dir(&self) -> PathBuf {
        let beside = self.beside(".sock");
        if beside.as_os_str().len() <= SOCKET_DIR_BYTES_MAX {
            return beside;
        }
        let digest = sha256_hex(self.path.as_os_str().as_encoded_bytes());
        PathBuf::from(format!("/tmp/rqps-sock-{}", &digest[..16]))
    }

    /// Creates the socket directory anew, for the server's user alone. Call with the lock held, which says
    /// that no server is using it.
    pub fn create_socket_dir(&self, user: &ServerUser) -> Result<PathBuf> {
        let path = self.socket_dir();
        if let Ok(meta) = fs::symlink_metadata(&path) {
            let owner = meta.uid();
            let ours = owner == user.uid || owner == rustix::process::geteuid().as_raw();
            if !meta.is_dir() || !ours {
                return Err(Error::BadDataDir {
                    path: self.path.clone(),
                    reason: format!("{} is in the way of its socket: remove it", path.display()),
                });
            }
            fs::remove_dir_all(&path).map_err(Error::file("remove", &path))?;
        }
        DirBuilder::new().mode(0o700).create(&path).map_err(Error::file("create", &path))?;
        user.give(&path)?;
        Ok(path)
    }

    /// Creates anew a directory for the server's temporary files, on the disk of its data.
    pub fn create_temp_dir(&self, user: &ServerUser) -> Result<PathBuf> {
        let path = self.temp_dir();
        if path.is_dir() {
            fs::remove_dir_all(&path).map_err(Error::file("remove", &path))?;
        }
        DirBuilder::new().mode(0o700).create(&path).map_err(Error::file("create", &path))?;
        user.give(&path)?;
        Ok(path)
    }

    fn temp_dir(&self) -> PathBuf {
        self.beside(".server.tmp")
    }

    /// Notes which process serves this directory.
    pub fn write_record(&self, pid: u32, socket_dir: &Path) -> Result<()> {
        let Some(process) = Identity::of(pid) else {
            return Ok(());
        };
        let record = Record { process, socket_dir: socket_dir.to_path_buf() };
        let path = self.record_path();
        let text =
            serde_json::to_string(&record).map_err(|error| Error::file("write", &path)(error.into()))?;
        in_its_dir(&path, |dir, name| dir.write(name, text.as_bytes(), None))
    }

    /// After a stop: takes away the note, the socket, temporary files and the limit of memory.
    pub fn clear_record(&self) {
        // Nothing depends on them; the next start replaces both.
        let _gone = fs::remove_file(self.record_path());
        let _gone = fs::remove_dir_all(self.socket_dir());
        let _gone = fs::remove_dir_all(self.temp_dir());
        memory::remove(&self.path);
    }

    /// Ends the server that an rqps left behind, when the process noted is still that very process. Returns
    /// whether there was one. Call with the lock held, which says that no rqps is using it.
    ///
    /// # Errors
    /// When somebody else's server is at work on it, or the process noted cannot be ended.
    pub fn reap(&self) -> Result<bool> {
        let record = fs::read_to_string(self.record_path())
            .ok()
            .and_then(|text| serde_json::from_str::<Record>(&text).ok());
        let found = record.as_ref().is_some_and(|record| record.process.alive());
        if !found {
            self.check_not_foreign()?;
        }
        let Some(record) = record else {
            return Ok(false);
        };
        if found {
            let signals = self.marker().map_or(ANY_SERVER, |marker| dbms::of(marker.dbms).signals());
            end(&record.process, signals);
        }
        end_stragglers(&self.path, &record.process.exe);
        if record.process.alive() {
            return Err(Error::InUse {
                path: self.path.clone(),
                holder: format!("pid {}, left by an earlier rqps, which cannot be ended", record.process.pid),
            });
        }
        self.clear_record();
        Ok(found)
    }

    /// Refuses when a server is at work here that is not noted. One that an rqps was killed over while it
    /// started is not noted either, but about to end.
    fn check_not_foreign(&self) -> Result<()> {
        let deadline = Instant::now() + ORPHAN_PATIENCE;
        let at_work = |dbms: Dbms| Some((dbms, dbms::of(dbms).server_at_work(&self.path)?));
        while let Some((dbms, pid)) = Dbms::ALL.into_iter().find_map(at_work) {
            if Instant::now() >= deadline {
                return Err(Error::InUse {
                    path: self.path.clone(),
                    holder: format!("a {dbms} server with pid {pid} that this rqps did not start"),
                });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Removes the data directory and all beside it but the lock. Refused for what rqps did not make.
    pub fn remove(&self) -> Result<()> {
        for path in [self.path.clone(), self.staging()] {
            let Ok(meta) = fs::symlink_metadata(&path) else { continue };
            if !meta.is_dir() {
                return Err(Error::NotOurs { path });
            }
            if !holds_marker_alone(&path)? && read_marker(&path).is_none() {
                return Err(Error::NotOurs { path });
            }
            if path == self.staging() {
                end_makers(&path);
            }
            remove_marker_last(&path)?;
        }
        self.clear_record();
        in_its_dir(&self.password_path(), HeldDir::remove_file)
    }
}

fn read_marker(dir: &Path) -> Option<Marker> {
    serde_json::from_slice(&read_private(&dir.join(MARKER), server_user().ok()?.uid).ok()?).ok()
}

/// Marks a directory as made by rqps.
pub(crate) fn write_marker(dir: &Path, marker: &Marker, user: &ServerUser) -> Result<()> {
    let path = dir.join(MARKER);
    let text = serde_json::to_string(marker).map_err(|error| Error::file("write", &path)(error.into()))?;
    write_private(&path, text.as_bytes(), user)
}

/// Writes a file that only the server's user may read.
pub(crate) fn write_private(path: &Path, content: &[u8], user: &ServerUser) -> Result<()> {
    in_its_dir(path, |dir, name| dir.write(name, content, Some(user)))
}

/// Reads a file of this owner, which may lie in a directory of the server's user.
pub(crate) fn read_private(path: &Path, owner: u32) -> Result<Vec<u8>> {
    in_its_dir(path, |dir, name| dir.read(name, Some(owner)))
}

/// Does something with a name in its directory, which must not be a link.
fn in_its_dir<T>(path: &Path, work: impl FnOnce(&HeldDir, &Path) -> Result<T>) -> Result<T> {
    let odd = || Error::NotOurs { path: path.to_path_buf() };
    let (dir, name) = path.parent().zip(path.file_name()).ok_or_else(odd)?;
    work(&HeldDir::open(dir)?, Path::new(name))
}

fn is_same_file(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(named)) => open.ino() == named.ino() && open.dev() == named.dev(),
        _ => false,
    }
}

/// Whether nothing is in a directory, or at most a marker, be it half written.
fn holds_marker_alone(dir: &Path) -> Result<bool> {
    let mut entries = fs::read_dir(dir).map_err(Error::file("list", dir))?.flatten();
    Ok(entries.all(|entry| entry.file_name() == MARKER))
}

/// Removes a directory so that what is left of it by a crash in between still counts as made by rqps.
fn remove_marker_last(dir: &Path) -> Result<()> {
    let entries = fs::read_dir(dir).map_err(Error::file("list", dir))?;
    for entry in entries.flatten().filter(|entry| entry.file_name() != MARKER) {
        let path = entry.path();
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let removed = if is_dir { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(Error::file("remove", &path))?;
    }
    fs::remove_dir_all(dir).map_err(Error::file("remove", dir))
}

/// Ends a process that is not our child, from gentle to hard.
fn end(process: &Identity, signals: Signals) {
    // It may have been frozen when its rqps was killed.
    freeze::thaw(process.pid);
    for (signal, patience) in [
        (signals.clean, LEFTOVER_PATIENCE),
        (signals.quick, Duration::from_secs(2)),
        (Signal::KILL, Duration::from_secs(2)),
    ] {
        // An error means that it has just ended, or that it is not ours to end, which shows below.
        let _sent = process::signal(process.pid, signal);
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            if !process.alive() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Ends processes of a server whose main process is gone: they run its program, in its data directory. They
/// would notice by themselves, but not before their present query ends.
pub(crate) fn end_stragglers(data_dir: &Path, exe: &Path) {
    for pid in process::running_in(data_dir, exe) {
        // It may end by itself at this moment.
        let _sent = process::signal(pid, Signal::KILL);
    }
}

/// Ends what still works on a data directory that was being made when its rqps was killed: initdb is gone
/// with it, but not at once the server program that initdb has started. Nobody else has any business there.
fn end_makers(staging: &Path) {
    let deadline = Instant::now() + ORPHAN_PATIENCE;
    loop {
        let makers = process::working_below(staging);
        if makers.is_empty() || Instant::now() >= deadline {
            return;
        }
        for pid in makers {
            // It may end by itself at this moment.
            let _sent = process::signal(pid, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Ends the server that an rqps which crashed left on this data directory, if there is one: pid, start time and program
/// must match what was noted, so that no other process is ever ended. Returns whether there was one.
///
/// # Errors
/// When a running rqps uses the directory, or the process cannot be ended.
pub fn reap_leftover(data_dir: &Path) -> Result<bool> {
    let data_dir = DataDir::at(data_dir)?;
    if !data_dir.path.exists() {
        return Ok(false);
    }
    let _lock = data_dir.lock()?;
    data_dir.reap()
}

/// Removes a data directory that rqps made, with everything kept beside it; a server left on it is ended before. A
/// directory that does not exist is no error.
///
/// # Errors
/// When rqps did not make it, or it is in use.
pub fn remove_data_dir(data_dir: &Path) -> Result<()> {
    let data_dir = DataDir::at(data_dir)?;
    let parts = [data_dir.path.clone(), data_dir.staging(), data_dir.lock_path()];
    if !parts.iter().any(|path| path.exists()) {
        return Ok(());
    }
    let _lock = data_dir.lock()?;
    data_dir.reap()?;
    data_dir.remove()?;
    data_dir.remove_lock()
}

/// The user servers run as, checked against the data directory's place, which is created if missing.
pub(crate) fn prepare_parent(data_dir: &DataDir) -> Result<ServerUser> {
    let user = server_user()?;
    if let Some(parent) = data_dir.path.parent() {
        crate::dirs::create_open_dir(parent)?;
        user.check_reachable(parent, "set RQPS_WORK to a directory that everybody can enter")?;
    }
    Ok(user)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    fn scratch() -> (tempfile::TempDir, DataDir) {
        let dir = tempfile::tempdir().unwrap();
        let data_dir = DataDir::at(&dir.path().join("data")).unwrap();
        fs::create_dir(&data_dir.path).unwrap();
        (dir, data_dir)
    }

    fn sleeper() -> Child {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    #[test]
    fn only_the_very_process_noted_is_ended() {
        let (_dir, data_dir) = scratch();
        let mut ours = sleeper();
        data_dir.write_record(ours.id(), &data_dir.socket_dir()).unwrap();
        assert!(reap_leftover(&data_dir.path).unwrap());
        assert!(!ours.wait().unwrap().success());
        assert!(!reap_leftover(&data_dir.path).unwrap());

        let mut stranger = sleeper();
        data_dir.write_record(stranger.id(), &data_dir.socket_dir()).unwrap();
        let record = fs::read_to_string(data_dir.record_path()).unwrap();
        fs::write(data_dir.record_path(), record.replace("\"start_ticks\":", "\"start_ticks\":1")).unwrap();
        assert!(!reap_leftover(&data_dir.path).unwrap());
        assert!(stranger.try_wait().unwrap().is_none());
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }

    #[test]
    fn what_rqps_did_not_make_is_left_alone() {
        let (_dir, data_dir) = scratch();
        let file = data_dir.path.join("precious");
        fs::write(&file, "").unwrap();
        let message = remove_data_dir(&data_dir.path).unwrap_err().to_string();
        assert!(message.contains("was not made by rqps"), "{message}");
        assert!(file.exists());
        let marker = Marker { dbms: Dbms::Postgres, build: "postgres-18.1".to_owned() };
        write_marker(&data_dir.path, &marker, &server_user().unwrap()).unwrap();
        remove_data_dir(&data_dir.path).unwrap();

        // Half made or half removed: nothing but a marker, or only the lock.
        fs::create_dir(&data_dir.path).unwrap();
        fs::write(data_dir.path.join(MARKER), "{").unwrap();
        remove_data_dir(&data_dir.path).unwrap();
        drop(data_dir.lock().unwrap());
        remove_data_dir(&data_dir.path).unwrap();
        assert_eq!(fs::read_dir(data_dir.path.parent().unwrap()).unwrap().count(), 0);
    }

    #[test]
    fn a_long_path_puts_the_socket_elsewhere() {
        let short = DataDir::at(Path::new("/var/tmp/x")).unwrap();
        assert_eq!(short.socket_dir(), Path::new("/var/tmp/x.sock"));
        let long = DataDir::at(&Path::new("/var/tmp").join("x".repeat(100))).unwrap();
        assert!(long.socket_dir().starts_with("/tmp"));
    }
}
