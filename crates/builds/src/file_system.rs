//! Directories as what is measured: their file system and device take the place of a build.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rqps_model::Dbms;
use rustix::fs::{Access, AtFlags, OFlags, StatxFlags, access, major, minor, stat, statfs, statx};

use crate::build::{Address, Build, Published, Release};
use crate::dirs::Dirs;
use crate::error::{Error, Result};
use crate::product::Product;
use crate::source::code::{Site, SourceCode, Step};
use crate::source::flavour::System;

/// Magic numbers of file systems that keep files in memory: tmpfs, ramfs.
const IN_MEMORY: [i64; 2] = [0x0102_1994, 0x8584_58f6];
/// That of overlays, whose files are in another file system's directory.
const OVERLAY: i64 = 0x794c_7630;

pub(crate) struct FileSystem;

/// Where an overlay keeps what is written to it.
struct Upper {
    directory: PathBuf,
    is_volatile: bool,
}

/// Whether files at `path`, or below its nearest directory that exists, are kept in memory only.
pub fn is_in_memory(path: &Path) -> bool {
    let Some(existing) = path.ancestors().find(|place| place.exists()) else { return false };
    let Ok(kind) = statfs(existing) else { return false };
    let upper = if kind.f_type == OVERLAY { upper_of(existing) } else { None };
    let of_upper = upper.and_then(|upper| statfs(&upper.directory).ok());
    [Some(kind), of_upper].iter().flatten().any(|kind| IN_MEMORY.contains(&kind.f_type))
}

/// `None` if the path is not in an overlay that can be written to, or the kernel does not tell.
fn upper_of(path: &Path) -> Option<Upper> {
    let device = stat(path).ok()?.st_dev;
    let device = format!("{}:{}", major(device), minor(device));
    let mounts = procfs::process::Process::myself().ok()?.mountinfo().ok()?;
    let mut mount = mounts.into_iter().filter(|mount| mount.majmin == device);
    let mut options = mount.next()?.super_options;
    let is_volatile = options.contains_key("volatile")
        || options.get("fsync").is_some_and(|value| value.as_deref() == Some("volatile"));
    Some(Upper { directory: options.remove("upperdir")??.into(), is_volatile })
}

impl Product for FileSystem {
    fn check_version(&self, request: &str) -> Result<()> {
        Err(no_version(request))
    }

    /// Refuses a directory in which sync latency cannot be measured; leaves nothing in it.
    fn check_directory(&self, path: &Path) -> Result<()> {
        let refused =
            |reason: &str| Error::NotMeasurable { path: path.to_path_buf(), reason: reason.to_owned() };
        if !path.is_dir() {
            return Err(refused("it is not a directory: create it, or correct the path"));
        }
        match access(path, Access::WRITE_OK | Access::EXEC_OK) {
            Ok(()) => {}
            Err(rustix::io::Errno::ROFS) => {
                return Err(refused(
                    "its file system is mounted read-only: remount it, or name another directory",
                ));
            }
            Err(error) => {
                return Err(refused(&format!(
                    "it is not writable ({error}): change its mode, or name another directory"
                )));
            }
        }
        let kind = statfs(path).map_err(|error| Error::file("look at", path)(error.into()))?;
        let upper = if kind.f_type as i64 == OVERLAY { upper_of(path) } else { None };
        if upper.as_ref().is_some_and(|upper| upper.is_volatile) {
            return Err(refused(
                "its overlay is mounted with `volatile`, so a sync does nothing: mount it without, or name another \
                 directory",
            ));
        }
        if is_in_memory(path) {
            return Err(refused(
                "its files are in memory, so a sync does nothing: name a directory on a device",
            ));
        }
        // Such as /proc.
        if kind.f_blocks == 0 {
            return Err(refused("its file system keeps no files: name a directory on a device"));
        }
        // A file without a name, which is gone when it is closed.
        let flags = (OFlags::TMPFILE | OFlags::DIRECT).bits() as i32;
        match OpenOptions::new().read(true).write(true).mode(0o600).custom_flags(flags).open(path) {
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                Err(refused("its file system refuses direct I/O (O_DIRECT): name a directory on another one"))
            }
            // Kernels before 6.1 do not tell.
            Ok(file)
                if statx(&file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).is_ok_and(|found| {
                    found.stx_mask & StatxFlags::DIOALIGN.bits() != 0 && found.stx_dio_mem_align == 0
                }) =>
            {
                Err(refused(
                    "its file system has no direct I/O: it opens files with O_DIRECT and uses the page cache, as ext4 \
                     does with data=journal; name a directory on another one",
                ))
            }
            // A file system without nameless files is asked by fio itself.
            _ => Ok(()),
        }
    }

    fn check_published(&self, _: &Dirs, request: &str) -> Result<()> {
        Err(no_version(request))
    }

    fn install(&self, _: &Dirs, request: &str) -> Result<Build> {
        Err(no_version(request))
    }

    fn install_from(&self, _: &Dirs, request: &str, _: &Address) -> Result<Build> {
        Err(no_version(request))
    }

    fn published(&self, _: &Dirs) -> Result<Vec<Published>> {
        Ok(Vec::new())
    }

    fn releases(&self, _: &Dirs, _: &str, _: &str) -> Result<Vec<Release>> {
        Ok(Vec::new())
    }

    fn directory(&self, path: &Path) -> Result<Build> {
        let reason =
            "a directory is measured by `rqps run` only, with benchmark = \"sync-latency\"".to_owned();
        Err(Error::NotMeasurable { path: path.to_path_buf(), reason })
    }
}

/// There is nothing to compile.
impl SourceCode for FileSystem {
    fn systems(&self) -> &'static [System] {
        &[]
    }

    fn version(&self, _: &Path) -> Option<String> {
        None
    }

    fn telling_files(&self) -> &'static [&'static str] {
        &[]
    }

    fn identified_by(&self) -> &'static str {
        "nothing: a directory has no source code"
    }

    fn programs(&self, _: &Site<'_>) -> Vec<&'static str> {
        Vec::new()
    }

    fn steps(&self, _: &Site<'_>) -> Vec<Step> {
        Vec::new()
    }
}

fn no_version(request: &str) -> Error {
    let remedy = "name a directory, such as directory:/mnt/data".to_owned();
    Error::BadVersion { dbms: Dbms::Directory, request: request.to_owned(), remedy }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_in_which_nothing_can_be_measured_are_refused_and_left_empty() {
        let good = tempfile::tempdir_in("/var/tmp").unwrap();
        FileSystem.check_directory(good.path()).unwrap();
        assert_eq!(good.path().read_dir().unwrap().count(), 0);
        let message = |path: &Path| FileSystem.check_directory(path).unwrap_err().to_string();
        let memory = tempfile::tempdir_in("/dev/shm").unwrap();
        assert!(message(memory.path()).contains("in memory"), "{}", message(memory.path()));
        assert!(message(Path::new("/nowhere")).contains("not a directory"));
        // Root may write to it.
        assert!(message(Path::new("/proc")).contains("keeps no files"), "{}", message(Path::new("/proc")));
        // Read-only for everybody, and for root.
        let proc = message(Path::new("/proc/1"));
        assert!(proc.contains("/proc/1") && proc.contains("name another directory"), "{proc}");
    }
}
