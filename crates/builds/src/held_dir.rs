//! Access to directories through open file descriptors. Code that runs as the server's user can plant
//! symbolic links anywhere in that user's directories, or hard links to other users' files. If root then
//! opened a file by its path or changed its owner, it could affect any file of the system. So nothing here
//! follows links below a held directory, and each file is checked through its descriptor before it is read or
//! its owner is changed.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Stat, Uid, chownat, fstat, mkdirat, open, openat,
    readlinkat, renameat, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::user::ServerUser;

/// Size limit for reading a whole file: more than any such file has, and an end for endless devices.
const READ_BYTES_MAX: u64 = 64 << 20;

const DIRECTORY_FLAGS: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// `NONBLOCK`: opening a pipe does not wait for the other end.
const FILE_FLAGS: OFlags =
    OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

#[derive(Debug)]
pub struct HeldDir {
    fd: OwnedFd,
    path: PathBuf,
}

/// A directory entry with its attributes when listed.
pub struct Entry {
    pub name: OsString,
    pub stat: Stat,
}

impl Entry {
    pub fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }
}

impl HeldDir {
    /// Opens a directory in a trusted place; its last component must not be a link.
    pub fn open(path: &Path) -> Result<HeldDir> {
        let fd = open(path, DIRECTORY_FLAGS, Mode::empty());
        let fd = fd.map_err(|error| file_error("open directory", path, error))?;
        Ok(HeldDir { fd, path: path.to_path_buf() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn dir(&self, name: impl AsRef<Path>) -> Result<HeldDir> {
        let path = self.path.join(&name);
        let fd = openat(&self.fd, name.as_ref(), DIRECTORY_FLAGS, Mode::empty());
        Ok(HeldDir { fd: fd.map_err(|error| file_error("open directory", &path, error))?, path })
    }

    /// Creates and opens a subdirectory, which must not exist.
    pub fn make_dir(&self, name: impl AsRef<Path>, mode: u32) -> Result<HeldDir> {
        let path = self.path.join(&name);
        mkdirat(&self.fd, name.as_ref(), Mode::from_raw_mode(mode))
            .map_err(|error| file_error("create directory", &path, error))?;
        self.dir(name)
    }

    /// Opens the parent directory of `relative` and returns it with the last name. With `make`, creates
    /// missing directories. Accepts only normal components: no `..`, no absolute path.
    pub fn walk<'p>(&self, relative: &'p Path, make: bool) -> Result<(HeldDir, &'p Path)> {
        let invalid = || Error::file("open", self.path.join(relative))(io::ErrorKind::InvalidInput.into());
        if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(invalid());
        }
        let name = relative.file_name().ok_or_else(invalid)?;
        let mut dir = self.try_clone()?;
        for part in relative.parent().into_iter().flat_map(Path::components) {
            let made = make.then(|| mkdirat(&dir.fd, part.as_os_str(), Mode::from_raw_mode(0o755)));
            match made {
                Some(Err(error)) if error != Errno::EXIST => {
                    return Err(file_error("create directory", &dir.path.join(part), error));
                }
                _ => dir = dir.dir(part)?,
            }
        }
        Ok((dir, Path::new(name)))
    }

    fn try_clone(&self) -> Result<HeldDir> {
        let fd = self.fd.try_clone().map_err(Error::file("open", &self.path))?;
        Ok(HeldDir { fd, path: self.path.clone() })
    }

    /// Opens a regular file. With an owner, refuses a hard link to another user's file.
    pub fn open_file(&self, relative: &Path, owner: Option<u32>) -> Result<File> {
        let (dir, name) = self.walk(relative, false)?;
        let path = dir.path.join(name);
        let file = openat(&dir.fd, name, FILE_FLAGS | OFlags::RDONLY, Mode::empty());
        let file = File::from(file.map_err(|error| file_error("open", &path, error))?);
        let stat = fstat(&file).map_err(|error| file_error("examine", &path, error))?;
        check_file(&path, &stat, owner)?;
        Ok(file)
    }

    /// Reads a file; checks as [`HeldDir::open_file`].
    pub fn read(&self, relative: &Path, owner: Option<u32>) -> Result<Vec<u8>> {
        let file = self.open_file(relative, owner)?;
        let path = self.path.join(relative);
        let mut content = Vec::new();
        let read = file.take(READ_BYTES_MAX + 1).read_to_end(&mut content);
        read.map_err(Error::file("read", &path))?;
        if content.len() as u64 > READ_BYTES_MAX {
            let reason = format!("it has more than {} MiB: rqps did not write it", READ_BYTES_MAX >> 20);
            return Err(Error::file("read", &path)(io::Error::other(reason)));
        }
        Ok(content)
    }

    /// Creates a file, which must not exist.
    pub fn create_file(&self, name: impl AsRef<Path>, mode: u32) -> Result<File> {
        let flags = FILE_FLAGS | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let file = openat(&self.fd, name.as_ref(), flags, Mode::from_raw_mode(mode));
        Ok(File::from(file.map_err(|error| file_error("create", &self.path.join(name), error))?))
    }

    /// Moves a file to another directory, under the same name, and opens it for writing, if it belongs to
    /// `owner` and has no other name: else whoever planted it would have another file overwritten. `None` if
    /// there is no such file.
    pub fn hand_over(&self, name: &Path, to: &HeldDir, owner: u32) -> Option<File> {
        let is_plain = |stat: &Stat| {
            let kind = FileType::from_raw_mode(stat.st_mode);
            kind == FileType::RegularFile && stat.st_uid == owner && stat.st_nlink == 1
        };
        statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW).ok().filter(is_plain)?;
        renameat(&self.fd, name, &to.fd, name).ok()?;
        let opened = openat(&to.fd, name, FILE_FLAGS | OFlags::WRONLY, Mode::empty()).ok();
        let opened = opened.filter(|file| fstat(file).is_ok_and(|stat| is_plain(&stat)));
        if opened.is_none() {
            let _ = unlinkat(&to.fd, name, AtFlags::empty());
        }
        opened.map(File::from)
    }

    /// Writes a new file and renames it to `name`; never writes into an existing file.
    pub fn write(&self, name: &Path, content: &[u8], owner: Option<&ServerUser>) -> Result<()> {
        let mut new = OsString::from(".new-");
        new.push(name);
        let new = Path::new(&new);
        self.remove_file(new)?;
        let path = self.path.join(name);
        let mut file = self.create_file(new, 0o600)?;
        file.write_all(content).map_err(Error::file("write", &path))?;
        if let Some(owner) = owner {
            owner.chown_open(&file, &path)?;
        }
        renameat(&self.fd, new, &self.fd, name).map_err(|error| file_error("write", &path, error))
    }

    /// Removes a file or link; a missing one is not an error.
    pub fn remove_file(&self, name: &Path) -> Result<()> {
        match unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(file_error("remove", &self.path.join(name), error)),
        }
    }

    pub fn link_target(&self, name: &Path) -> Result<PathBuf> {
        let target = readlinkat(&self.fd, name, Vec::new());
        let target = target.map_err(|error| file_error("read", &self.path.join(name), error))?;
        Ok(PathBuf::from(std::ffi::OsStr::from_bytes(target.as_bytes())))
    }

    pub fn make_link(&self, name: &Path, target: &Path) -> Result<()> {
        symlinkat(target, &self.fd, name).map_err(|error| file_error("create", &self.path.join(name), error))
    }

    /// The entries, sorted by name.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let failed = |error| file_error("list", &self.path, error);
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.fd).map_err(failed)? {
            let name = std::ffi::OsStr::from_bytes(entry.map_err(failed)?.file_name().to_bytes()).to_owned();
            if name == "." || name == ".." {
                continue;
            }
            match statat(&self.fd, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => entries.push(Entry { name, stat }),
                // Removed in the meantime.
                Err(Errno::NOENT) => {}
                Err(error) => return Err(file_error("examine", &self.path.join(&name), error)),
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// The type of an entry; a link is not followed.
    pub fn kind(&self, name: &Path) -> Result<FileType> {
        let stat = statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW);
        let stat = stat.map_err(|error| file_error("examine", &self.path.join(name), error))?;
        Ok(FileType::from_raw_mode(stat.st_mode))
    }

    /// Changes the owner of the directory and everything in it; of links, not their targets. Files with
    /// several hard links are changed only if they belong to `uid` or `server_uid`; others are an error.
    pub fn chown_tree(&self, uid: u32, gid: u32, server_uid: u32) -> Result<()> {
        for entry in self.entries()? {
            match entry.kind() {
                FileType::Directory => self.dir(&entry.name)?.chown_tree(uid, gid, server_uid)?,
                _ => chown_at((self.fd.as_fd(), &self.path), Path::new(&entry.name), (uid, gid), server_uid)?,
            }
        }
        chown(self.fd.as_fd(), &self.path, uid, gid)
    }
}

impl AsFd for HeldDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Changes the owner of a file, directory or link to the server's user. Its parent directory must be trusted,
/// or hold nothing of value.
pub fn chown_to(path: &Path, user: &ServerUser) -> Result<()> {
    if !user.switches {
        return Ok(());
    }
    chown_at((CWD, Path::new("")), path, (user.uid, user.gid), user.uid)
}

/// Changes the owner through the descriptor that was checked, so never a link's target or another user's
/// hard-linked file.
fn chown_at(
    (dir, dir_path): (BorrowedFd<'_>, &Path),
    name: &Path,
    (uid, gid): (u32, u32),
    server_uid: u32,
) -> Result<()> {
    let path = dir_path.join(name);
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = openat(dir, name, flags, Mode::empty()).map_err(|error| file_error("open", &path, error))?;
    let stat = fstat(&held).map_err(|error| file_error("examine", &path, error))?;
    let is_dir = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    if ![uid, server_uid].contains(&stat.st_uid) && !is_dir && stat.st_nlink > 1 {
        return Err(hard_link_error(&path));
    }
    chown(held.as_fd(), &path, uid, gid)
}

fn chown(held: BorrowedFd<'_>, path: &Path, uid: u32, gid: u32) -> Result<()> {
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    let changed = chownat(held, "", Some(uid), Some(gid), AtFlags::EMPTY_PATH);
    changed.map_err(|error| file_error("change the owner of", path, error))
}

/// Refuses everything but regular files, and hard links to another user's file.
fn check_file(path: &Path, stat: &Stat, owner: Option<u32>) -> Result<()> {
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        let reason = "it is not a file: remove it";
        return Err(Error::file("read", path)(io::Error::other(reason)));
    }
    if owner.is_some_and(|owner| stat.st_uid != owner) && stat.st_nlink > 1 {
        Err(hard_link_error(path))
    } else {
        Ok(())
    }
}

fn hard_link_error(path: &Path) -> Error {
    let reason = "it is a hard link to another user's file: remove it";
    Error::file("use", path)(io::Error::other(reason))
}

/// Reports an unexpected link as the cause; the kernel's message does not.
fn file_error(action: &'static str, path: &Path, error: Errno) -> Error {
    let is_link = matches!(error, Errno::LOOP | Errno::NOTDIR)
        && std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink());
    let source = match is_link {
        true => io::Error::other("it is a symbolic link, which rqps never creates: remove it"),
        false => error.into(),
    };
    Error::File { action, path: path.to_path_buf(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::server_user;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    /// A directory of the server's user, next to a file of ours.
    fn setup() -> (tempfile::TempDir, HeldDir, PathBuf, ServerUser) {
        let dir = tempfile::tempdir().unwrap();
        let secret = dir.path().join("secret");
        fs::write(&secret, "secret").unwrap();
        let user = server_user().unwrap();
        fs::create_dir(dir.path().join("data")).unwrap();
        chown_to(&dir.path().join("data"), &user).unwrap();
        let held = HeldDir::open(&dir.path().join("data")).unwrap();
        (dir, held, secret, user)
    }

    #[test]
    fn links_are_not_followed_to_write_read_or_chown() {
        let (_dir, held, secret, user) = setup();
        let before = fs::metadata(&secret).unwrap();
        let name = Path::new("postgresql.conf");
        for hard in [false, true] {
            let place = held.path().join(name);
            if hard {
                fs::hard_link(&secret, &place).unwrap()
            } else {
                symlink(&secret, &place).unwrap()
            }
            let reads = !user.switches && hard;
            assert_eq!(held.read(name, Some(user.uid)).is_ok(), reads, "hard {hard}");
            // Changing the owner of a symbolic link itself is allowed.
            assert_eq!(chown_to(&place, &user).is_ok(), !hard || !user.switches);
            held.write(name, b"new", Some(&user)).unwrap();
            assert_eq!(fs::read(&secret).unwrap(), b"secret");
            assert_eq!(fs::metadata(&secret).unwrap().uid(), before.uid());
            assert_eq!(held.read(name, Some(user.uid)).unwrap(), b"new");
            held.remove_file(name).unwrap();
        }
    }

    #[test]
    fn a_link_to_a_directory_is_not_entered() {
        let (dir, held, _secret, user) = setup();
        let elsewhere = dir.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("file"), "x").unwrap();
        let before = fs::metadata(&elsewhere).unwrap().uid();
        symlink(&elsewhere, held.path().join("global")).unwrap();
        let message = held.read(Path::new("global/file"), Some(user.uid)).unwrap_err().to_string();
        assert!(message.contains("symbolic link"), "{message}");
        assert!(held.walk(Path::new("global/new"), true).is_err());
        assert!(held.walk(Path::new("../elsewhere/file"), false).is_err());
        assert!(HeldDir::open(&held.path().join("global")).is_err());
        held.chown_tree(user.uid, user.gid, user.uid).unwrap();
        assert_eq!(fs::metadata(&elsewhere).unwrap().uid(), before);
        assert_eq!(fs::metadata(elsewhere.join("file")).unwrap().uid(), before);
    }

    #[test]
    fn pipes_are_refused() {
        let (_dir, held, _secret, _user) = setup();
        let pipe = held.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let message = held.read(Path::new("pipe"), None).unwrap_err().to_string();
        assert!(message.contains("not a file"), "{message}");
    }
}
