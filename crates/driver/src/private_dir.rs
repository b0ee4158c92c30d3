//! A directory of one load generator, for scripts and passwords.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Only this user can enter it; removed on drop.
#[derive(Debug)]
pub(crate) struct PrivateDir(PathBuf);

impl PrivateDir {
    /// Creates one for `program` in `parent`.
    ///
    /// # Errors
    /// With the path that could not be created.
    pub fn create(parent: &Path, program: &str) -> Result<Self, (PathBuf, io::Error)> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("rqps-{program}-{}-{number}", std::process::id()));
        // Fails if the directory exists: somebody else's could not be trusted.
        match std::fs::DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => Ok(Self(path)),
            Err(source) => Err((path, source)),
        }
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateDir {
    fn drop(&mut self) {
        // Leaves some small files.
        let _left_behind = std::fs::remove_dir_all(&self.0);
    }
}
