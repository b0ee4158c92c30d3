//! Directories held open by their descriptor. Code that runs as the server's user can create a symbolic link anywhere
//! in that user's directories, or a hard link to somebody else's file; when root then opens a file by its path or
//! changes its owner, it could be any file of the system. So nothing here follows a link below a held directory, and a
//! file is read or changes its owner only after that very file was checked.

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

/// More than any file that is read as a whole; an endless device would have more.
const READ_BYTES_MAX: u64 = 64 << 20;

/// How a directory is opened.
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// How a file is opened: without waiting for the other end of a pipe.
const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

#[derive(Debug)]
pub struct HeldDir {
    fd: OwnedFd,
    path: PathBuf,
}

/// An entry of a directory, as it was when listed.
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
    /// A directory whose place is our own; its last name must not be a link.
    pub fn open(path: &Path) -> Result<HeldDir> {
        let fd = open(path, DIRECTORY, Mode::empty());
        let fd = fd.map_err(|error| at("open directory", path, error))?;
        Ok(HeldDir { fd, path: path.to_path_buf() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn dir(&self, name: impl AsRef<Path>) -> Result<HeldDir> {
        let path = self.path.join(&name);
        let fd = openat(&self.fd, name.as_ref(), DIRECTORY, Mode::empty());
        Ok(HeldDir { fd: fd.map_err(|error| at("open directory", &path, error))?, path })
    }

    /// Creates a directory in it, which must not exist.
    pub fn make_dir(&self, name: impl AsRef<Path>, mode: u32) -> Result<HeldDir> {
        let path = self.path.join(&name);
        mkdirat(&self.fd, name.as_ref(), Mode::from_raw_mode(mode))
            .map_err(|error| at("create directory", &path, error))?;
        self.dir(name)
    }

    /// The directory on the way to the last name of `relative`, and that name; directories that are not there are made
    /// where `make` says so. Names alone are taken: no `..`, nothing from the root.
    pub fn walk<'p>(&self, relative: &'p Path, make: bool) -> Result<(HeldDir, &'p Path)> {
        let odd = || Error::file("open", self.path.join(relative))(io::ErrorKind::InvalidInput.into());
        if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(odd());
        }
        let name = relative.file_name().ok_or_else(odd)?;
        let mut dir = self.again()?;
        for part in relative.parent().into_iter().flat_map(Path::components) {
            let made = make.then(|| mkdirat(&dir.fd, part.as_os_str(), Mode::from_raw_mode(0o755)));
            match made {
                Some(Err(error)) if error != Errno::EXIST => {
                    return Err(at("create directory", &dir.path.join(part), error));
                }
                _ => dir = dir.dir(part)?,
            }
        }
        Ok((dir, Path::new(name)))
    }

    fn again(&self) -> Result<HeldDir> {
        let fd = self.fd.try_clone().map_err(Error::file("open", &self.path))?;
        Ok(HeldDir { fd, path: self.path.clone() })
    }

    /// A regular file below it. Where an owner is named, it is not another name of somebody else's file.
    pub fn open_file(&self, relative: &Path, owner: Option<u32>) -> Result<File> {
        let (dir, name) = self.walk(relative, false)?;
        let path = dir.path.join(name);
        let file = openat(&dir.fd, name, FILE | OFlags::RDONLY, Mode::empty());
        let file = File::from(file.map_err(|error| at("open", &path, error))?);
        let stat = fstat(&file).map_err(|error| at("examine", &path, error))?;
        check_own(&path, &stat, owner)?;
        Ok(file)
    }

    /// The content of such a file.
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

    /// Creates a file in it, which must not exist.
    pub fn create_file(&self, name: impl AsRef<Path>, mode: u32) -> Result<File> {
        let flags = FILE | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let file = openat(&self.fd, name.as_ref(), flags, Mode::from_raw_mode(mode));
        Ok(File::from(file.map_err(|error| at("create", &self.path.join(name), error))?))
    }

    /// Replaces whatever has this name by a new file; never writes into it.
    pub fn write(&self, name: &Path, content: &[u8], owner: Option<&ServerUser>) -> Result<()> {
        let mut new = OsString::from(".new-");
        new.push(name);
        let new = Path::new(&new);
        self.remove_file(new)?;
        let path = self.path.join(name);
        let mut file = self.create_file(new, 0o600)?;
        file.write_all(content).map_err(Error::file("write", &path))?;
        if let Some(owner) = owner {
            owner.give_open(&file, &path)?;
        }
        renameat(&self.fd, new, &self.fd, name).map_err(|error| at("write", &path, error))
    }

    /// Removes a file or link; a missing one is not an error.
    pub fn remove_file(&self, name: &Path) -> Result<()> {
        match unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(at("remove", &self.path.join(name), error)),
        }
    }

    pub fn link_target(&self, name: &Path) -> Result<PathBuf> {
        let target = readlinkat(&self.fd, name, Vec::new());
        let target = target.map_err(|error| at("read", &self.path.join(name), error))?;
        Ok(PathBuf::from(std::ffi::OsStr::from_bytes(target.as_bytes())))
    }

    pub fn make_link(&self, name: &Path, target: &Path) -> Result<()> {
        symlinkat(target, &self.fd, name).map_err(|error| at("create", &self.path.join(name), error))
    }

    /// What lies in it, in the order of names.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let failed = |error| at("list", &self.path, error);
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.fd).map_err(failed)? {
            let name = std::ffi::OsStr::from_bytes(entry.map_err(failed)?.file_name().to_bytes()).to_owned();
            if name == "." || name == ".." {
                continue;
            }
            match statat(&self.fd, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => entries.push(Entry { name, stat }),
                // It went away in between.
                Err(Errno::NOENT) => {}
                Err(error) => return Err(at("examine", &self.path.join(&name), error)),
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// What a name in it is, of a link the link itself.
    pub fn stat(&self, name: &Path) -> Result<Stat> {
        let stat = statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW);
        stat.map_err(|error| at("examine", &self.path.join(name), error))
    }

    /// Gives it and all in it to a user; links themselves, not what they point to. Of files with several names only
    /// those of `server_uid` are given.
    pub fn give_tree(&self, uid: u32, gid: u32, server_uid: u32) -> Result<()> {
        for entry in self.entries()? {
            match entry.kind() {
                FileType::Directory => self.dir(&entry.name)?.give_tree(uid, gid, server_uid)?,
                _ => give_at((self.fd.as_fd(), &self.path), Path::new(&entry.name), (uid, gid), server_uid)?,
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

/// Gives a file or directory to the server's user; of a link, the link itself. Its directory must be our own, or hold
/// nothing that is worth having.
pub fn give(path: &Path, user: &ServerUser) -> Result<()> {
    if !user.switches {
        return Ok(());
    }
    give_at((CWD, Path::new("")), path, (user.uid, user.gid), user.uid)
}

/// Changes the owner of exactly the file that was checked: not of a link's target or of another user's hard-linked
/// file.
fn give_at(
    (dir, dir_path): (BorrowedFd<'_>, &Path),
    name: &Path,
    (uid, gid): (u32, u32),
    server_uid: u32,
) -> Result<()> {
    let path = dir_path.join(name);
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = openat(dir, name, flags, Mode::empty()).map_err(|error| at("open", &path, error))?;
    let stat = fstat(&held).map_err(|error| at("examine", &path, error))?;
    let is_dir = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    if ![uid, server_uid].contains(&stat.st_uid) && !is_dir && stat.st_nlink > 1 {
        return Err(other_name(&path));
    }
    chown(held.as_fd(), &path, uid, gid)
}

fn chown(held: BorrowedFd<'_>, path: &Path, uid: u32, gid: u32) -> Result<()> {
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    let given = chownat(held, "", Some(uid), Some(gid), AtFlags::EMPTY_PATH);
    given.map_err(|error| at("change the owner of", path, error))
}

/// Refuses everything but regular files, and hard links to another user's file.
fn check_own(path: &Path, stat: &Stat, owner: Option<u32>) -> Result<()> {
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        let reason = "it is not a file: remove it";
        return Err(Error::file("read", path)(io::Error::other(reason)));
    }
    if owner.is_some_and(|owner| stat.st_uid != owner) && stat.st_nlink > 1 {
        Err(other_name(path))
    } else {
        Ok(())
    }
}

fn other_name(path: &Path) -> Error {
    let reason = "it is a hard link to another user's file: remove it";
    Error::file("use", path)(io::Error::other(reason))
}

/// Says so if an unexpected link is the cause: the kernel's message does not.
fn at(action: &'static str, path: &Path, error: Errno) -> Error {
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

    /// A directory of the server's user with a file of ours beside it.
    fn scene() -> (tempfile::TempDir, HeldDir, PathBuf, ServerUser) {
        let dir = tempfile::tempdir().unwrap();
        let secret = dir.path().join("secret");
        fs::write(&secret, "secret").unwrap();
        let user = server_user().unwrap();
        fs::create_dir(dir.path().join("data")).unwrap();
        give(&dir.path().join("data"), &user).unwrap();
        let held = HeldDir::open(&dir.path().join("data")).unwrap();
        (dir, held, secret, user)
    }

    #[test]
    fn nothing_is_written_to_read_or_given_through_a_link() {
        let (_dir, held, secret, user) = scene();
        let own = fs::metadata(&secret).unwrap();
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
            // A link may be given itself.
            assert_eq!(give(&place, &user).is_ok(), !hard || !user.switches);
            held.write(name, b"new", Some(&user)).unwrap();
            assert_eq!(fs::read(&secret).unwrap(), b"secret");
            assert_eq!(fs::metadata(&secret).unwrap().uid(), own.uid());
            assert_eq!(held.read(name, Some(user.uid)).unwrap(), b"new");
            held.remove_file(name).unwrap();
        }
    }

    #[test]
    fn a_directory_that_is_a_link_is_not_entered() {
        let (dir, held, _secret, user) = scene();
        let elsewhere = dir.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("file"), "x").unwrap();
        let own = fs::metadata(&elsewhere).unwrap().uid();
        symlink(&elsewhere, held.path().join("global")).unwrap();
        let message = held.read(Path::new("global/file"), Some(user.uid)).unwrap_err().to_string();
        assert!(message.contains("symbolic link"), "{message}");
        assert!(held.walk(Path::new("global/new"), true).is_err());
        assert!(held.walk(Path::new("../elsewhere/file"), false).is_err());
        assert!(HeldDir::open(&held.path().join("global")).is_err());
        held.give_tree(user.uid, user.gid, user.uid).unwrap();
        assert_eq!(fs::metadata(&elsewhere).unwrap().uid(), own);
        assert_eq!(fs::metadata(elsewhere.join("file")).unwrap().uid(), own);
    }

    #[test]
    fn pipes_and_endless_devices_are_no_files() {
        let (_dir, held, _secret, _user) = scene();
        let pipe = held.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let message = held.read(Path::new("pipe"), None).unwrap_err().to_string();
        assert!(message.contains("not a file"), "{message}");
    }
}
