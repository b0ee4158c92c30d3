//! Copies data directories, so that every block starts from the same bytes.
//!
//! A snapshot is a data directory without a server: it has the same marker and is removed like any other.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rqps_builds::ServerUser;
use rqps_builds::held_dir::HeldDir;
use rustix::fs::{
    FileType, Mode, SeekFrom, copy_file_range, fchmod, fdatasync, fstat, ioctl_ficlone, seek, syncfs,
};
use rustix::io::Errno;

use crate::data_dir::{DataDir, Marker, prepare_parent, write_marker};
use crate::error::{Error, Result};
use crate::leftover::remove_marker_last;
use crate::systems;

/// Bytes copied between checks for an interruption and between flushes: about a second of a slow disk.
const PIECE_BYTES: u64 = 128 << 20;

rqps_model::words! {
    /// How files were copied.
    HowCopied {
        /// Files share their blocks with the original until either changes.
        Reflink = "reflink",
        /// The bytes were copied.
        Copy = "copy",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    pub how: HowCopied,
    pub files: u64,
    /// Total size of the files, in bytes.
    pub bytes: u64,
}

/// Copies the data directory of a stopped server to `to` and flushes it to disk. Replaces an earlier
/// directory of rqps at `to` and refuses anything else. If `interrupted` becomes true, stops and leaves
/// nothing behind.
///
/// # Errors
/// If a server is running on either directory, if the last one was not shut down cleanly (every copy would
/// start with recovery), or if a symbolic link points outside the directory, as for tablespaces: copies would
/// share its target.
pub fn snapshot(data_dir: &Path, to: &Path, interrupted: &AtomicBool) -> Result<Copied> {
    copy(data_dir, to, interrupted)
}

/// Recreates a data directory from a snapshot and flushes it to disk, so that nothing has to be flushed
/// later. Its path may differ from the original's, and the snapshot can be used again.
pub fn restore(snapshot: &Path, data_dir: &Path, interrupted: &AtomicBool) -> Result<Copied> {
    copy(snapshot, data_dir, interrupted)
}

fn copy(from: &Path, to: &Path, interrupted: &AtomicBool) -> Result<Copied> {
    let (from, to) = (DataDir::at(from)?, DataDir::at(to)?);
    let cannot = |reason: &str| Error::NotCopied { path: from.path.clone(), reason: reason.to_owned() };
    if from.path.starts_with(&to.path) || to.path.starts_with(&from.path) {
        return Err(cannot("it cannot be copied into itself: name a directory outside it"));
    }
    let marker = from.marker().ok_or_else(|| cannot("it is not a data directory made by rqps"))?;
    let _from_lock = from.lock()?;
    from.reap()?;
    systems::get(marker.dbms).check_shut_down(&from.path).map_err(|reason| cannot(&reason))?;
    // Before anything of `to` is removed.
    from.password()?;
    let user = prepare_parent(&to)?;
    let _to_lock = to.lock()?;
    to.reap()?;
    let replaces = to.remove_all_but_data()?;
    copy_files(&from, &to, &marker, replaces, &user, interrupted)
}

/// Copies a data directory that no server uses, and its password. `to` is locked. If it fails, nothing is left of `to`.
pub(crate) fn copy_files(
    from: &DataDir,
    to: &DataDir,
    marker: &Marker,
    replaces: bool,
    user: &ServerUser,
    interrupted: &AtomicBool,
) -> Result<Copied> {
    let mut copier =
        Copier { from: &from.path, to: &to.path, user, interrupted, can_clone: true, files: 0, bytes: 0 };
    let copied = from
        .password()
        .and_then(|password| to.write_password(&password))
        .and_then(|()| copier.copy_all(marker, &to.staging(), replaces));
    if let Err(error) = copied {
        // Report the first error.
        let _cleaned = to.remove().and_then(|()| to.remove_lock());
        return Err(error);
    }
    let how = if copier.can_clone { HowCopied::Reflink } else { HowCopied::Copy };
    Ok(Copied { how, files: copier.files, bytes: copier.bytes })
}

struct Copier<'a> {
    from: &'a Path,
    /// The final path of the copy.
    to: &'a Path,
    user: &'a ServerUser,
    interrupted: &'a AtomicBool,
    /// True until the file system refuses.
    can_clone: bool,
    files: u64,
    bytes: u64,
}

impl Copier<'_> {
    /// The copy appears at its path only when complete, and is then flushed to disk. Files of a data directory
    /// that it replaces are written anew in place: creating a thousand files just after a thousand were removed
    /// takes seconds on an ext4 without a journal, which does not use inodes again at once.
    fn copy_all(&mut self, marker: &Marker, staging: &Path, replaces: bool) -> Result<()> {
        DirBuilder::new().mode(0o755).create(staging).map_err(Error::file("create", staging))?;
        write_marker(staging, marker, self.user)?;
        let (staged, old) = (staging.join("data"), staging.join("old"));
        if replaces {
            fs::rename(self.to, &old).map_err(Error::file("move the old data directory from", self.to))?;
        }
        let old = replaces.then(|| HeldDir::open(&old)).transpose()?;
        let held = HeldDir::open(staging)?.make_dir("data", 0o700)?;
        self.copy_directory(&HeldDir::open(self.from)?, &held, old.as_ref())?;
        fs::rename(&staged, self.to).map_err(Error::file("move the copied data directory to", self.to))?;
        remove_marker_last(staging)?;
        let top = File::open(self.to).map_err(Error::file("open", self.to))?;
        syncfs(&top).map_err(|error| Error::file("flush", self.to)(error.into()))
    }

    /// Fills the new directory `to`, which other users cannot enter until its mode and owner are set at the
    /// end. Takes files from `old`.
    fn copy_directory(&mut self, from: &HeldDir, to: &HeldDir, old: Option<&HeldDir>) -> Result<()> {
        for entry in from.entries()? {
            let name = Path::new(&entry.name);
            match entry.kind() {
                FileType::Directory => {
                    let old = old.and_then(|old| old.dir(name).ok());
                    self.copy_directory(&from.dir(name)?, &to.make_dir(name, 0o700)?, old.as_ref())?;
                }
                FileType::Symlink => to.make_link(name, &self.link_target(from, name)?)?,
                FileType::RegularFile => self.copy_file(from, to, name, old)?,
                FileType::Socket => {}
                _ => {
                    let path = from.path().join(name);
                    return Err(self
                        .cannot(format!("{} is neither a file nor a directory: remove it", path.display())));
                }
            }
        }
        let mode = fstat(from).map_err(|error| Error::file("examine", from.path())(error.into()))?.st_mode;
        fchmod(to, Mode::from_raw_mode(mode & 0o7777))
            .map_err(|error| Error::file("set permissions of", to.path())(error.into()))?;
        Ok(self.user.chown_open(to, to.path())?)
    }

    fn cannot(&self, reason: String) -> Error {
        Error::NotCopied { path: self.from.to_path_buf(), reason }
    }

    /// The target of a link's copy: unchanged if relative, else the corresponding file of the copy.
    fn link_target(&self, from: &HeldDir, name: &Path) -> Result<PathBuf> {
        let text = from.link_target(name)?;
        let link = from.path().join(name);
        let (real, root) = (fs::canonicalize(&link), fs::canonicalize(self.from));
        let inside = match (&real, &root) {
            (Ok(real), Ok(root)) => real.strip_prefix(root).ok(),
            _ => None,
        };
        match inside {
            Some(_) if text.is_relative() => Ok(text),
            Some(inside) => Ok(self.to.join(inside)),
            None => Err(self.cannot(format!(
                "{} points outside, to {}, which two copies would share: create the data directory without tablespaces and \
                 with its WAL inside",
                link.display(),
                text.display()
            ))),
        }
    }

    fn error_unless(&self, is_complete: bool) -> Result<()> {
        if is_complete { Ok(()) } else { Err(Error::Interrupted { path: self.to.to_path_buf() }) }
    }

    fn copy_file(&mut self, from: &HeldDir, to: &HeldDir, name: &Path, old: Option<&HeldDir>) -> Result<()> {
        self.error_unless(!self.interrupted.load(Ordering::Relaxed))?;
        let source = from.open_file(name, Some(self.user.uid))?;
        let from = from.path().join(name);
        let meta = source.metadata().map_err(Error::file("examine", &from))?;
        let target = match old.and_then(|old| old.hand_over(name, to, self.user.uid)) {
            Some(handed_over) => handed_over,
            None => to.create_file(name, 0o600)?,
        };
        let to = to.path().join(name);
        if self.can_clone || has_holes(&source, meta.len()) {
            target.set_len(0).map_err(Error::file("empty", &to))?;
        }
        self.can_clone = self.can_clone && clone(&source, &target).map_err(Error::file("clone to", &to))?;
        if !self.can_clone {
            let keep_going = || !self.interrupted.load(Ordering::Relaxed);
            let is_complete =
                copy_data(&source, &target, meta.len(), keep_going).map_err(Error::file("copy to", &to))?;
            self.error_unless(is_complete)?;
        }
        target
            .set_permissions(Permissions::from_mode(meta.mode() & 0o7777))
            .map_err(Error::file("set permissions of", &to))?;
        self.files += 1;
        self.bytes += meta.len();
        Ok(self.user.chown_open(&target, &to)?)
    }
}

/// Shares the blocks; returns false if the file system or this pair of file systems cannot.
fn clone(source: &File, target: &File) -> io::Result<bool> {
    match ioctl_ficlone(target, source) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::XDEV | Errno::INVAL | Errno::NOTTY | Errno::NOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether some of a file's bytes are on no disk. True if the file system does not know.
fn has_holes(source: &File, length_bytes: u64) -> bool {
    length_bytes > 0 && !seek(source, SeekFrom::Hole(0)).is_ok_and(|hole| hole >= length_bytes)
}

/// Copies data over what the target has, and skips holes. Returns false if `keep_going` returned false.
fn copy_data(
    source: &File,
    target: &File,
    length_bytes: u64,
    keep_going: impl Fn() -> bool,
) -> io::Result<bool> {
    let mut at = 0;
    while at < length_bytes {
        let (start, end) = match seek(source, SeekFrom::Data(at)) {
            Ok(start) => (start, seek(source, SeekFrom::Hole(start))?),
            Err(Errno::NXIO) => break,
            // The file system has no holes.
            Err(Errno::INVAL) => (at, length_bytes),
            Err(error) => return Err(error.into()),
        };
        // Flush piece by piece: a large flush at the end could not be interrupted.
        let end = end.min(start + PIECE_BYTES);
        copy_range(source, target, start, end)?;
        if end - start == PIECE_BYTES {
            fdatasync(target)?;
        }
        if !keep_going() {
            return Ok(false);
        }
        at = end;
    }
    target.set_len(length_bytes)?;
    Ok(true)
}

fn copy_range(source: &File, target: &File, start: u64, end: u64) -> io::Result<()> {
    let (mut read_at, mut write_at) = (start, start);
    while read_at < end {
        let rest = usize::try_from(end - read_at).unwrap_or(usize::MAX);
        match copy_file_range(source, Some(&mut read_at), target, Some(&mut write_at), rest) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::XDEV | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL) => {
                return copy_in_user_space(source, target, read_at, end);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Copies through user space, between file systems that the kernel does not copy between.
fn copy_in_user_space(mut source: &File, mut target: &File, start: u64, end: u64) -> io::Result<()> {
    use io::{Read, Seek};
    source.seek(io::SeekFrom::Start(start))?;
    target.seek(io::SeekFrom::Start(start))?;
    let copied = io::copy(&mut source.take(end - start), &mut target)?;
    if copied == end - start { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
