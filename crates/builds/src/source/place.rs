//! The source code of a build: a directory, a tarball or a commit of a git repository. Builds run in a copy
//! of it.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rqps_model::{Dbms, SourceSpec};
use rustix::fs::FileType;
use sha2::{Digest, Sha256};

use super::code::read_file;
use super::git::{self, Repository};
use super::twin::Twin;
use super::watch::Watch;
use crate::digest::{hex, sha256_hex};
use crate::dirs::{Dirs, create_open_dir};
use crate::error::{Error, Result};
use crate::held_dir::{self, HeldDir};
use crate::plain_file;
use crate::user::server_user;

/// More files than any DBMS's source has; a directory with more is something else.
const FILES_MAX: usize = 400_000;

/// Largest source file or tarball, in bytes. MySQL's tarball, libraries included, has 0.5 GB.
const FILE_BYTES_MAX: u64 = 2 << 30;

/// Left by an in-tree build; a build in a copy would mix the two.
const BUILD_LEFTOVERS: [&str; 2] = ["config.status", "CMakeCache.txt"];

#[derive(Debug)]
pub(crate) struct Source {
    kind: Kind,
    /// Kind and hash, independent of the location.
    pub identity: String,
    /// The origin, as a phrase.
    pub origin: String,
}

#[derive(Debug)]
enum Kind {
    /// The canonical path, and the files.
    Directory {
        path: PathBuf,
        files: Vec<PathBuf>,
    },
    Tarball(PathBuf),
    Git(Repository),
}

/// The identity that a spec determines without looking at the source: only a full commit id does.
pub(crate) fn identity_by_name(spec: &SourceSpec) -> Option<String> {
    spec.reference.as_deref().filter(|name| git::is_commit_id(name)).map(commit_identity)
}

fn commit_identity(commit: &str) -> String {
    format!("commit {}", commit.to_lowercase())
}

/// Whether a spec names a git repository, and not its files as they are.
pub(crate) fn is_repository(spec: &SourceSpec) -> bool {
    spec.is_remote() || spec.reference.is_some() || git::is_bare(Path::new(&spec.place))
}

/// Writes those of these files that a source has into an empty directory; false if it is no directory or repository.
/// Fetches remote repositories.
pub(crate) fn outline(
    dirs: &Dirs,
    spec: &SourceSpec,
    names: &[&str],
    into: &Path,
    watch: &mut Watch<'_>,
) -> Result<bool> {
    let place = Path::new(&spec.place);
    let place = &std::path::absolute(place).map_err(Error::file("examine", place))?;
    if !spec.is_remote() && !place.is_dir() {
        return Ok(false);
    }
    let repository = match is_repository(spec) {
        true if spec.is_remote() => Some(Repository::mirror(dirs, spec, watch)?),
        true => Some(Repository::local(dirs, place, spec.reference.as_deref())?),
        false => None,
    };
    for name in names {
        let text = match &repository {
            Some(repository) => repository.file(name),
            None => read_file(place, name),
        };
        let Some(text) = text else { continue };
        let path = into.join(name);
        if let Some(folder) = path.parent() {
            create_open_dir(folder)?;
        }
        fs::write(&path, text).map_err(Error::file("write", &path))?;
    }
    Ok(true)
}

impl Source {
    /// Resolves a spec. Fetches remote repositories.
    pub fn find(dirs: &Dirs, dbms: Dbms, spec: &SourceSpec, watch: &mut Watch<'_>) -> Result<Source> {
        let not_source = |reason: String| Error::NotSource { place: spec.place.clone(), dbms, reason };
        if spec.is_remote() {
            return Ok(Source::from_git(Repository::mirror(dirs, spec, watch)?));
        }
        let path = Path::new(&spec.place);
        let path = &std::path::absolute(path).map_err(Error::file("examine", path))?;
        let meta = fs::metadata(path).map_err(|error| not_source(format!("{error}: correct the path")))?;
        if meta.is_file() && spec.reference.is_none() {
            return Source::from_tarball(path);
        }
        if meta.is_file() {
            return Err(not_source("only git repositories have references: remove `@REF`".to_owned()));
        }
        if spec.reference.is_some() || git::is_bare(path) {
            return Ok(Source::from_git(Repository::local(dirs, path, spec.reference.as_deref())?));
        }
        if let Some(file) =
            BUILD_LEFTOVERS.iter().find(|file| path.join(file).exists() && !git::is_checkout(path))
        {
            let remedy = "run `make distclean` in it, or name a fresh copy or a git repository";
            return Err(not_source(format!("it contains {file} from an earlier build: {remedy}")));
        }
        Source::from_directory(dirs, path, &not_source)
    }

    fn from_git(repository: Repository) -> Source {
        let Repository { place, commit, .. } = &repository;
        Source {
            identity: commit_identity(commit),
            origin: format!("{place} at commit {}", &commit[..12.min(commit.len())]),
            kind: Kind::Git(repository),
        }
    }

    fn from_tarball(path: &Path) -> Result<Source> {
        let content = plain_file::read(path, FILE_BYTES_MAX).map_err(Error::file("read", path))?;
        Ok(Source {
            identity: format!("tarball {}", sha256_hex(&content)),
            origin: format!("tarball {}", path.display()),
            kind: Kind::Tarball(path.to_path_buf()),
        })
    }

    fn from_directory(dirs: &Dirs, path: &Path, not_source: &dyn Fn(String) -> Error) -> Result<Source> {
        let real = fs::canonicalize(path).map_err(Error::file("examine", path))?;
        let twin = git::is_checkout(path).then(|| Twin::create(dirs, &real)).transpose()?;
        // Git does not list the files of submodules.
        let files = match &twin {
            Some(twin) if !real.join(".gitmodules").exists() => twin.files_of_checkout()?,
            _ => files_below(&real)?,
        };
        if files.len() > FILES_MAX {
            return Err(not_source(format!(
                "it holds more than {FILES_MAX} files: name the source directory itself"
            )));
        }
        let at = twin.and_then(|twin| twin.description());
        let at = at.map(|commit| format!(" at commit {commit}")).unwrap_or_default();
        Ok(Source {
            identity: format!("tree {}", hash_of(&real, &files)?),
            origin: format!("directory {}{at}", path.display()),
            kind: Kind::Directory { path: real, files },
        })
    }

    pub fn commit(&self) -> Option<&str> {
        match &self.kind {
            Kind::Git(repository) => Some(&repository.commit),
            _ => None,
        }
    }

    /// Sets the times of files in a copy of a commit by the commits that changed them; other copies have times already.
    pub fn set_times(&self, copy: &Path) -> Result<()> {
        match &self.kind {
            Kind::Git(repository) => repository.set_times(copy),
            Kind::Directory { .. } | Kind::Tarball(_) => Ok(()),
        }
    }

    /// Copies the source into an empty directory. Tarballs and commits are unpacked by the server's user, who
    /// then owns the directory.
    pub fn copy_to(&self, into: &Path) -> Result<()> {
        match &self.kind {
            Kind::Directory { path, files } => copy(path, files, into),
            Kind::Tarball(path) => unpack(path, into),
            Kind::Git(repository) => repository.check_out(into),
        }
    }
}

/// All files below a directory except `.git`, relative to it, sorted.
fn files_below(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(relative) = open.pop() {
        let directory = root.join(&relative);
        for entry in fs::read_dir(&directory).map_err(Error::file("list", &directory))? {
            let entry = entry.map_err(Error::file("list", &directory))?;
            if entry.file_name() == ".git" {
                continue;
            }
            let path = relative.join(entry.file_name());
            let kind = entry.file_type().map_err(Error::file("examine", entry.path()))?;
            if kind.is_dir() { open.push(path) } else { files.push(path) }
        }
        if files.len() > FILES_MAX {
            break;
        }
    }
    files.sort();
    Ok(files)
}

/// SHA-256 over the path, executable bit and content of each file, or the target of a link.
fn hash_of(root: &Path, files: &[PathBuf]) -> Result<String> {
    let mut hasher = Sha256::new();
    let root = HeldDir::open(root)?;
    for relative in files {
        hasher.update(relative.as_os_str().as_encoded_bytes());
        let (dir, name) = root.walk(relative, false)?;
        if dir.kind(name)? == FileType::Symlink {
            hasher.update(b"\0link\0");
            hasher.update(dir.link_target(name)?.as_os_str().as_encoded_bytes());
        } else {
            let path = dir.path().join(name);
            let file = dir.open_file(name, None)?;
            let meta = file.metadata().map_err(Error::file("examine", &path))?;
            let executable = meta.permissions().mode() & 0o100 != 0;
            let content = plain_file::content(file, FILE_BYTES_MAX).map_err(Error::file("read", &path))?;
            hasher.update(format!("\0{executable}\0{}\n", content.len()));
            hasher.update(&content);
        }
    }
    Ok(hex(&hasher.finalize()))
}

/// Keeps modification times: make would regenerate files older than their sources, which needs extra
/// programs.
fn copy(root: &Path, files: &[PathBuf], into: &Path) -> Result<()> {
    fs::create_dir_all(into).map_err(Error::file("create", into))?;
    let (root, into) = (HeldDir::open(root)?, HeldDir::open(into)?);
    for relative in files {
        let ((from, name), (to, _)) = (root.walk(relative, false)?, into.walk(relative, true)?);
        if from.kind(name)? == FileType::Symlink {
            to.make_link(name, &from.link_target(name)?)?;
            continue;
        }
        let path = from.path().join(name);
        let mut source = from.open_file(name, None)?;
        let meta = source.metadata().map_err(Error::file("examine", &path))?;
        let mut target = to.create_file(name, 0o600)?;
        io::copy(&mut source, &mut target)
            .and_then(|_bytes| target.set_permissions(meta.permissions()))
            .and_then(|()| target.set_modified(meta.modified()?))
            .map_err(Error::file("copy", &path))?;
    }
    Ok(())
}

/// Uses the system's `tar`, which supports every compression in use, and drops the top directory. Runs as the
/// server's user, so it unpacks a copy that this user can read.
fn unpack(tarball: &Path, into: &Path) -> Result<()> {
    let user = server_user()?;
    held_dir::chown_to(into, &user)?;
    let copy = into.with_extension("tar");
    fs::copy(tarball, &copy).map_err(Error::file("copy", tarball))?;
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o644))
        .map_err(Error::file("set permissions of", &copy))?;
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--no-same-owner", "--strip-components=1", "--file"]).arg(&copy);
    tar.arg("--directory").arg(into).current_dir("/").stdin(Stdio::null());
    user.apply(&mut tar);
    let output = tar.output().map_err(Error::file("run tar on", tarball))?;
    fs::remove_file(&copy).map_err(Error::file("remove", &copy))?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::file("unpack", tarball)(io::Error::other(stderr)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(place: &Path) -> SourceSpec {
        SourceSpec {
            place: place.to_string_lossy().into_owned(),
            reference: None,
            flavour: "o2nofp".to_owned(),
        }
    }

    fn find(place: &Path) -> Result<Source> {
        let dirs = Dirs { cache: place.join("no-cache"), work: place.join("no-work") };
        Watch::nobody(|watch| Source::find(&dirs, Dbms::Postgres, &spec(place), watch))
    }

    #[test]
    fn a_directory_is_identified_by_content_and_copied_with_times_and_modes() {
        let dir = tempfile::tempdir().unwrap();
        let (source, twin, copied) = (dir.path().join("a"), dir.path().join("b"), dir.path().join("c"));
        for tree in [&source, &twin] {
            fs::create_dir_all(tree.join("src")).unwrap();
            fs::write(tree.join("src/main.c"), "int main;").unwrap();
            fs::write(tree.join("configure"), "#!/bin/sh").unwrap();
            fs::set_permissions(tree.join("configure"), fs::Permissions::from_mode(0o755)).unwrap();
            std::os::unix::fs::symlink("src/main.c", tree.join("link")).unwrap();
        }
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        fs::File::options().write(true).open(source.join("src/main.c")).unwrap().set_modified(old).unwrap();
        let found = find(&source).unwrap();
        assert_eq!(found.identity, find(&twin).unwrap().identity);
        found.copy_to(&copied).unwrap();
        assert_eq!(found.identity, find(&copied).unwrap().identity);
        assert_eq!(fs::metadata(copied.join("src/main.c")).unwrap().modified().unwrap(), old);
        fs::set_permissions(twin.join("configure"), fs::Permissions::from_mode(0o644)).unwrap();
        assert_ne!(found.identity, find(&twin).unwrap().identity);
        fs::write(source.join("config.status"), "").unwrap();
        let message = find(&source).unwrap_err().to_string();
        assert!(message.contains("make distclean"), "{message}");
    }
}
