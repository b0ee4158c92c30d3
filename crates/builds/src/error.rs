//! Errors of builds and of what their programs need: users, directories, CPUs. Every message names the place
//! and the remedy.

use std::io;
use std::path::{Path, PathBuf};

use rqps_model::{Dbms, edit_distance, nearest};

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {action} {path}: {source}")]
    File {
        /// The action, as a verb: `read`, `create`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },

    #[error("`{request}` is not a {dbms} version: {remedy}")]
    BadVersion { dbms: Dbms, request: String, remedy: String },

    #[error("{dbms} {request} does not exist; {nearest}")]
    UnknownVersion {
        dbms: Dbms,
        request: String,
        /// The nearest existing versions, as a phrase.
        nearest: String,
    },

    #[error("no known published build of {dbms} {request}; {nearest}")]
    NotPublished {
        dbms: Dbms,
        request: String,
        /// The nearest available versions and the source of others, as phrases.
        nearest: String,
    },

    #[error("cannot install {dbms} {request}: the registry is unreachable ({reason}); {cached}")]
    Unreachable { dbms: Dbms, request: String, reason: String, cached: String },

    /// The download or its verification failed. The cache is unchanged.
    #[error("downloading {dbms} {version} failed: {reason}; nothing was kept, try again")]
    Download { dbms: Dbms, version: String, reason: String },

    #[error("{path} is not a build: {reason}")]
    NotABuild {
        path: PathBuf,
        /// What is missing, and what to name instead.
        reason: String,
    },

    #[error("sync latency cannot be measured in {path}: {reason}")]
    NotMeasurable {
        path: PathBuf,
        /// Why, and what to name instead.
        reason: String,
    },

    #[error("`{program}` is version `{found}`, and {wanted} or later is needed: install a newer one")]
    OldProgram { program: String, found: String, wanted: String },

    #[error(
        "`{program} --version` did not answer within {seconds} s; make sure that `{program}` in PATH is the real one, and not \
         on a disk or a network that hangs"
    )]
    SilentProgram { program: String, seconds: u64 },

    #[error(
        "`{program}` in PATH does not run: {reason}; install it again, or put another one before it in PATH"
    )]
    BrokenProgram { program: String, reason: String },

    #[error(
        "`{program}` is not in PATH; it is needed to {purpose}: install it, on Debian with `apt-get install {package}`"
    )]
    NoProgram { program: String, package: &'static str, purpose: &'static str },

    #[error("the built-in recipes of {dbms} are invalid: {reason}; please report this")]
    BadRecipes { dbms: Dbms, reason: String },

    #[error(
        "builds of {dbms} come from their registry: omit the address of {request}, or unpack the file and name its \
         directory"
    )]
    NoAddress { dbms: Dbms, request: String },

    #[error(
        "the sha256 of {file} is {found}, expected {wanted}: the file is truncated or has changed, and was deleted; fetch \
         it again, or correct the sum"
    )]
    WrongSum { file: String, found: String, wanted: String },

    #[error("{program} cannot run: this system lacks {libraries}; {remedy}")]
    MissingLibraries { program: PathBuf, libraries: String, remedy: String },

    #[error("{program} cannot run as user {user}: {reason}")]
    CannotRun { program: PathBuf, user: String, reason: String },

    #[error(
        "servers run as user {user}, who cannot enter {blocked} on the way to {path}; run `chmod o+x {blocked}`, or \
         {other_remedy}"
    )]
    NotReachable {
        user: String,
        /// The first directory on the path that this user cannot enter.
        blocked: PathBuf,
        path: PathBuf,
        other_remedy: &'static str,
    },

    #[error("work directory {path} {reason}; remove it, or set RQPS_WORK to a directory of your own")]
    BadWorkDir { path: PathBuf, reason: String },

    #[error(
        "rqps runs as root, but no user exists to run servers as: create one with `useradd --system rqps`"
    )]
    NoServerUser,

    #[error(
        "cannot make servers exit with this program: it has no start shim, and `setpriv` is missing; install util-linux, or set RQPS_SHIM to the path of an rqps program"
    )]
    NoShim,

    #[error(
        "cannot load an engine: this program has no engine process; set RQPS_SHIM to the path of an rqps program"
    )]
    NoEngine,

    #[error("`{text}` is not a list of CPUs: write numbers such as 0 or 0-3,5")]
    BadCpus { text: String },

    #[error(
        "cannot pin {who} to CPUs {cpus}: {source}; see `nproc --all` and `taskset -p $$` for the available ones"
    )]
    Placing { who: String, cpus: String, source: io::Error },

    #[error(
        "no flavour named `{name}`{}: {shipped}; for your own write its path, such as ./{name}.toml",
        meant.as_ref().map_or_else(|| "; shipped".to_owned(), |question| format!(". {question} Shipped"))
    )]
    UnknownFlavour { name: String, meant: Option<String>, shipped: String },

    #[error("flavour {flavour}: {reason}")]
    BadFlavour { flavour: String, reason: String },

    #[error("{place} is not {dbms} source code: {reason}")]
    NotSource { place: String, dbms: Dbms, reason: String },

    #[error("git cannot {action} {place}: {reason}")]
    Git { action: &'static str, place: String, reason: String },

    #[error(
        "cannot build {what}: this system lacks {missing}; on Debian or Ubuntu run `apt-get install {packages}`"
    )]
    MissingTools { what: String, missing: String, packages: String },

    #[error("{}, which ends with:\n{tail}", self.short_text())]
    BuildFailed { what: String, phase: &'static str, status: String, log: PathBuf, tail: String },

    #[error("interrupted while building {what}: nothing of it is kept; run the same command again")]
    Interrupted { what: String },
}

/// The version that a request with one wrong character may mean, or with two exchanged.
pub(crate) fn typo_of<'a>(request: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    let exchanged = known.iter().copied().find(|version| has_exchanged(request, version));
    exchanged.or_else(|| nearest(request, known).filter(|version| edit_distance(request, version) == 1))
}

pub(crate) fn is_typo(request: &str, version: &str) -> bool {
    edit_distance(request, version) == 1 || has_exchanged(request, version)
}

/// Whether a request is a version with two neighbouring characters exchanged: 71 for 17.
pub(crate) fn has_exchanged(request: &str, version: &str) -> bool {
    let (request, version) = (request.as_bytes(), version.as_bytes());
    let Some(at) = request.iter().zip(version).position(|(a, b)| a != b) else { return false };
    let exchanged = match request.get(at..at + 2) {
        Some(&[first, second]) => version.get(at..at + 2) == Some(&[second, first]),
        _ => false,
    };
    exchanged && request.len() == version.len() && request[at + 2..] == version[at + 2..]
}

/// `did you mean 8.0.31? `; empty if no version is meant.
pub(crate) fn did_you_mean(version: Option<&str>) -> String {
    version.map_or_else(String::new, |version| format!("did you mean {version}? "))
}

impl Error {
    /// One line, without the end of a log.
    pub fn short_text(&self) -> String {
        match self {
            Self::BuildFailed { what, phase, status, log, .. } => {
                format!("building {what} failed while {phase} ({status}): see {}", log.display())
            }
            other => other.to_string().lines().next().unwrap_or_default().to_owned(),
        }
    }

    /// The kind of an I/O error, if it is one.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::File { source, .. } => Some(source.kind()),
            _ => None,
        }
    }

    /// Whether the user's request was wrong: a version, directory, source or flavour.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Error::BadVersion { .. }
                | Error::UnknownVersion { .. }
                | Error::NotPublished { .. }
                | Error::NotABuild { .. }
                | Error::NoAddress { .. }
                | Error::BadCpus { .. }
                | Error::UnknownFlavour { .. }
                | Error::BadFlavour { .. }
                | Error::NotSource { .. }
                | Error::Git { .. }
                | Error::MissingTools { .. }
        )
    }

    /// Whether the work was interrupted.
    pub fn is_interruption(&self) -> bool {
        matches!(self, Error::Interrupted { .. })
    }

    /// For `map_err` on file operations.
    pub fn file(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Error {
        let path = path.as_ref().to_path_buf();
        move |source| Error::File { action, path, source }
    }
}

#[cfg(test)]
mod tests {
    use super::typo_of;

    #[test]
    fn exchanged_digits_are_meant_before_a_wrong_one() {
        assert_eq!(typo_of("71", ["11", "17", "18"]), Some("17"));
        assert_eq!(typo_of("8.0.13", ["8.0.31", "8.4.9"]), Some("8.0.31"));
        assert_eq!(typo_of("8.0.32", ["8.0.31", "8.4.9"]), Some("8.0.31"));
        assert_eq!(typo_of("99", ["11", "17"]), None);
    }
}
