//! A measured directory belongs to one process from a run's start to its end, not only while a file of it is there:
//! another one would fill its file between two blocks.
//!
//! The lock is on the directory itself, so that nothing is written into it and the kernel releases it at a kill.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The kernel's list of locks, a line each: `1: FLOCK ADVISORY WRITE 4711 fe:00:131 0 EOF`.
const LOCKS: &str = "/proc/locks";
/// The open file that tells which run a process writes.
const RUN_LOCK: &str = "run.lock";

/// Why a directory is not reserved.
#[derive(Debug)]
pub(crate) enum Refused {
    /// By this process.
    Held(String),
    Io(io::Error),
}

/// Reserves a directory until the file is closed; `None` if this process has reserved it, or if its file system does
/// not lock directories (NFS).
pub(crate) fn take(dir: &Path) -> Result<Option<File>, Refused> {
    let file = File::open(dir).map_err(Refused::Io)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::Error(_)) => Ok(None),
        Err(TryLockError::WouldBlock) => match holder(&file).map_err(Refused::Io)? {
            Some(pid) if pid == std::process::id() => Ok(None),
            Some(pid) => Err(Refused::Held(described(pid))),
            None => Err(Refused::Held("another process".to_owned())),
        },
    }
}

/// The process that has locked a file; `None` if the kernel does not tell, as of processes of another container.
fn holder(file: &File) -> io::Result<Option<u32>> {
    let meta = file.metadata()?;
    let device = format!("{:02x}:{:02x}", rustix::fs::major(meta.dev()), rustix::fs::minor(meta.dev()));
    Ok(holder_in(&fs::read_to_string(LOCKS)?, &device, meta.ino()))
}

fn holder_in(locks: &str, device: &str, inode: u64) -> Option<u32> {
    let of_line = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let is_lock = words.next() == Some("FLOCK") && words.next() == Some("ADVISORY");
        let (_write, pid, place) = (words.next()?, words.next()?, words.next()?);
        let (of, number) = place.rsplit_once(':')?;
        let is_it = number.parse() == Ok(inode);
        pid.parse::<u32>().ok().filter(|pid| is_lock && is_it && *pid > 0).map(|pid| (of == device, pid))
    };
    let found: Vec<(bool, u32)> = locks.lines().filter_map(of_line).collect();
    // The root of every ext4 has the same inode. On btrfs, whose subvolumes have other devices, the inode must do.
    let of_device = found.iter().find(|(is_device, _)| *is_device);
    of_device.or(found.first()).map(|(_, pid)| *pid)
}

/// `process 4711, which writes the run results/t-1`.
fn described(pid: u32) -> String {
    let run = run_of(pid).map(|run| format!(", which writes the run {}", run.display()));
    format!("process {pid}{}", run.unwrap_or_default())
}

fn run_of(pid: u32) -> Option<PathBuf> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
    let mut open = files.filter_map(|file| fs::read_link(file.path()).ok());
    open.find(|path| path.file_name().is_some_and(|name| name == RUN_LOCK))?.parent().map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_of_two_file_systems_have_one_inode() {
        let locks = "1: FLOCK  ADVISORY  WRITE 8529 07:02:2 0 EOF\n2: FLOCK  ADVISORY  WRITE 77 07:01:2 0 EOF\n\
                     3: POSIX  ADVISORY  WRITE 5 07:01:2 0 EOF\n";
        assert_eq!(holder_in(locks, "07:01", 2), Some(77));
        assert_eq!(holder_in(locks, "00:2f", 2), Some(8529), "a subvolume of btrfs");
        assert_eq!(holder_in(locks, "07:01", 3), None);
    }

    #[test]
    fn a_process_has_its_directory_to_itself_and_leaves_nothing_in_it() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let own = take(dir.path()).unwrap().unwrap();
        assert_eq!(holder(&own).unwrap(), Some(std::process::id()));
        // Two arms of one run may be on one directory.
        assert!(take(dir.path()).unwrap().is_none());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        drop(own);
        assert!(take(dir.path()).unwrap().is_some());
    }
}
