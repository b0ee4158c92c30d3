//! Where builds are cached and where servers keep their data.

use std::env;
use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The two directories rqps writes to beside a run's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirs {
    /// Builds, kept between runs.
    pub cache: PathBuf,
    /// Data directories of servers, kept while a run lasts.
    pub work: PathBuf,
}

impl Dirs {
    /// The directories for this user: `RQPS_CACHE` or `/var/cache/rqps` as root, else `$XDG_CACHE_HOME/rqps` or
    /// `~/.cache/rqps`; `RQPS_WORK` or `/var/tmp/rqps-<uid>`. Nothing is created yet.
    pub fn from_env() -> Dirs {
        let uid = rustix::process::geteuid();
        let cache = env_path("RQPS_CACHE").unwrap_or_else(|| {
            if uid.is_root() {
                PathBuf::from("/var/cache/rqps")
            } else if let Some(xdg) = env_path("XDG_CACHE_HOME") {
                xdg.join("rqps")
            } else if let Some(home) = env_path("HOME") {
                home.join(".cache/rqps")
            } else {
                PathBuf::from(format!("/var/tmp/rqps-cache-{}", uid.as_raw()))
            }
        });
        let work =
            env_path("RQPS_WORK").unwrap_or_else(|| PathBuf::from(format!("/var/tmp/rqps-{}", uid.as_raw())));
        Dirs { cache, work }
    }

    /// Creates the work directory, or checks that the one there is ours: `/var/tmp` is open to everybody, so a link or
    /// another user's directory of that name is refused.
    pub fn create_work(&self) -> Result<()> {
        create_open_dir(&self.work)?;
        let meta = fs::symlink_metadata(&self.work).map_err(Error::file("examine", &self.work))?;
        let bad = |reason: &str| Error::BadWorkDir { path: self.work.clone(), reason: reason.to_owned() };
        let sticky_parent = self
            .work
            .parent()
            .and_then(|parent| fs::metadata(parent).ok())
            .is_some_and(|parent| parent.mode() & 0o1002 == 0o1002);
        if !sticky_parent {
            return Ok(());
        }
        if meta.is_symlink() {
            return Err(bad("is a symbolic link in a directory open to everybody"));
        }
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(bad("belongs to another user"));
        }
        Ok(())
    }
}

fn env_path(variable: &str) -> Option<PathBuf> {
    let value = env::var_os(variable)?;
    (!value.is_empty()).then(|| std::path::absolute(&value).unwrap_or_else(|_| value.into()))
}

/// Creates a directory and its missing parents so that every user can enter them, whatever the umask: as root, servers
/// run as another user and must get to their programs and data.
pub(crate) fn create_open_dir(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        create_open_dir(parent)?;
    }
    match DirBuilder::new().mode(0o755).create(path) {
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(0o755))
            .map_err(Error::file("set permissions of", path)),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(Error::file("create directory", path)(error)),
    }
}
