//! What can go wrong with builds, and with what their programs run on: users, directories, CPUs. Every message names
//! the place and the remedy.

use std::io;
use std::path::{Path, PathBuf};

use rqps_model::Dbms;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {action} {path}: {source}")]
    File {
        /// What was tried, as a verb: `read`, `create`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },

    #[error("`{request}` is not a version of {dbms}: {remedy}")]
    BadVersion { dbms: Dbms, request: String, remedy: String },

    #[error("{dbms} {request} does not exist; {nearest}")]
    UnknownVersion {
        dbms: Dbms,
        request: String,
        /// The nearest ones that exist, as a phrase.
        nearest: String,
    },

    #[error("rqps knows of no published build of {dbms} {request}; {nearest}")]
    NotPublished {
        dbms: Dbms,
        request: String,
        /// The nearest ones that are available, and from where others come, as phrases.
        nearest: String,
    },

    #[error("cannot install {dbms} {request}: the registry cannot be reached ({reason}); {cached}")]
    Unreachable { dbms: Dbms, request: String, reason: String, cached: String },

    /// The download or its check failed. The cache is as it was before.
    #[error("the download of {dbms} {version} failed: {reason}; nothing of it was kept, try again")]
    Download { dbms: Dbms, version: String, reason: String },

    #[error("{path} is not a build: {reason}")]
    NotABuild {
        path: PathBuf,
        /// What is missing, and what to name instead.
        reason: String,
    },

    #[error("there is no `{program}` in PATH, which is needed to {purpose}: install the package {package}")]
    NoProgram { program: String, package: &'static str, purpose: &'static str },

    #[error("the recipes of {dbms}, which are part of this program, cannot be read: {reason}; report this")]
    BadRecipes { dbms: Dbms, reason: String },

    #[error(
        "builds of {dbms} come from their registry: leave the address of {request} out, or unpack the file and \
         name its directory"
    )]
    NoAddress { dbms: Dbms, request: String },

    #[error(
        "the sha256 of {file} is {found} and should be {wanted}: it was cut off or replaced, and was thrown away; \
         fetch it again, or correct the sum"
    )]
    WrongSum { file: String, found: String, wanted: String },

    #[error("{program} cannot run: this system lacks {libraries}; {remedy}")]
    MissingLibraries { program: PathBuf, libraries: String, remedy: String },

    #[error("{program} cannot run as user {user}: {reason}")]
    CannotRun { program: PathBuf, user: String, reason: String },

    #[error(
        "user {user}, as whom servers run, cannot enter {blocked} on the way to {path}; run `chmod o+x {blocked}`, or \
         {other_remedy}"
    )]
    NotReachable {
        user: String,
        /// The first directory on the way that is closed.
        blocked: PathBuf,
        path: PathBuf,
        other_remedy: &'static str,
    },

    #[error("work directory {path} {reason}; remove it, or set RQPS_WORK to a directory of your own")]
    BadWorkDir { path: PathBuf, reason: String },

    #[error(
        "rqps runs as root and found no other user to run servers as: create one with `useradd --system rqps`"
    )]
    NoServerUser,

    #[error(
        "cannot tie a server's life to this program's: it carries no start shim and `setpriv` is not there; install util-linux, or set RQPS_SHIM to the path of an rqps program"
    )]
    NoShim,

    #[error("`{text}` is not a list of CPUs: write their numbers, such as 0 or 0-3,5")]
    BadCpus { text: String },

    #[error(
        "cannot place {who} on CPUs {cpus}: {source}; `nproc --all` and `taskset -p $$` say which there are"
    )]
    Placing { who: String, cpus: String, source: io::Error },

    #[error(
        "no flavour is called `{name}`; shipped: {shipped}; for your own write its path, such as ./{name}.toml"
    )]
    UnknownFlavour { name: String, shipped: String },

    #[error("flavour {flavour}: {reason}")]
    BadFlavour { flavour: String, reason: String },

    #[error("{place} is no source of {dbms}: {reason}")]
    NotSource { place: String, dbms: Dbms, reason: String },

    #[error("git cannot {action} {place}: {reason}")]
    Git { action: &'static str, place: String, reason: String },

    #[error(
        "cannot build {what}: this system lacks {missing}; on Debian or Ubuntu run `apt-get install {packages}`"
    )]
    MissingTools { what: String, missing: String, packages: String },

    #[error("{}; {log} ends with:\n{tail}", self.in_short())]
    BuildFailed { what: String, phase: &'static str, status: String, log: PathBuf, tail: String },

    #[error("interrupted while building {what}; nothing of it was kept")]
    Interrupted { what: String },
}

impl Error {
    /// In one line, without the end of a log.
    pub fn in_short(&self) -> String {
        match self {
            Self::BuildFailed { what, phase, status, .. } => {
                format!("building {what} failed while {phase} ({status})")
            }
            other => other.to_string().lines().next().unwrap_or_default().to_owned(),
        }
    }

    /// Of what the system refused, if it did.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::File { source, .. } => Some(source.kind()),
            _ => None,
        }
    }

    /// Whether the request was at fault: a version, directory, source or flavour that a user named.
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

    /// Whether it is that somebody asked to give up.
    pub fn is_interruption(&self) -> bool {
        matches!(self, Error::Interrupted { .. })
    }

    /// For `map_err` on file operations.
    pub fn file(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Error {
        let path = path.as_ref().to_path_buf();
        move |source| Error::File { action, path, source }
    }
}
