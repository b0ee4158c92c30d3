//! What can stop a run, and what a user does about it.

use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;

/// Why a run did not finish.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Builds(#[from] rqps_builds::Error),
    /// Configs or data directories.
    #[error(transparent)]
    Servers(#[from] rqps_servers::Error),
    #[error(transparent)]
    Store(#[from] rqps_store::Error),
    #[error(transparent)]
    Probe(#[from] rqps_probe::Error),
    /// The program that is to send the load.
    #[error(transparent)]
    Sysbench(rqps_driver::sysbench::Error),
    /// A session that administers or loads.
    #[error("arm {arm}, {doing}: {source}")]
    Session { arm: String, doing: String, source: Box<rqps_wire::Error> },
    /// A measured step failed though its server lives.
    #[error("arm {arm}, step {step}: {source}")]
    Step { arm: String, step: String, source: rqps_driver::StepError },
    #[error("this rqps was built without {0}")]
    NoSystem(rqps_model::Dbms),
    #[error("the driver {driver} does not run the benchmark {benchmark}")]
    NoDriver { driver: &'static str, benchmark: &'static str },
    #[error("arm {arm}: the driver {driver} has no way to reach its system")]
    NoAddress { arm: String, driver: &'static str },
    /// A step that no clients can run: a defect of the program.
    #[error("step {step}: the driver {driver} has no clients for it")]
    NoClients { step: String, driver: &'static str },
    /// Something about an arm's server could not be found out.
    #[error("arm {arm}, {doing}: {source}")]
    Unmeasured {
        arm: String,
        /// The step, or what else was being done.
        doing: String,
        source: Box<Error>,
    },
    /// Somebody has stopped a server's processes.
    #[error("arm {arm}: its server is paused: something stopped one of its processes (SIGSTOP)")]
    StandsStill { arm: String },
    /// A server could not be made or started.
    #[error("arm {arm}: {source}")]
    NotStarted { arm: String, source: Box<rqps_servers::Error> },
    /// A server ended by itself, or ended all its sessions because one of its processes did.
    #[error(
        "arm {arm}: the server died in step {step}: {}; `rqps resume` restarts it and continues\n{death}",
        death.how
    )]
    ServerDied { arm: String, step: String, death: Box<Death> },
    /// The disk that holds a server's data is full.
    #[error(
        "arm {arm}, {doing}: no space left for {place}; free some on that disk, then `rqps resume`\n{words}"
    )]
    DiskFull { arm: String, doing: String, place: PathBuf, words: String },
    /// The data of an arm in progress are not where they were left.
    #[error(
        "arm {arm}: its data are gone from {place}; a run goes on only with the data it left: put them back, set RQPS_WORK \
         to what it was, move the run folder back to where it was, or start a new run"
    )]
    DataGone { arm: String, place: PathBuf },
    /// What is to be removed is not where its path says.
    #[error(
        "{path} is a symbolic link, and rqps creates none: nothing was deleted; delete the link yourself"
    )]
    DataLink { path: PathBuf },
    /// Ctrl-C or SIGTERM.
    #[error("interrupted; `rqps resume` continues")]
    Interrupted,
    /// Judging the blocks so far.
    #[error(transparent)]
    Verdicts(#[from] rqps_verdicts::Error),
    /// The instrumenting program left no count behind.
    #[error(
        "arm {arm}, counting instructions of {step}: what served the session left no count; see logs/{arm}, or set \
         count_instructions = false in [isolated] of the plan"
    )]
    NotCounted { arm: String, step: String },
    /// The run folder's plan is not readable.
    #[error("{path}: {problem}; the folder can't be resumed, but its results can still be shown")]
    Plan { path: PathBuf, problem: String },
    /// A build is not what it was when the run began.
    #[error(
        "arm {arm}: the build was {then} when the run began and is {now} now; name the exact version, restore the old build, or start a new run"
    )]
    Changed { arm: String, then: String, now: String },
    /// The host is not the one the run began on.
    #[error(
        "this is not the host that the run started on: {0}; results of two hosts do not belong in one run (--force overrides)"
    )]
    OtherHost(String),
    #[error("{0} is complete: there is nothing to resume")]
    Complete(PathBuf),
    /// A run of blocks has ended by itself.
    #[error("{0} is complete; `rqps resume RUN --more 20m` measures more blocks for that long")]
    Ended(PathBuf),
    /// A run that is no run of blocks was to get more time.
    #[error("--more extends runs with protocol = \"isolated\"; {0} is a sequence")]
    NoMore(PathBuf),
    /// A test or arm that was asked for is not in the run.
    #[error("the run has no {what} \"{name}\"; it has {known}")]
    NotInRun {
        /// `test` or `arm`.
        what: &'static str,
        name: String,
        known: String,
    },
    /// A run whose steps can't be repeated one by one.
    #[error(
        "no step of the Insert Benchmark can be run without the steps before it, so there are no CPU profiles of it: `perf \
         record` on the server's processes takes one while the run goes on"
    )]
    NotProfiled,
    /// A CPU profile without any samples.
    #[error("arm {arm}, profiling {test}: no samples; more --seconds or a higher --frequency may give some")]
    NoSamples { arm: String, test: String },
    #[error("can't {action} {path}: {source}")]
    File { action: &'static str, path: PathBuf, source: std::io::Error },
}

/// What is known of a server's death.
#[derive(Debug)]
pub struct Death {
    pub how: String,
    pub cause: String,
    pub log_path: PathBuf,
    /// The lines of its log that tell why, or its last ones.
    pub log: String,
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "first noticed: {}\nfrom {}:\n{}", self.cause, self.log_path.display(), self.log)?;
        if self.how.contains("SIGKILL") || self.log.contains("terminated by signal 9") {
            f.write_str(
                "\nhint: a SIGKILL that nobody sent usually comes from the kernel's OOM killer; check dmesg, then lower \
                 shared_buffers or the number of clients",
            )?;
        }
        Ok(())
    }
}

/// Short for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// SQLSTATEs of sessions that end because their server does: shutdown, crash of another process, not accepting.
const DYING: [&str; 4] = ["57P01", "57P02", "57P03", "08S01"];

/// How servers and the system call a disk that takes no more.
const DISK_FULL_WORDS: [&str; 7] = [
    "No space left on device",
    "Disk quota exceeded",
    "File too large",
    "Check free disk space",
    "is full",
    "Disk full",
    "Errcode: 28",
];

impl Error {
    /// Wraps a session's error with what it was for.
    pub(crate) fn session<'a>(arm: &'a str, doing: &'a str) -> impl FnOnce(rqps_wire::Error) -> Self + 'a {
        move |source| Error::Session {
            arm: arm.to_owned(),
            doing: doing.to_owned(),
            source: Box::new(source),
        }
    }

    /// The error in one line, without logs.
    pub fn in_short(&self) -> String {
        match self {
            Self::ServerDied { arm, step, death } => {
                format!("arm {arm}: the server died in step {step}: {}", death.how)
            }
            Self::NotStarted { arm, source } => format!("arm {arm}: {}", source.in_short()),
            Self::Unmeasured { arm, doing, source } => format!("arm {arm}, {doing}: {}", source.in_short()),
            Self::Servers(error) => error.in_short(),
            Self::Builds(error) => error.in_short(),
            other => other.to_string().lines().next().unwrap_or_default().to_owned(),
        }
    }

    /// The same without the arm's name at its head, for where that stands anyway.
    pub(crate) fn in_short_of(&self, arm: &str) -> String {
        let text = self.in_short();
        let rest = text.strip_prefix(&format!("arm {arm}")).filter(|rest| rest.starts_with([':', ',']));
        rest.map_or(text.clone(), |rest| rest.trim_start_matches([':', ',', ' ']).to_owned())
    }

    /// Whether what was asked for is at fault, not how it went: nothing was carried out.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Plan { .. }
            | Self::Changed { .. }
            | Self::OtherHost(_)
            | Self::Complete(_)
            | Self::Ended(_)
            | Self::NoMore(_)
            | Self::NotInRun { .. }
            | Self::NotProfiled
            | Self::Probe(rqps_probe::Error::NoPerf | rqps_probe::Error::PerfRefused { .. })
            | Self::Sysbench(_)
            | Self::DataGone { .. } => true,
            Self::Store(error) => error.is_usage(),
            Self::Builds(error) => error.is_usage(),
            Self::Servers(error) => error.is_usage(),
            _ => false,
        }
    }

    /// The arm whose own fault it is, so that others may fare better.
    pub(crate) fn faulty_arm(&self) -> Option<&str> {
        use rqps_builds::Error as Builds;
        use rqps_servers::Error as Servers;
        match self {
            Self::ServerDied { arm, .. }
            | Self::Session { arm, .. }
            | Self::Step { arm, .. }
            | Self::Unmeasured { arm, .. }
            | Self::StandsStill { arm }
            | Self::NotCounted { arm, .. } => Some(arm),
            Self::NotStarted { arm, source } => matches!(
                **source,
                Servers::Init { .. }
                    | Servers::Died { .. }
                    | Servers::NotReady { .. }
                    | Servers::ConfigRefused { .. }
                    | Servers::Build(Builds::CannotRun { .. } | Builds::MissingLibraries { .. })
                    | Servers::BadVariable { .. }
                    | Servers::BadPreload { .. }
                    | Servers::NotPreloaded { .. }
                    | Servers::UncleanStop { .. }
            )
            .then_some(arm),
            _ => None,
        }
    }

    /// Whether the same may go well when it is tried again: a server that was killed, not a statement that was refused.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Self::ServerDied { .. } | Self::StandsStill { .. } | Self::NotStarted { .. })
    }

    /// With the arm that it is about, where it names none itself.
    pub(crate) fn about(self, arm: &str, doing: &str) -> Self {
        match self {
            Self::Builds(error) if error.is_interruption() => Self::Interrupted,
            Self::Servers(error) if error.is_interruption() => Self::Interrupted,
            Self::Builds(_) | Self::Servers(_) | Self::Probe(_) => {
                Self::Unmeasured { arm: arm.to_owned(), doing: doing.to_owned(), source: Box::new(self) }
            }
            other => other,
        }
    }

    /// Whether a session found its server gone or going.
    pub(crate) fn lost_server(&self) -> bool {
        use rqps_wire::Error as Wire;
        match self.wire() {
            Some(Wire::Closed { .. } | Wire::Connect { .. }) => true,
            Some(error) => error.sqlstate().is_some_and(|state| DYING.contains(&state)),
            None => match self {
                Self::Probe(rqps_probe::Error::ServerGone { .. }) => true,
                Self::Unmeasured { source, .. } => source.lost_server(),
                Self::Step { source: rqps_driver::StepError::Sysbench(error), .. } => error.lost_server(),
                _ => false,
            },
        }
    }

    /// Whether a disk takes no more: the system says so, or a server or its client.
    pub(crate) fn is_full_disk(&self) -> bool {
        use rqps_wire::Error as Wire;
        let refused = |error: &rqps_servers::Error| {
            error.io_kind().is_some_and(is_full) || error.last_words().is_some_and(tells_of_full_disk)
        };
        match self {
            Self::File { source, .. } => is_full(source.kind()),
            Self::Servers(error) => refused(error),
            Self::NotStarted { source, .. } => refused(source),
            Self::Unmeasured { source, .. } => source.is_full_disk(),
            Self::Step { source: rqps_driver::StepError::Sysbench(error), .. } => {
                error.words().is_some_and(tells_of_full_disk)
            }
            _ => match self.wire() {
                Some(Wire::Db { message, detail, .. }) => {
                    tells_of_full_disk(message) || detail.as_deref().is_some_and(tells_of_full_disk)
                }
                Some(Wire::Closed { last_words: Some(words), .. }) => tells_of_full_disk(words),
                _ => false,
            },
        }
    }

    /// Whether a server takes sessions and does not answer them.
    pub(crate) fn is_silence(&self) -> bool {
        let kind = match self.wire() {
            Some(rqps_wire::Error::Connect { source, .. }) => source.kind(),
            Some(rqps_wire::Error::Closed { cause, .. }) => cause.kind(),
            _ => return false,
        };
        matches!(kind, ErrorKind::TimedOut | ErrorKind::WouldBlock)
    }

    /// What a session met, if this is about one.
    fn wire(&self) -> Option<&rqps_wire::Error> {
        match self {
            Self::Unmeasured { source, .. } => source.wire(),
            Self::Session { source, .. }
            | Self::Step { source: rqps_driver::StepError::Client { source, .. }, .. }
            | Self::Probe(rqps_probe::Error::Database { source, .. }) => Some(source),
            _ => None,
        }
    }
}

/// Whether a server's words say that its disk takes no more.
pub(crate) fn tells_of_full_disk(words: &str) -> bool {
    DISK_FULL_WORDS.iter().any(|sign| words.contains(sign))
}

fn is_full(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_short_an_error_has_no_log() {
        let source = rqps_servers::Error::Died {
            path: "/data".into(),
            status: "exit status: 1".to_owned(),
            log: "/log".into(),
            tail: "FATAL:  no\nLOG:  end".to_owned(),
            hint: String::new(),
        };
        let error = Error::NotStarted { arm: "b".to_owned(), source: Box::new(source) };
        assert_eq!(error.in_short(), "arm b: the server on /data did not start (exit status: 1)");
    }
}
