//! The file that fio writes to, and its removal.

use std::fs::{DirEntry, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::fs::statvfs;
use rustix::process::geteuid;

/// Waits for the end of its input, which is the end of rqps, however it dies, and removes the file. The file must keep
/// its name while it is measured: btrfs and ZFS do not sync files that have none.
const REMOVE_AT_THE_END: &str = "trap '' HUP INT TERM; read -r line; rm -f -- \"$1\"";

/// Where this process keeps a file in a directory; `key` distinguishes its files.
pub(crate) fn path_in(dir: &Path, key: u64) -> PathBuf {
    dir.join(name(std::process::id(), key))
}

fn name(pid: u32, key: u64) -> String {
    format!("{PREFIX}{pid}-{key:016x}")
}

const PREFIX: &str = ".rqps-fio-";

fn is_name(text: &str) -> bool {
    let parts = text.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    let numbers = parts.and_then(|(pid, key)| Some((pid.parse().ok()?, u64::from_str_radix(key, 16).ok()?)));
    numbers.is_some_and(|(pid, key)| name(pid, key) == text)
}

/// Removes the files that processes left which were killed together with their remover, and returns them. Only for
/// a directory that this process has just reserved: nobody measures in it. What is not surely such a file, or not
/// this user's, stays; the numbers in the names say nothing, as Linux gives them again.
pub(crate) fn remove_leftovers(dir: &Path) -> Vec<PathBuf> {
    let user = geteuid().as_raw();
    let is_left = |entry: &DirEntry| {
        let is_ours = entry.metadata().is_ok_and(|meta| meta.is_file() && meta.uid() == user);
        is_ours && entry.file_name().to_str().is_some_and(is_name)
    };
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let left = entries.filter(is_left).map(|entry| entry.path());
    left.filter(|path| std::fs::remove_file(path).is_ok()).collect()
}

/// A file that is removed when this is dropped, or when this process dies.
pub(crate) struct OwnFile {
    path: PathBuf,
    /// Its input is a pipe that only this process can write to.
    remover: Child,
}

impl OwnFile {
    /// Creates it, empty: a file that something else put there, or a link, is not written to, nor removed.
    pub fn create(path: &Path) -> io::Result<Self> {
        File::create_new(path)?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", REMOVE_AT_THE_END, "rqps-remover"]).arg(path);
        // Ctrl-C in a terminal must not reach it.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        match command.spawn() {
            Ok(remover) => Ok(Self { path: path.to_path_buf(), remover }),
            Err(error) => {
                let _removed = std::fs::remove_file(path);
                Err(error)
            }
        }
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

    /// The numbers of killed processes are given again, and names that only resemble these are another's.
    #[test]
    fn files_that_were_left_are_removed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        // PID 1 always runs; Linux assigns none as large as the other.
        let left = [path(".rqps-fio-1-0123456789abcdef"), path(".rqps-fio-4194305-0123456789abcdef")];
        let others = [
            "4194305",
            "4194305-my-notes.txt",
            "4194305-0123456789abcdef.bak",
            "4194305-0123456789ABCDEF",
            "4194305-+123456789abcdef",
            "04194305-0123456789abcdef",
            "4194305-7",
            "5000000000-0123456789abcdef",
        ];
        let others = others.map(|rest| path(&format!("{PREFIX}{rest}")));
        left.iter().chain(&others).for_each(|path| std::fs::write(path, "x").unwrap());
        let [link, folder, foreign] = ["2-00000000000000aa", "2-00000000000000bb", "2-00000000000000cc"]
            .map(|rest| path(&format!("{PREFIX}{rest}")));
        std::os::unix::fs::symlink(&others[0], &link).unwrap();
        std::fs::create_dir(&folder).unwrap();
        let mut kept = 2 + others.len();
        if geteuid().is_root() {
            std::fs::write(&foreign, "x").unwrap();
            std::os::unix::fs::chown(&foreign, Some(65534), None).unwrap();
            kept += 1;
        }
        let mut removed = remove_leftovers(dir.path());
        removed.sort();
        assert_eq!(removed, left);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), kept);
        // Through the link another's file would be filled.
        assert!(OwnFile::create(&link).is_err() && link.is_symlink());
    }

    #[test]
    fn the_file_is_removed_at_the_end_of_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a file's name; with $all");
        let own = OwnFile::create(&path).unwrap();
        std::fs::write(own.path(), "x").unwrap();
        drop(own);
        assert!(!path.exists());
    }
}
