//! A private repository that shares another one's objects and refs. Git opens only this one, so the other's
//! configuration has no effect. It belongs to the server's user, and git runs as that user.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use rqps_model::did_you_mean;
use rustix::fs::FileType;

use super::tools::PATH;
use crate::cache::Partial;
use crate::dirs::{Dirs, create_open_dir};
use crate::error::{Error, Result};
use crate::held_dir::HeldDir;
use crate::user::{MOVE_CACHE, ServerUser, server_user};

/// Prefix of the name of a twin, or of another directory for a moment; its creator's pid follows.
const PREFIX: &str = "twin-";

/// The whole configuration of a twin.
const CONFIG: &[u8] = b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n";

/// Copied from the checkout's own git directory: the current commit and the index.
const CHECKOUT_ENTRIES: [&str; 2] = ["HEAD", "index"];

/// Copied from the git directory that several checkouts share.
const SHARED_ENTRIES: [&str; 3] = ["packed-refs", "refs", "shallow"];

/// Ignored files of a checkout, besides those that the source itself lists.
const EXCLUDED: &str = "info/exclude";

const REMEDY: &str = "name a copy of the repository that everybody can read";

/// Removed when dropped.
#[derive(Debug)]
pub(crate) struct Twin {
    dir: Partial,
    /// The original: a checkout or bare repository.
    original: PathBuf,
    user: ServerUser,
}

impl Twin {
    /// Creates the twin of a checkout or bare repository.
    pub fn create(dirs: &Dirs, path: &Path) -> Result<Twin> {
        let user = server_user()?;
        let not_a_repository = || Error::Git {
            action: "open",
            place: path.to_string_lossy().into_owned(),
            reason: "it is not a git repository".to_owned(),
        };
        let (git_dir, shared) = directories_of(path).ok_or_else(not_a_repository)?;
        for directory in [path, &git_dir, &shared.join("objects")] {
            user.check_reachable(directory, REMEDY)?;
        }
        let twin = Twin { dir: scratch(dirs)?, original: path.to_path_buf(), user };
        twin.user.check_reachable(&folder(dirs), MOVE_CACHE)?;
        twin.fill(&git_dir, &shared)?;
        Ok(twin)
    }

    pub fn path(&self) -> &Path {
        &self.dir.path
    }

    fn fill(&self, git_dir: &Path, shared: &Path) -> Result<()> {
        let held = HeldDir::open(&self.dir.path)?;
        let mut objects = shared.join("objects").into_os_string();
        objects.push("\n");
        for (file, content) in [
            ("config", CONFIG),
            ("HEAD", b"ref: refs/heads/none\n"),
            ("objects/info/alternates", objects.as_encoded_bytes()),
        ] {
            let (dir, name) = held.walk(Path::new(file), true)?;
            dir.write(name, content, None)?;
        }
        for directory in ["refs", "info"] {
            held.make_dir(directory, 0o755)?;
        }
        if self.user.switches {
            held.chown_tree(self.user.uid, self.user.gid, self.user.uid)?;
        }
        let existing = |path: PathBuf| fs::symlink_metadata(&path).is_ok().then_some(path);
        let of_checkout = CHECKOUT_ENTRIES.iter().filter_map(|name| existing(git_dir.join(name)));
        let of_shared = SHARED_ENTRIES.iter().filter_map(|name| existing(shared.join(name)));
        let entries = fs::read_dir(git_dir).map_err(Error::file("list", git_dir))?.flatten();
        let split_index = entries.map(|entry| entry.path());
        let split_index = split_index.filter(|path| path.file_name().is_some_and(is_part_of_index));
        self.copy_in(of_checkout.chain(of_shared).chain(split_index).collect(), &self.dir.path)?;
        self.copy_in(existing(shared.join(EXCLUDED)).into_iter().collect(), &self.dir.path.join("info"))
    }

    /// Copies files and directories as the server's user, so only what this user may read.
    fn copy_in(&self, paths: Vec<PathBuf>, into: &Path) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut cp = Command::new("cp");
        cp.args(["--recursive", "--no-dereference", "--"]).args(paths).arg(into).current_dir("/");
        self.user.apply(&mut cp);
        output_of(cp, Path::new("/"), "read", &self.original.to_string_lossy()).map(|_nothing| ())
    }

    /// Resolves a reference to a commit; also tries branches of the remote `origin`.
    pub fn commit_of(&self, reference: &str) -> Result<String> {
        let resolve = |name: String| {
            let arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", &name];
            self.run_on_twin("open", &arguments).ok().map(|text| text.trim().to_owned())
        };
        resolve(format!("{reference}^{{commit}}"))
            .or_else(|| resolve(format!("refs/remotes/origin/{reference}^{{commit}}")))
            .ok_or_else(|| {
                let place = self.original.to_string_lossy().into_owned();
                let meant = self.reference_meant(reference).map(|question| format!(". {question}"));
                let reason =
                    format!("it has no commit, tag or branch `{reference}`{}", meant.unwrap_or_default());
                Error::Git { action: "find the commit in", place, reason }
            })
    }

    /// A tag or branch, also of `origin`, whose name is near.
    fn reference_meant(&self, reference: &str) -> Option<String> {
        let listed = self.run_on_twin("open", &["for-each-ref", "--format=%(refname:short)"]).ok()?;
        did_you_mean(reference, listed.lines().map(|name| name.strip_prefix("origin/").unwrap_or(name)))
    }

    /// The source files of the checkout, sorted: tracked files, and untracked ones that are not ignored, so
    /// no output of an earlier build.
    pub fn files_of_checkout(&self) -> Result<Vec<PathBuf>> {
        const LIST: &str = "list the files of";
        let listed =
            self.run_on_twin(LIST, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
        let mut files: Vec<PathBuf> =
            listed.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect();
        let is_name = |part: Component<'_>| matches!(part, Component::Normal(name) if name != ".git");
        if let Some(odd) = files.iter().find(|file| !file.components().all(is_name)) {
            let place = self.original.to_string_lossy().into_owned();
            let reason = format!("its index names {}, which is not one of its files", odd.display());
            return Err(Error::Git { action: LIST, place, reason });
        }
        // The index still lists files that were deleted in the checkout.
        let top = HeldDir::open(&self.original)?;
        let kind = |file: &PathBuf| top.walk(file, false).and_then(|(dir, name)| dir.kind(name));
        files.retain(|file| kind(file).is_ok_and(|kind| kind != FileType::Directory));
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// The checked out commit, with `-dirty` if files differ from it; None without a commit.
    pub fn description(&self) -> Option<String> {
        let arguments = ["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"];
        self.run_on_twin("open", &arguments).ok().map(|text| text.trim().to_owned())
    }

    /// Runs git on the twin, with the original's working tree.
    pub fn run_on_twin(&self, action: &'static str, arguments: &[&str]) -> Result<String> {
        let twin = format!("--git-dir={}", self.dir.path.display());
        let tree = format!("--work-tree={}", self.original.display());
        let arguments: Vec<&str> = [&*twin, &*tree].into_iter().chain(arguments.iter().copied()).collect();
        self.run(&self.original, action, &arguments)
    }

    /// Runs git in a directory that rqps or git created, and returns its output.
    pub fn run(&self, directory: &Path, action: &'static str, arguments: &[&str]) -> Result<String> {
        let mut git = Command::new("git");
        git.args(["-c", "safe.directory=*", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"])
            .args(["-c", "advice.detachedHead=false"])
            .args(arguments)
            .current_dir(directory)
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| self.passes_env(name)))
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("LC_ALL", "C");
        if self.user.switches {
            git.env("PATH", PATH).env("HOME", "/nonexistent").env("GIT_CONFIG_GLOBAL", "/dev/null");
        }
        self.user.apply(&mut git);
        output_of(git, directory, action, &self.original.to_string_lossy())
    }

    /// Which of the caller's environment variables git gets. Another user needs only those for network
    /// access.
    fn passes_env(&self, name: &OsStr) -> bool {
        let name = name.to_string_lossy();
        match self.user.switches {
            true => name.to_ascii_lowercase().ends_with("_proxy") || name.starts_with("SSL_CERT_"),
            false => !name.starts_with("GIT_"),
        }
    }
}

/// Where twins are.
fn folder(dirs: &Dirs) -> PathBuf {
    dirs.cache.join("source/git")
}

/// A new directory that is removed when dropped, or by another process if this one is killed.
pub(crate) fn scratch(dirs: &Dirs) -> Result<Partial> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let folder = folder(dirs);
    create_open_dir(&folder)?;
    remove_leftovers(&folder)?;
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!("{PREFIX}{}-{number}", std::process::id()));
    DirBuilder::new().mode(0o700).create(&path).map_err(Error::file("create", &path))?;
    Ok(Partial { path })
}

/// The repository's git directory, and the one that it shares with other checkouts.
fn directories_of(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let inside = path.join(".git");
    let git_dir = match fs::metadata(&inside) {
        Ok(meta) if meta.is_file() => path.join(line_of(&inside)?.strip_prefix("gitdir:")?.trim()),
        Ok(_directory) => inside,
        Err(_absent) => path.to_path_buf(),
    };
    let common = git_dir.join("commondir");
    let shared = if common.is_file() { git_dir.join(line_of(&common)?) } else { git_dir.clone() };
    let (git_dir, shared) = (fs::canonicalize(git_dir).ok()?, fs::canonicalize(shared).ok()?);
    shared.join("objects").is_dir().then_some((git_dir, shared))
}

/// Reads a file of one line.
fn line_of(path: &Path) -> Option<String> {
    let content = HeldDir::open(path.parent()?).ok()?.read(Path::new(path.file_name()?), None).ok()?;
    Some(String::from_utf8(content).ok()?.trim().to_owned())
}

fn is_part_of_index(name: &OsStr) -> bool {
    name.to_string_lossy().starts_with("sharedindex.")
}

/// Removes twins whose process was killed.
fn remove_leftovers(twins: &Path) -> Result<()> {
    for entry in fs::read_dir(twins).map_err(Error::file("list", twins))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            // Another process may be removing it.
            let _gone = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

/// Runs git or another program on a repository and returns its output.
pub(crate) fn output_of(
    mut git: Command,
    directory: &Path,
    action: &'static str,
    place: &str,
) -> Result<String> {
    let failed = |reason: String| Error::Git { action, place: place.to_owned(), reason };
    let output = match git.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && directory.is_dir() => {
            return Err(failed(
                "git is not installed: on Debian or Ubuntu run `apt-get install git`".to_owned(),
            ));
        }
        Err(error) => return Err(failed(error.to_string())),
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    // Git only warns about a directory that it may not enter, and would skip its files.
    if !output.status.success() || stderr.contains("could not open directory") {
        return Err(failed(stderr.trim().replace('\r', "")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
