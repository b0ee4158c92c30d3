//! A private repository that shares the objects and refs of another one. Git opens only this one, so the other one's
//! configuration has no effect. It belongs to the server's user, and git runs as that user.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::tools::PATH;
use crate::cache::Partial;
use crate::dirs::{Dirs, create_open_dir};
use crate::error::{Error, Result};
use crate::held_dir::HeldDir;
use crate::user::{MOVE_CACHE, ServerUser, server_user};

/// How the names of twins begin; the pid of their maker follows.
const PREFIX: &str = "twin-";

/// All that a twin is set up with.
const CONFIG: &[u8] = b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n";

/// What of another repository's own directory a twin takes over: names of commits, and which files are known.
const OF_CHECKOUT: [&str; 2] = ["HEAD", "index"];

/// The same, of what several checkouts share.
const SHARED: [&str; 3] = ["packed-refs", "refs", "shallow"];

/// Files of a checkout that are not the source's, beside those that the source itself names.
const EXCLUDED: &str = "info/exclude";

const REMEDY: &str = "name a copy of the repository that everybody can read";

/// A twin. It is removed when dropped.
#[derive(Debug)]
pub(crate) struct Twin {
    dir: Partial,
    /// The checkout or bare repository that it is the twin of.
    of: PathBuf,
    user: ServerUser,
}

impl Twin {
    /// The twin of a checkout or bare repository.
    pub fn create(dirs: &Dirs, path: &Path) -> Result<Twin> {
        let user = server_user()?;
        let no_repository = || Error::Git {
            action: "open",
            place: path.to_string_lossy().into_owned(),
            reason: "it is not a git repository".to_owned(),
        };
        let (own, shared) = directories_of(path).ok_or_else(no_repository)?;
        for directory in [path, &own, &shared.join("objects")] {
            user.check_reachable(directory, REMEDY)?;
        }
        let twins = dirs.cache.join("source/git");
        create_open_dir(&twins)?;
        remove_leftovers(&twins)?;
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let dir = twins.join(format!("{PREFIX}{}-{number}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&dir).map_err(Error::file("create", &dir))?;
        let twin = Twin { dir: Partial { path: dir }, of: path.to_path_buf(), user };
        twin.user.check_reachable(&twins, MOVE_CACHE)?;
        twin.fill(&own, &shared)?;
        Ok(twin)
    }

    pub fn path(&self) -> &Path {
        &self.dir.path
    }

    fn fill(&self, own: &Path, shared: &Path) -> Result<()> {
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
            held.give_tree(self.user.uid, self.user.gid, self.user.uid)?;
        }
        let there = |path: PathBuf| fs::symlink_metadata(&path).is_ok().then_some(path);
        let of_checkout = OF_CHECKOUT.iter().filter_map(|name| there(own.join(name)));
        let of_shared = SHARED.iter().filter_map(|name| there(shared.join(name)));
        let entries = fs::read_dir(own).map_err(Error::file("list", own))?.flatten();
        let split = entries.map(|entry| entry.path());
        let split = split.filter(|path| path.file_name().is_some_and(is_part_of_index));
        self.take(of_checkout.chain(of_shared).chain(split).collect(), &self.dir.path)?;
        self.take(there(shared.join(EXCLUDED)).into_iter().collect(), &self.dir.path.join("info"))
    }

    /// Copies files and directories, as the server's user: nothing that this user may not read.
    fn take(&self, paths: Vec<PathBuf>, into: &Path) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut cp = Command::new("cp");
        cp.args(["--recursive", "--no-dereference", "--"]).args(paths).arg(into).current_dir("/");
        self.user.apply(&mut cp);
        output_of(cp, Path::new("/"), "read", &self.of.to_string_lossy()).map(|_nothing| ())
    }

    /// The commit that a name means; a branch that is only known of the repository that it was cloned from counts.
    pub fn commit_of(&self, reference: &str) -> Result<String> {
        let ask = |name: String| {
            let arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", &name];
            self.run_on_twin("open", &arguments).ok().map(|text| text.trim().to_owned())
        };
        ask(format!("{reference}^{{commit}}"))
            .or_else(|| ask(format!("refs/remotes/origin/{reference}^{{commit}}")))
            .ok_or_else(|| {
                let place = self.of.to_string_lossy().into_owned();
                let reason = format!("it has no commit, tag or branch `{reference}`");
                Error::Git { action: "open", place, reason }
            })
    }

    /// The files of the checkout that belong to the source, sorted: those that git knows and new ones that it is not
    /// told to ignore, so what an earlier build left is none.
    pub fn files_of_checkout(&self) -> Result<Vec<PathBuf>> {
        const LIST: &str = "list the files of";
        let listed =
            self.run_on_twin(LIST, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
        let mut files: Vec<PathBuf> =
            listed.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect();
        let is_name = |part: Component<'_>| matches!(part, Component::Normal(name) if name != ".git");
        if let Some(odd) = files.iter().find(|file| !file.components().all(is_name)) {
            let place = self.of.to_string_lossy().into_owned();
            let reason = format!("its index names {}, which is not one of its files", odd.display());
            return Err(Error::Git { action: LIST, place, reason });
        }
        // What is removed in the checkout is still known to git.
        let top = HeldDir::open(&self.of)?;
        let there = |file: &PathBuf| top.walk(file, false).and_then(|(dir, name)| dir.stat(name));
        let is_dir = rustix::fs::FileType::Directory;
        files.retain(|file| {
            there(file).is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode) != is_dir)
        });
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// The commit of the checkout, with `-dirty` where files differ from it; nothing where it has none.
    pub fn description(&self) -> Option<String> {
        let arguments = ["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"];
        self.run_on_twin("open", &arguments).ok().map(|text| text.trim().to_owned())
    }

    /// Asks the twin, with the files of the checkout where there are any.
    fn run_on_twin(&self, action: &'static str, arguments: &[&str]) -> Result<String> {
        let twin = format!("--git-dir={}", self.dir.path.display());
        let tree = format!("--work-tree={}", self.of.display());
        let arguments: Vec<&str> = [&*twin, &*tree].into_iter().chain(arguments.iter().copied()).collect();
        self.run(&self.of, action, &arguments)
    }

    /// Runs git in a directory that we or git made, and returns what it printed.
    pub fn run(&self, directory: &Path, action: &'static str, arguments: &[&str]) -> Result<String> {
        let mut git = Command::new("git");
        git.args(["-c", "safe.directory=*", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"])
            .args(["-c", "advice.detachedHead=false"])
            .args(arguments)
            .current_dir(directory)
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| self.keeps(name)))
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("LC_ALL", "C");
        if self.user.switches {
            git.env("PATH", PATH).env("HOME", "/nonexistent").env("GIT_CONFIG_GLOBAL", "/dev/null");
        }
        self.user.apply(&mut git);
        output_of(git, directory, action, &self.of.to_string_lossy())
    }

    /// Which variables of the caller git gets: another user has no use for more than the way to the network.
    fn keeps(&self, name: &OsStr) -> bool {
        let name = name.to_string_lossy();
        match self.user.switches {
            true => name.to_ascii_lowercase().ends_with("_proxy") || name.starts_with("SSL_CERT_"),
            false => !name.starts_with("GIT_"),
        }
    }
}

/// The directory of a repository, and the one that it shares with other checkouts.
fn directories_of(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let inside = path.join(".git");
    let own = match fs::metadata(&inside) {
        Ok(meta) if meta.is_file() => path.join(line_of(&inside)?.strip_prefix("gitdir:")?.trim()),
        Ok(_directory) => inside,
        Err(_absent) => path.to_path_buf(),
    };
    let common = own.join("commondir");
    let shared = if common.is_file() { own.join(line_of(&common)?) } else { own.clone() };
    let (own, shared) = (fs::canonicalize(own).ok()?, fs::canonicalize(shared).ok()?);
    shared.join("objects").is_dir().then_some((own, shared))
}

/// The only line of a file.
fn line_of(path: &Path) -> Option<String> {
    let content = HeldDir::open(path.parent()?).ok()?.read(Path::new(path.file_name()?), None).ok()?;
    Some(String::from_utf8(content).ok()?.trim().to_owned())
}

fn is_part_of_index(name: &OsStr) -> bool {
    name.to_string_lossy().starts_with("sharedindex.")
}

/// Removes what a process left that was killed.
fn remove_leftovers(twins: &Path) -> Result<()> {
    for entry in fs::read_dir(twins).map_err(Error::file("list", twins))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            // Another process may be at it.
            let _gone = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

/// Runs git, or another program on a repository, and returns what it printed.
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
    let said = String::from_utf8_lossy(&output.stderr);
    // A directory that it may not enter would otherwise be left out with no more than a warning.
    if !output.status.success() || said.contains("could not open directory") {
        return Err(failed(said.trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
