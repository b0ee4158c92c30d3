//! Errors of reading counters. Every message names the place and the remedy.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {what}: {source}; a readable Linux /proc is needed (not mounted with hidepid)")]
    Proc { what: String, source: Box<procfs::ProcError> },
    #[error("the server process {pid} is gone; see the server's log for the reason")]
    ServerGone { pid: u32 },
    #[error("the client process {pid} is gone; see its last output for the reason")]
    ClientGone { pid: u32 },
    #[error("cannot sample {what} each second: {source}")]
    Sampler { what: String, source: io::Error },
    #[error("the query for {what} failed: {source}")]
    Database { what: String, source: Box<rqps_wire::Error> },
    #[error("unexpected answer to the query for {what}: {found}")]
    Answer { what: String, found: String },
    #[error(
        "cannot write and flush a file in {dir}: {source}; make room there, or set RQPS_WORK to a writable directory"
    )]
    Canary { dir: PathBuf, source: io::Error },
    #[error(
        "no CPU profile: perf is not installed or does not work; install package linux-perf on Debian, \
         linux-tools-generic on Ubuntu, perf elsewhere"
    )]
    NoPerf,
    #[error("no CPU profile: kernel.perf_event_paranoid is {level}, so only root may sample; {remedy}")]
    PerfRefused { level: i64, remedy: &'static str },
    #[error("perf did not {doing}: {output}")]
    Perf { doing: &'static str, output: String },
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
