//! What is asked of git, by its ordinary program: which commit a name means, and that commit's files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rqps_plan::SourceSpec;

use super::error::SourceError;
use super::watch::Watch;
use crate::dirs::{Dirs, create_open_dir};
use crate::error::{Error, Result};
use crate::identity::sha256_hex;

/// A commit of a repository on this machine.
#[derive(Debug)]
pub(crate) struct Repository {
    /// As its user named it.
    pub place: String,
    /// The repository itself, or a mirror of it.
    path: PathBuf,
    /// Its whole id.
    pub commit: String,
}

impl Repository {
    /// A checkout or bare repository; without a reference what it has checked out.
    pub fn local(path: &Path, reference: Option<&str>) -> Result<Repository> {
        let place = path.to_string_lossy().into_owned();
        let commit = commit_of(path, &place, reference.unwrap_or("HEAD"))?;
        Ok(Repository { place, path: path.to_path_buf(), commit })
    }

    /// A repository elsewhere, by a mirror in the cache that is brought up to date; where the mirror has the very
    /// commit that is named, nothing is fetched.
    pub fn mirror(dirs: &Dirs, spec: &SourceSpec, watch: &mut Watch<'_>) -> Result<Repository> {
        let mirrors = dirs.cache.join("source/git");
        create_open_dir(&mirrors)?;
        let path = mirrors.join(format!("{}.git", &sha256_hex(spec.place.as_bytes())[..16]));
        let reference = spec.reference.as_deref().unwrap_or("HEAD");
        let of = |commit| Repository { place: spec.place.clone(), path: path.clone(), commit };
        if is_commit_id(reference)
            && let Ok(commit) = commit_of(&path, &spec.place, reference)
        {
            return Ok(of(commit));
        }
        watch.says(&spec.place, "fetching");
        if path.is_dir() {
            run(&path, "fetch from", &spec.place, &["fetch", "--quiet", "--prune", "origin"])?;
        } else {
            let partial = path.with_extension("partial");
            let _absent = fs::remove_dir_all(&partial);
            let into = partial.to_string_lossy();
            run(&mirrors, "clone", &spec.place, &["clone", "--quiet", "--mirror", "--", &spec.place, &into])?;
            fs::rename(&partial, &path).map_err(Error::file("move the clone to", &path))?;
        }
        Ok(of(commit_of(&path, &spec.place, reference)?))
    }

    /// The commit's files in an empty directory, those of its submodules too.
    pub fn check_out(&self, into: &Path) -> Result<()> {
        let place = &self.place;
        let (from, to) = (self.path.to_string_lossy(), into.to_string_lossy());
        let clone = ["clone", "--quiet", "--no-checkout", "--shared", "--", &from, &to];
        run(Path::new("/"), "clone", place, &clone)?;
        run(into, "check out a commit of", place, &["checkout", "--quiet", "--detach", &self.commit])?;
        if into.join(".gitmodules").is_file() {
            let update = ["submodule", "--quiet", "update", "--init", "--recursive"];
            run(into, "fetch the submodules of", place, &update)?;
        }
        let own = into.join(".git");
        fs::remove_dir_all(&own).map_err(Error::file("remove", &own))
    }
}

/// The commit that a name means; a branch that is only known of the repository that this one was cloned from counts.
fn commit_of(repository: &Path, place: &str, reference: &str) -> Result<String> {
    let ask = |name: String| {
        let arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", &name];
        run(repository, "look into", place, &arguments).ok().map(|text| text.trim().to_owned())
    };
    ask(format!("{reference}^{{commit}}"))
        .or_else(|| ask(format!("refs/remotes/origin/{reference}^{{commit}}")))
        .ok_or_else(|| {
            let reason = match run(repository, "look into", place, &["rev-parse", "--git-dir"]) {
                Ok(_) => format!("it has no commit, tag or branch `{reference}`"),
                Err(_) => "it is no git repository".to_owned(),
            };
            SourceError::Git { action: "look into", place: place.to_owned(), reason }.into()
        })
}

/// Whether a name is the whole id of a commit.
pub(crate) fn is_commit_id(name: &str) -> bool {
    name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a directory is a repository without a checkout.
pub(crate) fn is_bare(path: &Path) -> bool {
    path.join("HEAD").is_file() && path.join("objects").is_dir() && path.join("refs").is_dir()
}

/// Whether a directory is the top of a checkout.
pub(crate) fn is_checkout(path: &Path) -> bool {
    path.join(".git").exists()
}

/// The files of a checkout that belong to the source, sorted: those that git knows and new ones that it is not told to
/// ignore, so what an earlier build left is none. Nothing where there is no checkout, or one with submodules, whose
/// files git does not list.
pub(crate) fn files_of_checkout(path: &Path) -> Result<Option<Vec<PathBuf>>> {
    if !is_checkout(path) || path.join(".gitmodules").is_file() {
        return Ok(None);
    }
    let place = path.to_string_lossy();
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = run(path, "list the files of", &place, &arguments)?;
    let mut files: Vec<PathBuf> =
        listed.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect();
    // What is removed in the checkout is still known to git.
    files.retain(|file| fs::symlink_metadata(path.join(file)).is_ok_and(|meta| !meta.is_dir()));
    files.sort();
    files.dedup();
    Ok(Some(files))
}

/// The commit of a checkout, with `-dirty` where files differ from it; nothing where there is none.
pub(crate) fn description(path: &Path) -> Option<String> {
    if !is_checkout(path) {
        return None;
    }
    let arguments = ["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"];
    run(path, "look into", "", &arguments).ok().map(|text| text.trim().to_owned())
}

/// Runs git in a directory and returns what it printed. Repositories of other users are allowed: nothing of them is
/// executed but their build, which was asked for.
fn run(directory: &Path, action: &'static str, place: &str, arguments: &[&str]) -> Result<String> {
    let failed = |reason: String| SourceError::Git { action, place: place.to_owned(), reason };
    let output = Command::new("git")
        .args(["-c", "safe.directory=*", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"])
        .args(["-c", "advice.detachedHead=false"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .stdin(Stdio::null())
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && directory.is_dir() => {
            return Err(
                failed("there is no git: on Debian or Ubuntu run `apt-get install git`".to_owned()).into()
            );
        }
        Err(error) => return Err(failed(error.to_string()).into()),
    };
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
