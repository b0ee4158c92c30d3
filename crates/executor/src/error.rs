//! What can stop a run, and what a user does about it.

use std::path::PathBuf;

/// Why a run did not finish.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Builds, configs or servers.
    #[error(transparent)]
    Servers(#[from] rqps_servers::Error),
    /// The run folder.
    #[error(transparent)]
    Store(#[from] rqps_store::Error),
    /// Reading counters.
    #[error(transparent)]
    Probe(#[from] rqps_probe::Error),
    /// A session that administers or loads.
    #[error("arm {arm}, {doing}: {source}")]
    Session {
        /// The arm.
        arm: String,
        /// What the session was for.
        doing: String,
        /// What it met.
        source: Box<rqps_wire::Error>,
    },
    /// A measured step failed though its server lives.
    #[error("arm {arm}, step {step}: {source}")]
    Step {
        /// The arm.
        arm: String,
        /// The step.
        step: String,
        /// What the load engine met.
        source: rqps_driver::StepError,
    },
    /// A server ended by itself.
    #[error(
        "arm {arm}: the server died in step {step} ({cause}); `rqps resume` starts it again and goes on with that step\n{log}"
    )]
    ServerDied {
        /// The arm.
        arm: String,
        /// The step.
        step: String,
        /// What was noticed.
        cause: String,
        /// The last lines of its log.
        log: String,
    },
    /// Ctrl-C or SIGTERM.
    #[error("interrupted; `rqps resume` goes on with the step that was cut off")]
    Interrupted,
    /// The run folder's plan is not readable.
    #[error("{path}: {problem}; the folder can't be resumed, but its results can still be shown")]
    Plan {
        /// The plan file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A build is not what it was when the run began.
    #[error(
        "arm {arm}: the build was {then} when the run began and is {now} now; name the exact version, bring the old build back, or start a new run"
    )]
    Changed {
        /// The arm.
        arm: String,
        /// Its hash then.
        then: String,
        /// Its hash now.
        now: String,
    },
    /// The host is not the one the run began on.
    #[error(
        "this host is not the one the run began on: {0}; figures of two hosts don't belong in one run (--force to go on all the same)"
    )]
    OtherHost(String),
    /// The run has finished.
    #[error("{0} is complete: there is nothing to resume")]
    Complete(PathBuf),
    /// A file operation failed.
    #[error("can't {action} {path}: {source}")]
    File {
        /// A verb.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's word.
        source: std::io::Error,
    },
}

/// Short for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Wraps a session's error with what it was for.
    pub(crate) fn session<'a>(
        arm: &'a str,
        doing: &'a str,
    ) -> impl FnOnce(rqps_wire::Error) -> Self + 'a {
        move |source| Error::Session {
            arm: arm.to_owned(),
            doing: doing.to_owned(),
            source: Box::new(source),
        }
    }
}
