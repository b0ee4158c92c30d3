//! A directory of this process, for scripts, passwords and configs.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::io::Errno;
use rustix::process::{Pid, geteuid, test_kill_process};

/// Only this user can enter it; removed on drop, or by the next one if this process is killed.
#[derive(Debug)]
pub struct PrivateDir {
    path: PathBuf,
    /// Locked for as long as the directory is in use.
    _lock: File,
}

impl PrivateDir {
    /// Creates one in `parent`, for `purpose`: a part of its name.
    ///
    /// # Errors
    /// With the path that could not be created.
    pub fn create(parent: &Path, purpose: &str) -> Result<Self, (PathBuf, io::Error)> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let prefix = format!("rqps-{purpose}-");
        remove_left_behind(parent, &prefix);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("{prefix}{}-{number}", std::process::id()));
        // Fails if the directory exists: somebody else's could not be trusted.
        let created = DirBuilder::new().mode(0o700).create(&path);
        match created.and_then(|()| File::open(&path)).and_then(|lock| lock.lock().map(|()| lock)) {
            Ok(lock) => Ok(Self { path, _lock: lock }),
            Err(source) => Err((path, source)),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateDir {
    fn drop(&mut self) {
        // Leaves some small files.
        let _left_behind = fs::remove_dir_all(&self.path);
    }
}

/// Removes the directories of processes that have ended. The lock tells of those in other process namespaces.
fn remove_left_behind(parent: &Path, prefix: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let its_pid =
            name.to_str().and_then(|name| name.strip_prefix(prefix)?.split_once('-')?.0.parse().ok());
        let has_ended =
            its_pid.and_then(Pid::from_raw).is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH));
        let is_ours = || entry.metadata().is_ok_and(|meta| meta.is_dir() && meta.uid() == geteuid().as_raw());
        let is_free = || File::open(entry.path()).is_ok_and(|dir| dir.try_lock().is_ok());
        if has_ended && is_ours() && is_free() {
            // The next one tries again.
            let _removed = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_is_in_use_stays() {
        let parent = tempfile::tempdir().unwrap();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let [left, locked] =
            [0, 1].map(|number| parent.path().join(format!("rqps-test-{}-{number}", ended.id())));
        [&left, &locked].into_iter().for_each(|path| fs::create_dir(path).unwrap());
        let lock = File::open(&locked).unwrap();
        lock.lock().unwrap();
        let [one, other] = [(); 2].map(|()| PrivateDir::create(parent.path(), "test").unwrap());
        assert!(!left.exists() && locked.exists());
        assert!(one.path().is_dir() && other.path().is_dir());
    }
}
