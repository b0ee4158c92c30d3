//! A server's data directory and the files that rqps keeps next to it.
//!
//! For a data directory `X`: `X/rqps.json` marks it as made by rqps; `X.password` is the superuser's
//! password, unreadable for servers, which all run as one user; `X.lock` is locked while an rqps uses it;
//! `X.server.json` records the server's process; `X.sock/` has its Unix socket; `X.server.tmp/` has its
//! temporary files, if it needs a place for them; `X.initdb/` is the next `X` while it is created. Only
//! directories with the marker are ever removed.
//!
//! `X` belongs to the server's user, who may have planted links in it, so it is accessed through `held_dir`.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rqps_builds::dirs::create_open_dir;
use rqps_builds::{ServerUser, held_dir, server_user, sha256_hex};
use rqps_model::Dbms;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::memory;
use crate::private::{read_private, write_private};
use crate::process::Identity;

pub(crate) const MARKER: &str = "rqps.json";

/// Longest path of a socket directory, in bytes: the kernel allows 107 for the socket with its file name.
const SOCKET_DIR_BYTES_MAX: usize = 90;

/// How long to wait for a briefly held lock, and the polling interval.
const LOCK_WAIT: Duration = Duration::from_secs(1);
const LOCK_POLL: Duration = Duration::from_millis(20);

/// Written into each data directory created by rqps.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Marker {
    pub dbms: Dbms,
    /// `postgres-18.1`.
    pub build: String,
}

/// The process of a server, recorded next to its data directory.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub process: Identity,
}

/// A data directory with its absolute path.
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

    /// Appends a suffix to the last name.
    fn sibling(&self, suffix: &str) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(suffix);
        PathBuf::from(name)
    }

    /// Where new contents are created.
    pub fn staging(&self) -> PathBuf {
        self.sibling(".initdb")
    }

    pub fn record_path(&self) -> PathBuf {
        self.sibling(".server.json")
    }

    /// The last name of the path, for naming log files.
    pub fn name(&self) -> String {
        self.path.file_name().map_or_else(|| "server".to_owned(), |name| name.to_string_lossy().into_owned())
    }

    pub fn lock_path(&self) -> PathBuf {
        self.sibling(".lock")
    }

    /// Locks out every other rqps until the returned file is dropped. Waits for a briefly held lock: a child
    /// just forked by another thread holds all open files until it executes its program.
    pub fn lock(&self) -> Result<File> {
        self.lock_by(File::try_lock)
    }

    /// Locks out whoever would change or remove the directory, but not other readers.
    pub fn lock_shared(&self) -> Result<File> {
        self.lock_by(File::try_lock_shared)
    }

    fn lock_by(&self, try_lock: fn(&File) -> std::result::Result<(), TryLockError>) -> Result<File> {
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
            match try_lock(&file) {
                Ok(()) if is_same_file(&file, &path) => return Ok(file),
                // The previous holder has removed the file with the data.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if start.elapsed() < LOCK_WAIT => thread::sleep(LOCK_POLL),
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::InUse {
                        path: self.path.clone(),
                        holder: "another server of this or another rqps process".to_owned(),
                    });
                }
                Err(TryLockError::Error(error)) => return Err(Error::file("lock", &path)(error)),
            }
        }
    }

    /// Removes the lock file. Call with the lock held, when nothing is left to protect.
    pub fn remove_lock(&self) -> Result<()> {
        let path = self.lock_path();
        fs::remove_file(&path).map_err(Error::file("remove", &path))
    }

    pub fn marker(&self) -> Option<Marker> {
        read_marker(&self.path)
    }

    pub fn password_path(&self) -> PathBuf {
        self.sibling(".password")
    }

    pub fn password(&self) -> Result<String> {
        let path = self.password_path();
        let bad = |reason: &str| Error::BadDataDir {
            path: self.path.clone(),
            reason: format!("{} {reason}: create the data directory again", path.display()),
        };
        if fs::symlink_metadata(&path).is_err() {
            return Err(bad("is missing"));
        }
        String::from_utf8(read_private(&path, rustix::process::geteuid().as_raw())?)
            .map_err(|_| bad("holds no password"))
    }

    /// Stores the password readable by this user alone.
    pub fn write_password(&self, password: &str) -> Result<()> {
        write_private(&self.password_path(), password.as_bytes(), None)
    }

    /// The socket directory: next to the data, or in `/tmp` if that path is too long for a socket.
    pub fn socket_dir(&self) -> PathBuf {
        let path = self.sibling(".sock");
        if path.as_os_str().len() <= SOCKET_DIR_BYTES_MAX {
            return path;
        }
        let digest = sha256_hex(self.path.as_os_str().as_encoded_bytes());
        PathBuf::from(format!("/tmp/rqps-sock-{}", &digest[..16]))
    }

    /// Recreates the socket directory, accessible to the server's user only. Call with the lock held, so that
    /// no server is using it.
    pub fn create_socket_dir(&self, user: &ServerUser) -> Result<PathBuf> {
        let path = self.socket_dir();
        if let Ok(meta) = fs::symlink_metadata(&path) {
            let owner = meta.uid();
            let is_ours = owner == user.uid || owner == rustix::process::geteuid().as_raw();
            if !meta.is_dir() || !is_ours {
                return Err(Error::BadDataDir {
                    path: self.path.clone(),
                    reason: format!("{} blocks its socket directory: remove it", path.display()),
                });
            }
            fs::remove_dir_all(&path).map_err(Error::file("remove", &path))?;
        }
        make_private_dir(&path, user)?;
        Ok(path)
    }

    /// Recreates the directory for the server's temporary files, on the same disk as its data.
    pub fn create_temp_dir(&self, user: &ServerUser) -> Result<PathBuf> {
        let path = self.temp_dir();
        if path.is_dir() {
            fs::remove_dir_all(&path).map_err(Error::file("remove", &path))?;
        }
        make_private_dir(&path, user)?;
        Ok(path)
    }

    fn temp_dir(&self) -> PathBuf {
        self.sibling(".server.tmp")
    }

    /// Records the process that serves this directory.
    pub fn write_record(&self, pid: u32) -> Result<()> {
        let Some(process) = Identity::read(pid) else {
            return Ok(());
        };
        let record = Record { process };
        let path = self.record_path();
        let text =
            serde_json::to_string(&record).map_err(|error| Error::file("write", &path)(error.into()))?;
        write_private(&path, text.as_bytes(), None)
    }

    /// After a stop: removes the record, the socket, temporary files and the memory limit.
    pub fn clear_record(&self) {
        // Best effort: the next start replaces them.
        let _gone = fs::remove_file(self.record_path());
        let _gone = fs::remove_dir_all(self.socket_dir());
        let _gone = fs::remove_dir_all(self.temp_dir());
        memory::remove(&self.path);
    }
}

/// Creates a directory that only the server's user can enter.
pub(crate) fn make_private_dir(path: &Path, user: &ServerUser) -> Result<()> {
    DirBuilder::new().mode(0o700).create(path).map_err(Error::file("create", path))?;
    Ok(held_dir::chown_to(path, user)?)
}

pub(crate) fn read_marker(dir: &Path) -> Option<Marker> {
    serde_json::from_slice(&read_private(&dir.join(MARKER), server_user().ok()?.uid).ok()?).ok()
}

pub(crate) fn write_marker(dir: &Path, marker: &Marker, user: &ServerUser) -> Result<()> {
    let path = dir.join(MARKER);
    let text = serde_json::to_string(marker).map_err(|error| Error::file("write", &path)(error.into()))?;
    write_private(&path, text.as_bytes(), Some(user))
}

fn is_same_file(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(named)) => open.ino() == named.ino() && open.dev() == named.dev(),
        _ => false,
    }
}

/// Returns the servers' user after checking that it can enter the data directory's parent, which is created
/// if missing.
pub(crate) fn prepare_parent(data_dir: &DataDir) -> Result<ServerUser> {
    let user = server_user()?;
    if let Some(parent) = data_dir.path.parent() {
        create_open_dir(parent)?;
        user.check_reachable(parent, "set RQPS_WORK to a directory that everybody can enter")?;
    }
    Ok(user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_have_their_socket_in_tmp() {
        let short = DataDir::at(Path::new("/var/tmp/x")).unwrap();
        assert_eq!(short.socket_dir(), Path::new("/var/tmp/x.sock"));
        let long = DataDir::at(&Path::new("/var/tmp").join("x".repeat(100))).unwrap();
        assert!(long.socket_dir().starts_with("/tmp"));
    }
}
