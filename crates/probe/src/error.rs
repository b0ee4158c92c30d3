//! What can go wrong while reading counters, in words that name the place and the remedy.

use std::io;
use std::path::PathBuf;

/// Why a figure could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of /proc or /sys could not be read or understood.
    #[error(
        "cannot read {what}: {source}; the probe needs a Linux /proc it may read (not mounted with hidepid)"
    )]
    Proc { what: String, source: Box<procfs::ProcError> },
    /// The server's first process is gone.
    #[error("the server process {pid} is gone; the server's log says why it ended")]
    ServerGone { pid: u32 },
    /// The process of the client is gone.
    #[error("the client's process {pid} is gone; what it printed last says why it ended")]
    ClientGone { pid: u32 },
    /// The sampler's thread could not be started or a file of it could not be opened.
    #[error("cannot sample {what} each second: {source}")]
    Sampler { what: String, source: io::Error },
    /// The server refused a query of the probe, or the connection broke.
    #[error("the server did not answer the probe ({what}): {source}")]
    Database { what: String, source: Box<rqps_wire::Error> },
    /// The server answered something else than expected.
    #[error("the server's answer to the probe is not understood ({what}): {found}")]
    Answer { what: String, found: String },
    /// A file could not be written and flushed to see how fast that is.
    #[error(
        "cannot write and flush a file in {dir}: {source}; give the server's data a directory that can be written"
    )]
    Canary { dir: PathBuf, source: io::Error },
    /// There is no `perf`.
    #[error(
        "no CPU profile without perf, which is not installed or does not work; install it: package linux-perf on Debian, \
         linux-tools-generic on Ubuntu, perf elsewhere"
    )]
    NoPerf,
    /// The kernel lets this user sample nothing.
    #[error("no CPU profile: kernel.perf_event_paranoid is {level}, so only root may sample; {remedy}")]
    PerfRefused { level: i64, remedy: &'static str },
    /// `perf` failed.
    #[error("perf did not {doing}; it said: {said}")]
    Perf { doing: &'static str, said: String },
    /// A statement that may not be given to EXPLAIN.
    #[error("cannot explain `{sql}`: give one statement without a semicolon inside")]
    NotOneStatement { sql: String },
}

impl Error {
    pub(crate) fn proc(what: impl Into<String>) -> impl FnOnce(procfs::ProcError) -> Self {
        let what = what.into();
        move |source| Error::Proc { what, source: Box::new(source) }
    }

    pub(crate) fn database(what: impl Into<String>) -> impl FnOnce(rqps_wire::Error) -> Self {
        let what = what.into();
        move |source| Error::Database { what, source: Box::new(source) }
    }
}

pub type Result<T> = std::result::Result<T, Error>;
