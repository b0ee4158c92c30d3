//! What can go wrong with builds, configs and servers. Every message names the place and the remedy.

use std::io;
use std::path::{Path, PathBuf};

use rqps_model::Dbms;

use crate::source::SourceError;

/// Short for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {action} {path}: {source}")]
    File {
        /// What was tried, as a verb: `read`, `create`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },

    /// The version asked for is not written as a version of that DBMS.
    #[error("`{request}` is not a version of {dbms}: {remedy}")]
    BadVersion { dbms: Dbms, request: String, remedy: String },

    /// No such version was published.
    #[error("{dbms} {request} does not exist; {nearest}")]
    UnknownVersion {
        dbms: Dbms,
        request: String,
        /// The nearest ones that exist, as a phrase.
        nearest: String,
    },

    /// None of the places that rqps knows of has such a version.
    #[error("rqps knows of no published build of {dbms} {request}; {nearest}")]
    NotPublished {
        dbms: Dbms,
        request: String,
        /// The nearest ones that are to be had, and from where others come, as phrases.
        nearest: String,
    },

    /// The registry cannot be asked and nothing suitable is cached.
    #[error("cannot install {dbms} {request}: the registry cannot be reached ({reason}); {cached}")]
    Unreachable { dbms: Dbms, request: String, reason: String, cached: String },

    /// The download or its check failed. The cache is as it was before.
    #[error("the download of {dbms} {version} failed: {reason}; nothing of it was kept, try again")]
    Download { dbms: Dbms, version: String, reason: String },

    /// A directory is not a build.
    #[error("{path} is not a build: {reason}")]
    NotABuild {
        path: PathBuf,
        /// What is missing, and what to name instead.
        reason: String,
    },

    /// A program of this system that obtains builds is not here.
    #[error("there is no `{program}` in PATH, which is needed to {purpose}: install the package {package}")]
    NoProgram { program: String, package: &'static str, purpose: &'static str },

    /// The recipes that this program was compiled with cannot be read.
    #[error("the recipes of {dbms}, which are part of this program, cannot be read: {reason}; report this")]
    BadRecipes { dbms: Dbms, reason: String },

    /// Builds of this DBMS are not fetched from addresses.
    #[error(
        "builds of {dbms} come from their registry: leave the address of {request} out, or unpack the file and \
         name its directory"
    )]
    NoAddress { dbms: Dbms, request: String },

    /// A file is not the one that was meant.
    #[error(
        "the sha256 of {file} is {found} and should be {wanted}: it was cut off or replaced, and was thrown away; \
         fetch it again, or correct the sum"
    )]
    WrongSum { file: String, found: String, wanted: String },

    /// A program of a build needs shared libraries that this system lacks.
    #[error("{program} cannot run: this system lacks {libraries}; {remedy}")]
    MissingLibraries { program: PathBuf, libraries: String, remedy: String },

    /// A program cannot be run at all.
    #[error("{program} cannot run as user {user}: {reason}")]
    CannotRun { program: PathBuf, user: String, reason: String },

    /// No shipped config has this name.
    #[error(
        "no config of {dbms} is called `{name}`; nearest: {nearest}; shipped: {shipped}; for a file of your own write its \
         path, such as ./{name}.conf"
    )]
    UnknownConfig { dbms: Dbms, name: String, nearest: String, shipped: String },

    /// A line of a config file is not valid.
    #[error("{file}:{line}: {reason}")]
    ConfigSyntax { file: String, line: usize, reason: String },

    /// The build refuses the value of an option.
    #[error(
        "{dbms} {version} refuses config `{config}`:\n{message}\ncorrect the value, or take another config for this build"
    )]
    ConfigRefused { dbms: Dbms, version: String, config: String, message: String },

    /// A directory that is to be wiped or started was not made by rqps.
    #[error(
        "{path} was not made by rqps and is not empty: it is left alone; name another directory, or remove it yourself"
    )]
    NotOurs { path: PathBuf },

    /// A data directory cannot be started as it is.
    #[error("cannot start a server on {path}: {reason}")]
    BadDataDir { path: PathBuf, reason: String },

    /// A data directory cannot be copied as it is.
    #[error("cannot copy data directory {path}: {reason}")]
    NotCopied { path: PathBuf, reason: String },

    /// Another process works on the data directory.
    #[error("data directory {path} is in use by {holder}; stop it, or name another directory")]
    InUse { path: PathBuf, holder: String },

    /// The server's user cannot get to a directory.
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

    /// The directory for data may be somebody else's.
    #[error("work directory {path} {reason}; remove it, or set RQPS_WORK to a directory of your own")]
    BadWorkDir { path: PathBuf, reason: String },

    /// There is no user to run servers as.
    #[error(
        "rqps runs as root and found no other user to run servers as: create one with `useradd --system rqps`"
    )]
    NoServerUser,

    /// Making the data directory failed.
    #[error("{step} failed for {path} ({status}); its output ends with:\n{tail}{hint}")]
    Init {
        /// Which program: `initdb`, `create database`.
        step: &'static str,
        path: PathBuf,
        status: String,
        tail: String,
        /// A line of advice for known causes, or empty.
        hint: String,
    },

    /// The server ended before it was ready.
    #[error("the server on {path} did not start ({status}); {log} ends with:\n{tail}{hint}")]
    Died {
        path: PathBuf,
        status: String,
        log: PathBuf,
        tail: String,
        /// A line of advice for known causes, or empty.
        hint: String,
    },

    /// The server lives but does not become ready.
    #[error(
        "the server on {path} is not ready after {waited_s} s, {idle_s} s of them without progress; it was stopped; {log} ends with:\n{tail}"
    )]
    NotReady { path: PathBuf, waited_s: u64, idle_s: u64, log: PathBuf, tail: String },

    /// The caller asked to give up while a data directory was made or copied, or its server was starting.
    #[error("interrupted at work on {path}; nothing runs there any more")]
    Interrupted { path: PathBuf },

    /// The server had to be ended the hard way, or had already ended.
    #[error(
        "the server on {path} did not stop cleanly: {how}; its data will be recovered at the next start; {log} ends with:\n{tail}"
    )]
    UncleanStop { path: PathBuf, how: String, log: PathBuf, tail: String },

    /// Nothing can tie the life of a server to ours.
    #[error(
        "cannot tie a server's life to this program's: it carries no start shim and `setpriv` is not there; install util-linux, or set RQPS_SHIM to the path of an rqps program"
    )]
    NoShim,

    /// A list of CPUs is not one.
    #[error("`{text}` is not a list of CPUs: write their numbers, such as 0 or 0-3,5")]
    BadCpus { text: String },

    /// The kernel does not let something run where it should.
    #[error(
        "cannot place {who} on CPUs {cpus}: {source}; `nproc --all` and `taskset -p $$` say which there are"
    )]
    Placing { who: String, cpus: String, source: io::Error },

    /// A variable cannot be put into an environment.
    #[error("`{name}` is not a variable that a server can be given: a name has letters, digits and _ only")]
    BadVariable { name: String },

    /// A library to preload cannot be.
    #[error("cannot preload {library} (LD_PRELOAD): {reason}")]
    BadPreload { library: PathBuf, reason: String },

    /// A server runs, but without a library that it should have.
    #[error(
        "the server runs without {library} of LD_PRELOAD and was stopped; {reason}; build it for this system and try \
         again"
    )]
    NotPreloaded { library: PathBuf, reason: String },

    /// This host does not let a server's memory be limited.
    #[error(
        "cannot limit the server's memory to {} MiB: {reason}; that takes control groups of memory which this user may \
         make (root, as a rule): leave the limit (`server_memory` in a plan) out where the host has none",
        limit_bytes >> 20
    )]
    NoMemoryLimit { limit_bytes: u64, reason: String },

    /// A server's processes cannot be held still.
    #[error("cannot freeze the server with pid {pid}: {reason}; it goes on; its log says more")]
    NotFrozen { pid: u32, reason: String },

    /// A build from source.
    #[error(transparent)]
    Source(#[from] SourceError),

    /// Valgrind is not installed.
    #[error("cannot count instructions: no valgrind in PATH; install the package of that name")]
    NoValgrind,

    /// A server under valgrind doesn't give its counts.
    #[error(
        "cannot count instructions of process {pid}: {reason}; see whether vgdb, which comes with valgrind, works"
    )]
    NoCounts { pid: u32, reason: String },
}

impl Error {
    /// Whether the request was at fault: a version, config or directory that a user named.
    pub fn is_usage(&self) -> bool {
        if let Error::Source(error) = self {
            return error.is_usage();
        }
        matches!(
            self,
            Error::BadVersion { .. }
                | Error::UnknownVersion { .. }
                | Error::NotPublished { .. }
                | Error::NotABuild { .. }
                | Error::NoAddress { .. }
                | Error::UnknownConfig { .. }
                | Error::ConfigSyntax { .. }
                | Error::BadCpus { .. }
                | Error::BadVariable { .. }
                | Error::BadPreload { .. }
        )
    }

    /// Whether it is that somebody asked to give up.
    pub fn is_interruption(&self) -> bool {
        matches!(self, Error::Interrupted { .. } | Error::Source(SourceError::Interrupted { .. }))
    }

    /// For `map_err` on file operations.
    pub(crate) fn file(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Error {
        let path = path.as_ref().to_path_buf();
        move |source| Error::File { action, path, source }
    }
}
