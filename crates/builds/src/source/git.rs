//! Runs the `git` program to resolve a reference to a commit and to check that commit out.
//!
//! A repository's configuration names programs to run: filters, hooks, file system monitors, transports. The
//! repository may belong to somebody else or come from a download. So git never opens it directly, but a
//! [`Twin`] of it, as the server's user.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use rqps_model::SourceSpec;

use super::twin::{Twin, output_of};
use super::watch::{FETCHING, Watch};
use crate::digest::sha256_hex;
use crate::dirs::{Dirs, create_open_dir};
use crate::error::{Error, Result};
use crate::held_dir::{self, HeldDir};
use crate::user::server_user;

/// The URL form of a local repository.
const LOCAL: &str = "file://";

/// A commit in a line of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its full id.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
}

/// The commits from `good` to `bad`, both included, oldest first: first parents of `bad`, as
/// `git bisect --first-parent` follows them, so what a merge brings counts as the merge's.
///
/// # Errors
/// If git cannot read the repository, or `good` is not on the line of first parents that leads to `bad`.
pub fn commits(
    dirs: &Dirs,
    spec: &SourceSpec,
    good: &str,
    bad: &str,
    watch: &mut Watch<'_>,
) -> Result<Vec<Commit>> {
    let spec = SourceSpec { reference: Some(bad.to_owned()), ..spec.clone() };
    let repository = match spec.is_remote() {
        true => Repository::mirror(dirs, &spec, watch)?,
        false => Repository::local(dirs, Path::new(&spec.place), Some(bad))?,
    };
    let good = repository.twin.commit_of(good)?;
    let mut commits = repository.line_from(&good)?;
    commits.reverse();
    Ok(commits)
}

/// A commit of a repository on this machine.
#[derive(Debug)]
pub(crate) struct Repository {
    /// As the user wrote it.
    pub place: String,
    twin: Twin,
    pub commit: String,
}

impl Repository {
    /// Opens a checkout or bare repository. `reference` defaults to `HEAD`.
    pub fn local(dirs: &Dirs, path: &Path, reference: Option<&str>) -> Result<Repository> {
        Repository::at(dirs, path, path.to_string_lossy().into_owned(), reference.unwrap_or("HEAD"))
    }

    fn at(dirs: &Dirs, path: &Path, place: String, reference: &str) -> Result<Repository> {
        let twin = Twin::create(dirs, path)?;
        let commit = twin.commit_of(reference)?;
        Ok(Repository { place, twin, commit })
    }

    /// Opens the cached mirror of a remote repository, after updating it. Fetches nothing if `reference` is a
    /// commit id that the mirror has.
    pub fn mirror(dirs: &Dirs, spec: &SourceSpec, watch: &mut Watch<'_>) -> Result<Repository> {
        if let Some(path) = spec.place.strip_prefix(LOCAL) {
            return Repository::local(dirs, Path::new(path), spec.reference.as_deref());
        }
        let mirrors = dirs.cache.join("source/git");
        create_open_dir(&mirrors)?;
        let path = mirrors.join(format!("{}.git", &sha256_hex(spec.place.as_bytes())[..16]));
        let reference = spec.reference.as_deref().unwrap_or("HEAD");
        if is_commit_id(reference)
            && path.is_dir()
            && let Ok(repository) = Repository::at(dirs, &path, spec.place.clone(), reference)
        {
            return Ok(repository);
        }
        watch.report_phase(&spec.place, FETCHING);
        if path.is_dir() {
            fetch(&path, "fetch from", &spec.place, &["fetch", "--quiet", "--prune", "origin"])?;
        } else {
            let partial = path.with_extension("partial");
            let _absent = fs::remove_dir_all(&partial);
            let into = partial.to_string_lossy();
            let clone = ["clone", "--quiet", "--mirror", "--template=", "--", &spec.place, &into];
            fetch(&mirrors, "clone", &spec.place, &clone)?;
            fs::rename(&partial, &path).map_err(Error::file("move the clone to", &path))?;
        }
        Repository::at(dirs, &path, spec.place.clone(), reference)
    }

    /// A file of this commit.
    pub fn file(&self, name: &str) -> Option<String> {
        let blob = format!("{}:{name}", self.commit);
        self.twin.run_on_twin("read a file of", &["cat-file", "blob", &blob]).ok()
    }

    /// The first parents of this commit back to `good`, both included, newest first.
    fn line_from(&self, good: &str) -> Result<Vec<Commit>> {
        const LIST: &str = "list the commits of";
        let range = format!("{good}..{}", self.commit);
        let log = ["log", "--first-parent", "--format=%H %P%x09%s", "--end-of-options", &range];
        let text = self.twin.run_on_twin(LIST, &log)?;
        let failed = |reason: String| Error::Git { action: LIST, place: self.place.clone(), reason };
        if good == self.commit {
            return Err(failed(format!("the good and the bad commit are the same, {good}")));
        }
        let mut line: Vec<Commit> = Vec::new();
        let mut parent = self.commit.clone();
        for row in text.lines() {
            let (ids, subject) = row.split_once('\t').unwrap_or((row, ""));
            let mut ids = ids.split_whitespace().map(str::to_owned);
            let id = ids.next().unwrap_or_default();
            parent = ids.next().unwrap_or_default();
            line.push(Commit { id, subject: subject.to_owned() });
        }
        let is_ancestor = ["merge-base", "--is-ancestor", &self.commit, good];
        if line.is_empty() && self.twin.run_on_twin(LIST, &is_ancestor).is_ok() {
            return Err(failed(format!(
                "the good commit {good} comes after the bad one, {}: swap the two",
                self.commit
            )));
        }
        if line.is_empty() || parent != good {
            return Err(failed(format!(
                "the good commit {good} is not on the line of first parents that leads to the bad one, {}: name one that \
                 is, such as what `git merge-base` prints for the two",
                self.commit
            )));
        }
        let of_good = self.twin.run_on_twin(LIST, &["log", "-1", "--format=%s", "--end-of-options", good])?;
        line.push(Commit { id: good.to_owned(), subject: of_good.trim().to_owned() });
        Ok(line)
    }

    /// Gives the files of a checkout modification times in the order of the commits that last changed them, a second
    /// each: git writes files at arbitrary times, by which make would generate committed output anew, or not where it
    /// must.
    pub fn set_times(&self, tree: &Path) -> Result<()> {
        let log =
            ["-c", "core.quotePath=false", "log", "--first-parent", "-m", "--no-renames", "--name-only"];
        let log = [&log[..], &["--format=%x00", "--end-of-options", &self.commit]].concat();
        let text = self.twin.run_on_twin("list the changes of", &log)?;
        let commits: Vec<&str> = text.split('\0').skip(1).collect();
        let top = HeldDir::open(tree)?;
        let mut seen = BTreeSet::new();
        for (after, names) in commits.iter().enumerate() {
            let since_first = (commits.len() - 1 - after) as u64;
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(FIRST_TIME_S + since_first);
            for name in names.lines().filter(|name| !name.is_empty()).map(Path::new) {
                // What is no file of this commit any more cannot be opened.
                if seen.insert(name)
                    && let Ok(file) = top.open_file(name, None)
                {
                    file.set_modified(time).map_err(Error::file("set the time of", tree.join(name)))?;
                }
            }
        }
        Ok(())
    }

    /// Writes the commit's files, submodules included, into an empty directory.
    pub fn check_out(&self, into: &Path) -> Result<()> {
        held_dir::chown_to(into, &server_user()?)?;
        let (twin, place) = (&self.twin, &self.place);
        let (from, to) = (twin.path().to_string_lossy(), into.to_string_lossy());
        let clone = ["clone", "--quiet", "--no-checkout", "--shared", "--template=", "--", &from, &to];
        twin.run(Path::new("/"), "clone", &clone)?;
        twin.run(into, "check out a commit of", &["checkout", "--quiet", "--detach", &self.commit])?;
        if into.join(".gitmodules").exists() {
            // Submodule URLs may be relative to the repository's.
            twin.run(into, "check out", &["config", "remote.origin.url", place])?;
            let update = ["submodule", "--quiet", "update", "--init", "--recursive"];
            twin.run(into, "fetch the submodules of", &update)?;
        }
        let git_dir = into.join(".git");
        fs::remove_dir_all(&git_dir).map_err(Error::file("remove", &git_dir))
    }
}

/// The time of files that were in a repository's first commit.
const FIRST_TIME_S: u64 = 1_000_000_000;

/// Whether `name` is a full commit id.
pub(crate) fn is_commit_id(name: &str) -> bool {
    name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(crate) fn is_bare(path: &Path) -> bool {
    path.join("HEAD").is_file() && path.join("objects").is_dir() && path.join("refs").is_dir()
}

pub(crate) fn is_checkout(path: &Path) -> bool {
    path.join(".git").exists()
}

/// Runs git for network access: as the caller, whose keys it may need, and on a mirror that git itself
/// created. The mirror is readable by all, because it is read as the server's user.
fn fetch(directory: &Path, action: &'static str, place: &str, arguments: &[&str]) -> Result<()> {
    let mut git = Command::new("git");
    git.args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"])
        .args(["-c", "core.sharedRepository=0644"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE");
    output_of(git, directory, action, place).map(|_nothing| ())
}
