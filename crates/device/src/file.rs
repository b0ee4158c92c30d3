//! The file that fio writes to, and its removal.

use std::fs::DirEntry;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::fs::statvfs;

/// Waits for the end of its input, which is the end of rqps, however it dies, and removes the file. The file must keep
/// its name while it is measured: btrfs and ZFS do not sync files that have none.
const REMOVE_AT_THE_END: &str = "trap '' HUP INT TERM; read -r line; rm -f -- \"$1\"";

/// Prefix of the files' names, followed by the PID of their process.
const PREFIX: &str = ".rqps-fio-";

/// Where this process keeps a file in a directory; `key` distinguishes its files.
pub(crate) fn path_in(dir: &Path, key: u64) -> PathBuf {
    dir.join(format!("{PREFIX}{}-{key:016x}", std::process::id()))
}

/// Another process that has such a file in a directory. Removes those whose process is gone: one that was killed
/// together with its remover left them.
pub(crate) fn other_owner(dir: &Path) -> io::Result<Option<u32>> {
    let owner = |entry: &DirEntry| {
        let name = entry.file_name();
        name.to_str()?.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok()
    };
    let mut other = None;
    for entry in std::fs::read_dir(dir)?.flatten() {
        match owner(&entry) {
            None => {}
            Some(pid) if pid == std::process::id() => {}
            Some(pid) if Path::new(&format!("/proc/{pid}")).exists() => other = Some(pid),
            Some(_) => std::fs::remove_file(entry.path())?,
        }
    }
    Ok(other)
}

/// A file that is removed when this is dropped, or when this process dies.
pub(crate) struct OwnFile {
    path: PathBuf,
    /// Its input is a pipe that only this process can write to.
    remover: Child,
}

impl OwnFile {
    /// Promises the removal of a file that may not exist yet.
    pub fn promise(path: &Path) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", REMOVE_AT_THE_END, "rqps-remover"]).arg(path);
        // Ctrl-C in a terminal must not reach it.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let remover = command.spawn()?;
        Ok(Self { path: path.to_path_buf(), remover })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        drop(self.remover.stdin.take());
        // Both fail only if the file is gone already.
        let _ended = self.remover.wait();
        let _removed = std::fs::remove_file(&self.path);
    }
}

/// Bytes that an ordinary user may still write to the file system of a directory.
pub(crate) fn free_bytes(dir: &Path) -> io::Result<u64> {
    let space = statvfs(dir)?;
    Ok(space.f_bavail * space.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_processes_are_seen() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(path_in(dir.path(), 7), "").unwrap();
        // Above the largest PID that Linux assigns.
        std::fs::write(dir.path().join(format!("{PREFIX}4194305-7")), "").unwrap();
        assert_eq!(other_owner(dir.path()).unwrap(), None);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "its process is gone, and so is it");
        std::fs::write(dir.path().join(format!("{PREFIX}1-7")), "").unwrap();
        assert_eq!(other_owner(dir.path()).unwrap(), Some(1));
    }

    #[test]
    fn the_file_is_removed_at_the_end_of_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a file's name; with $all");
        let own = OwnFile::promise(&path).unwrap();
        std::fs::write(own.path(), "x").unwrap();
        drop(own);
        assert!(!path.exists());
    }
}
