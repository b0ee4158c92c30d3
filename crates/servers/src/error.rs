//! Errors of configs, data directories and servers. Every message names the place and the remedy.

use std::io;
use std::path::{Path, PathBuf};

use rqps_model::{Dbms, did_you_mean};

pub type Result<T> = std::result::Result<T, Error>;

/// What helps if a build rejects a config.
const CORRECT_CONFIG: &str = "correct the value, or use another config for this build; a run that has begun keeps its copy of the config";

/// How the names of config files end.
fn extension(dbms: Dbms) -> &'static str {
    match dbms {
        Dbms::Mysql | Dbms::Mariadb => "cnf",
        Dbms::Rocksdb => "ini",
        Dbms::Postgres | Dbms::Directory => "conf",
    }
}

/// The path of an own config: `./name.conf`.
fn own_file(dbms: Dbms, name: &str) -> String {
    let ending = format!(".{}", extension(dbms));
    format!("./{}{ending}", name.strip_suffix(&ending).unwrap_or(name).trim_end_matches('.'))
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A build error or an I/O error.
    #[error(transparent)]
    Build(#[from] rqps_builds::Error),

    #[error(
        "no {dbms} config named `{name}`{}",
        file.clone().or_else(|| did_you_mean(name, shipped.split(", "))).map_or_else(
            || format!(
                "; nearest: {nearest}; shipped: {shipped}; for your own file write its path, such as {}",
                own_file(*dbms, name)
            ),
            |question| format!(". {question}"),
        )
    )]
    UnknownConfig {
        dbms: Dbms,
        name: String,
        nearest: String,
        shipped: String,
        /// Asks for the file that may be meant.
        file: Option<String>,
    },

    #[error("{file}:{line}: {reason}")]
    ConfigSyntax { file: String, line: usize, reason: String },

    #[error("{dbms} {version} rejects config `{config}`:\n{message}\n{}", CORRECT_CONFIG)]
    ConfigRefused { dbms: Dbms, version: String, config: String, message: String },

    #[error(
        "{path} was not made by rqps and is not empty, so it is left alone; name another directory, or remove it yourself"
    )]
    NotOurs { path: PathBuf },

    #[error("cannot start a server on {path}: {reason}")]
    BadDataDir { path: PathBuf, reason: String },

    #[error("cannot copy data directory {path}: {reason}")]
    NotCopied { path: PathBuf, reason: String },

    #[error("data directory {path} is in use by {holder}; stop it, or name another directory")]
    InUse { path: PathBuf, holder: String },

    #[error("{}; its output ends with:\n{tail}{}", self.short_text(), .why.hint)]
    Init {
        /// The step: `initdb`, `create database`.
        step: &'static str,
        path: PathBuf,
        status: String,
        tail: String,
        why: Box<Why>,
    },

    #[error("{} with config {}; {log} ends with:\n{tail}{}", self.short_text(), .why.config, .why.hint)]
    Died { path: PathBuf, status: String, log: PathBuf, tail: String, why: Box<Why> },

    #[error("{}; {log} ends with:\n{tail}", self.short_text())]
    NotReady { path: PathBuf, waited_s: u64, idle_s: u64, log: PathBuf, tail: String },

    #[error("interrupted while working on {path}; no server is running there")]
    Interrupted { path: PathBuf },

    #[error("{}; {log} ends with:\n{tail}", self.short_text())]
    UncleanStop { path: PathBuf, how: String, log: PathBuf, tail: String },

    #[error("`{name}` is not a valid environment variable: use letters, digits and _ only")]
    BadVariable { name: String },

    #[error("cannot preload {library} (LD_PRELOAD): {reason}")]
    BadPreload { library: PathBuf, reason: String },

    #[error(
        "the server did not load {library} (LD_PRELOAD) and was stopped; {reason}; build it for this system and try again"
    )]
    NotPreloaded { library: PathBuf, reason: String },

    #[error(
        "cannot limit the server's memory to {} MiB: {reason}; the limit (`server_memory` in a plan) needs memory control \
         groups and the right to create them, usually root's: remove it on hosts without them",
        limit_bytes >> 20
    )]
    NoMemoryLimit { limit_bytes: u64, reason: String },

    #[error("cannot freeze the server with pid {pid}: {reason}; it keeps running; see its log")]
    NotFrozen { pid: u32, reason: String },

    #[error("cannot count instructions: valgrind is not in PATH; install the package valgrind")]
    NoValgrind,

    #[error(
        "cannot count instructions of process {pid}: {reason}; check that vgdb, which comes with valgrind, works"
    )]
    NoCounts { pid: u32, reason: String },

    #[error(
        "cannot count instructions of process {pid}: vgdb got no answer to {command} within {waited_s} s"
    )]
    NoAnswer { pid: u32, command: String, waited_s: u64 },
}

/// What is known of a server that did not start.
#[derive(Debug, Default)]
pub struct Why {
    /// The config's name.
    pub config: String,
    /// The line of its log that tells why; empty if none is known to.
    pub telling: String,
    /// Whether the build refuses the config's values.
    pub refuses_config: bool,
    /// A line with a hint for known causes, or empty.
    pub hint: String,
}

impl Error {
    /// One line, without a program's output or log.
    pub fn short_text(&self) -> String {
        match self {
            Self::Build(error) => error.short_text(),
            Self::Init { step, path, status, .. } => {
                format!("{step} failed for {} ({status})", path.display())
            }
            Self::Died { path, status, .. } => {
                format!("the database on {} did not start ({status})", path.display())
            }
            Self::NotReady { path, waited_s, idle_s, .. } => format!(
                "the database on {} was not ready after {waited_s} s, the last {idle_s} s without progress; it was stopped",
                path.display()
            ),
            Self::UncleanStop { path, how, .. } => format!(
                "the database on {} did not shut down cleanly: {how}; the next start recovers its data",
                path.display()
            ),
            Self::ConfigRefused { dbms, version, config, message } => {
                let lines: Vec<&str> =
                    message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
                format!(
                    "{dbms} {version} rejects config `{config}`: {}; {CORRECT_CONFIG}",
                    lines.join("; ").trim_end_matches('.')
                )
            }
            other => other.to_string().lines().next().unwrap_or_default().to_owned(),
        }
    }

    /// Whether the build refuses the config's values.
    pub fn is_refused_config(&self) -> bool {
        match self {
            Self::ConfigRefused { .. } => true,
            Self::Init { why, .. } | Self::Died { why, .. } => why.refuses_config,
            _ => false,
        }
    }

    /// The line of a server's log that tells why it did not start, if one is known to.
    pub fn telling_line(&self) -> Option<&str> {
        match self {
            Self::Init { why, .. } | Self::Died { why, .. } if !why.telling.is_empty() => Some(&why.telling),
            _ => None,
        }
    }

    /// The last lines of a program's output or log, if the error has them.
    pub fn last_words(&self) -> Option<&str> {
        match self {
            Self::Init { tail, .. }
            | Self::Died { tail, .. }
            | Self::NotReady { tail, .. }
            | Self::UncleanStop { tail, .. } => Some(tail),
            _ => None,
        }
    }

    /// The kind of an I/O error, if it is one.
    pub fn io_kind(&self) -> Option<std::io::ErrorKind> {
        match self {
            Self::Build(error) => error.io_kind(),
            _ => None,
        }
    }

    /// Whether the user's request was wrong: the name of a build, config or variable.
    pub fn is_usage(&self) -> bool {
        match self {
            Error::Build(error) => error.is_usage(),
            Error::UnknownConfig { .. }
            | Error::ConfigSyntax { .. }
            | Error::BadVariable { .. }
            | Error::BadPreload { .. } => true,
            _ => false,
        }
    }

    /// Whether the work was interrupted.
    pub fn is_interruption(&self) -> bool {
        match self {
            Error::Build(error) => error.is_interruption(),
            other => matches!(other, Error::Interrupted { .. }),
        }
    }

    /// For `map_err` on file operations.
    pub(crate) fn file(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Error {
        let failed = rqps_builds::Error::file(action, path);
        move |source| failed(source).into()
    }
}
