//! The directories of cached builds and of servers' data.

use std::env;
use std::fs::{self, DirBuilder, File, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The two directories that rqps writes to besides a run's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirs {
    /// Cached builds, kept between runs.
    pub cache: PathBuf,
    /// Data directories of servers, kept during a run.
    pub work: PathBuf,
}

impl Dirs {
    /// The directories for this user: `RQPS_CACHE` or `/var/cache/rqps` as root, else `$XDG_CACHE_HOME/rqps`
    /// or `~/.cache/rqps`; `RQPS_WORK` or `/var/tmp/rqps-<uid>`. Creates nothing.
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

    /// Creates the work directory, or checks that the existing one belongs to this user. As root also checks
    /// that nobody else could replace it, because files in it are written and removed as root.
    pub fn create_work(&self) -> Result<()> {
        create_open_dir(&self.work)?;
        let refused = |reason: String| Error::BadWorkDir { path: self.work.clone(), reason };
        let euid = rustix::process::geteuid();
        let link = fs::symlink_metadata(&self.work).map_err(Error::file("examine", &self.work))?;
        if link.uid() != euid.as_raw() {
            return Err(refused("belongs to another user".to_owned()));
        }
        let real = fs::canonicalize(&self.work).map_err(Error::file("examine", &self.work))?;
        let meta = fs::metadata(&real).map_err(Error::file("examine", &real))?;
        if meta.uid() != euid.as_raw() {
            return Err(refused(format!("points to {}, which belongs to another user", real.display())));
        }
        if !euid.is_root() {
            return Ok(());
        }
        for above in self.work.ancestors().chain(real.ancestors()) {
            let meta = fs::metadata(above).map_err(Error::file("examine", above))?;
            // In a directory with the sticky bit others cannot replace existing entries; but names in the
            // work directory itself are predictable, so it must not be writable at all. With access control
            // lists, the group's bits show the most that any of them allows.
            let is_work = above == self.work || above == real;
            let may_write = if is_work || meta.mode() & 0o1000 == 0 { meta.mode() & 0o022 } else { 0 };
            let why = match (meta.uid() == euid.as_raw(), may_write) {
                (true, 0) => continue,
                (true, 0o020) => "is writable by its group (`chmod g-w` ends that)",
                (true, _) => "is writable by everybody (`chmod go-w` ends that)",
                (false, _) => "belongs to another user",
            };
            return Err(refused(format!(
                "can be replaced or written by others, because {} {why}",
                above.display()
            )));
        }
        Ok(())
    }
}

fn env_path(variable: &str) -> Option<PathBuf> {
    let value = env::var_os(variable)?;
    (!value.is_empty()).then(|| std::path::absolute(&value).unwrap_or_else(|_| value.into()))
}

/// Creates a directory and missing parents that every user can enter, regardless of the umask: as root,
/// servers run as another user and must reach their programs and data.
pub fn create_open_dir(path: &Path) -> Result<()> {
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

/// Creates a file and locks it until the file is dropped.
pub(crate) fn lock_file(path: &Path) -> Result<File> {
    let file = File::create(path).map_err(Error::file("create", path))?;
    file.lock().map_err(Error::file("lock", path))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{chown, symlink};

    #[test]
    fn a_work_directory_that_others_own_or_could_replace_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let dirs = |work: &Path| Dirs { cache: dir.path().join("cache"), work: work.to_path_buf() };
        let refusal = |work: &Path| dirs(work).create_work().map_err(|error| error.to_string());
        let (parent, work) = (dir.path().join("parent"), dir.path().join("parent/work"));
        refusal(&work).unwrap();
        let link = dir.path().join("link");
        symlink(&work, &link).unwrap();
        refusal(&link).unwrap();
        if !rustix::process::geteuid().is_root() {
            return;
        }
        chown(&work, Some(4711), None).unwrap();
        assert!(refusal(&work).unwrap_err().contains("belongs to another user"));
        assert!(refusal(&link).unwrap_err().contains("belongs to another user"));
        chown(&work, Some(0), None).unwrap();
        fs::set_permissions(&parent, Permissions::from_mode(0o777)).unwrap();
        assert!(refusal(&work).unwrap_err().contains("writable by everybody"));
        fs::set_permissions(&parent, Permissions::from_mode(0o1777)).unwrap();
        refusal(&work).unwrap();
        for (place, mode) in [(&parent, 0o770), (&work, 0o770), (&work, 0o1777)] {
            let before = fs::metadata(place).unwrap().permissions();
            fs::set_permissions(place, Permissions::from_mode(mode)).unwrap();
            assert!(refusal(&work).unwrap_err().contains("writable by"), "{} {mode:o}", place.display());
            assert!(refusal(&link).unwrap_err().contains("writable by"), "{} {mode:o}", place.display());
            fs::set_permissions(place, before).unwrap();
        }
        chown(&parent, Some(4711), None).unwrap();
        assert!(refusal(&work).unwrap_err().contains("parent belongs to another user"));
    }
}
