//! Data directories kept as they are and made again, so that every block starts from the same bytes.
//!
//! A snapshot is a data directory without a server: it has the same marker, and is removed like any other.

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
use serde::{Deserialize, Serialize};

use crate::data_dir::{DataDir, Marker, prepare_parent, write_marker};
use crate::error::{Error, Result};
use crate::systems;

/// How much is copied between two checks for an interruption: a second of a slow disk.
const PIECE_BYTES: u64 = 128 << 20;

/// How the files of a data directory were copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HowCopied {
    /// Every file shares its blocks with the original until one of them changes.
    Reflink,
    /// The bytes were copied.
    Copy,
}

impl HowCopied {
    /// `reflink` or `copy`.
    pub fn name(self) -> &'static str {
        match self {
            HowCopied::Reflink => "reflink",
            HowCopied::Copy => "copy",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    pub how: HowCopied,
    pub files: u64,
    /// Their sizes, summed.
    pub bytes: u64,
}

/// Keeps the data directory of a stopped server at `to`, on disk when this returns. What rqps made at `to` before is
/// replaced; anything else there is refused. Given up when `interrupted` becomes true: nothing is left of it then.
///
/// # Errors
/// When a server works on either, when the last one was not shut down cleanly (every copy would begin with recovery),
/// and when a symbolic link leads out of the directory, as to tablespaces: its target would be shared.
pub fn snapshot(data_dir: &Path, to: &Path, interrupted: &AtomicBool) -> Result<Copied> {
    copy(data_dir, to, interrupted)
}

/// Recreates a data directory from a snapshot, on disk when this returns, so that nothing has to be flushed later.
/// It may be at another path than the one that the snapshot was taken of, and the snapshot may be used again.
///
/// # Errors
/// As [`snapshot`].
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
    let password = from.password()?;
    let user = prepare_parent(&to)?;
    let _to_lock = to.lock()?;
    to.reap()?;
    to.remove()?;
    let mut copying = Copying {
        from: &from.path,
        to: &to.path,
        user: &user,
        interrupted,
        clones: true,
        files: 0,
        bytes: 0,
    };
    let copied = to.keep_password(&password).and_then(|()| copying.whole(&marker, &to.staging()));
    if let Err(error) = copied {
        // The first error is the one to report.
        let _cleaned = to.remove().and_then(|()| to.remove_lock());
        return Err(error);
    }
    let how = if copying.clones { HowCopied::Reflink } else { HowCopied::Copy };
    Ok(Copied { how, files: copying.files, bytes: copying.bytes })
}

struct Copying<'a> {
    from: &'a Path,
    /// The final place of the copy.
    to: &'a Path,
    user: &'a ServerUser,
    interrupted: &'a AtomicBool,
    /// Until the file system refuses.
    clones: bool,
    files: u64,
    bytes: u64,
}

impl Copying<'_> {
    /// The copy appears only when it is whole, and is on disk then.
    fn whole(&mut self, marker: &Marker, staging: &Path) -> Result<()> {
        DirBuilder::new().mode(0o755).create(staging).map_err(Error::file("create", staging))?;
        write_marker(staging, marker, self.user)?;
        let staged = staging.join("data");
        let held = HeldDir::open(staging)?.make_dir("data", 0o700)?;
        self.directory(&HeldDir::open(self.from)?, &held)?;
        fs::rename(&staged, self.to).map_err(Error::file("move the copied data directory to", self.to))?;
        fs::remove_dir_all(staging).map_err(Error::file("remove", staging))?;
        let top = File::open(self.to).map_err(Error::file("open", self.to))?;
        syncfs(&top).map_err(|error| Error::file("flush", self.to)(error.into()))
    }

    /// Fills the new directory `to`, which no other user can enter before its owner changes at the end.
    fn directory(&mut self, from: &HeldDir, to: &HeldDir) -> Result<()> {
        for entry in from.entries()? {
            let name = Path::new(&entry.name);
            match entry.kind() {
                FileType::Directory => self.directory(&from.dir(name)?, &to.make_dir(name, 0o700)?)?,
                FileType::Symlink => to.make_link(name, &self.link_target(from, name)?)?,
                FileType::RegularFile => self.file(from, to, name)?,
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
        Ok(self.user.give_open(to, to.path())?)
    }

    fn cannot(&self, reason: String) -> Error {
        Error::NotCopied { path: self.from.to_path_buf(), reason }
    }

    /// Where the copy of a link leads: as the original when that is relative, else to the same file of the copy.
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

    fn go_on(&self, whole: bool) -> Result<()> {
        if whole { Ok(()) } else { Err(Error::Interrupted { path: self.to.to_path_buf() }) }
    }

    fn file(&mut self, from: &HeldDir, to: &HeldDir, name: &Path) -> Result<()> {
        self.go_on(!self.interrupted.load(Ordering::Relaxed))?;
        let source = from.open_file(name, Some(self.user.uid))?;
        let from = from.path().join(name);
        let meta = source.metadata().map_err(Error::file("examine", &from))?;
        let target = to.create_file(name, 0o600)?;
        let to = to.path().join(name);
        self.clones = self.clones && clone(&source, &target).map_err(Error::file("clone to", &to))?;
        if !self.clones {
            let mut go_on = || !self.interrupted.load(Ordering::Relaxed);
            let whole =
                copy_data(&source, &target, meta.len(), &mut go_on).map_err(Error::file("copy to", &to))?;
            self.go_on(whole)?;
        }
        target
            .set_permissions(Permissions::from_mode(meta.mode() & 0o7777))
            .map_err(Error::file("set permissions of", &to))?;
        self.files += 1;
        self.bytes += meta.len();
        Ok(self.user.give_open(&target, &to)?)
    }
}

/// Shares the blocks; false where the file system, or this pair of them, cannot.
fn clone(source: &File, target: &File) -> io::Result<bool> {
    match ioctl_ficlone(target, source) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::XDEV | Errno::INVAL | Errno::NOTTY | Errno::NOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Copies what is data; what is a hole stays one. False when `go_on` asked for the end.
fn copy_data(
    source: &File,
    target: &File,
    length_bytes: u64,
    go_on: &mut dyn FnMut() -> bool,
) -> io::Result<bool> {
    let mut at = 0;
    while at < length_bytes {
        let (start, end) = match seek(source, SeekFrom::Data(at)) {
            Ok(start) => (start, seek(source, SeekFrom::Hole(start))?),
            Err(Errno::NXIO) => break,
            // A file system without holes.
            Err(Errno::INVAL) => (at, length_bytes),
            Err(error) => return Err(error.into()),
        };
        // In pieces that are on disk soon: flushed in one go at the end, a large copy could not be given up.
        let end = end.min(start + PIECE_BYTES);
        copy_range(source, target, start, end)?;
        if end - start == PIECE_BYTES {
            fdatasync(target)?;
        }
        if !go_on() {
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
                return copy_by_hand(source, target, read_at, end);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Through our memory, between file systems that the kernel does not copy between.
fn copy_by_hand(mut source: &File, mut target: &File, start: u64, end: u64) -> io::Result<()> {
    use io::{Read, Seek};
    source.seek(io::SeekFrom::Start(start))?;
    target.seek(io::SeekFrom::Start(start))?;
    let copied = io::copy(&mut source.take(end - start), &mut target)?;
    if copied == end - start { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
