//! Errors that stop a run, with their remedies.

use rqps_model::Dbms;
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
    /// The host lacks the disk space or the memory for a run.
    #[error("{0}")]
    HostTooSmall(String),
    /// Options of the user's own configs that none of their arms knows, a line for each.
    #[error("{0}")]
    UnknownOptions(String),
    #[error(transparent)]
    Probe(#[from] rqps_probe::Error),
    /// The driver's program could not be used.
    #[error(transparent)]
    Sysbench(rqps_driver::sysbench::Error),
    /// The same of HammerDB.
    #[error(transparent)]
    HammerDb(rqps_driver::hammerdb::Error),
    /// HammerDB could not build its schema.
    #[error("arm {arm}: {source}")]
    HammerDbBuild { arm: String, source: rqps_driver::hammerdb::Error },
    /// The driver is another one than when the run began.
    #[error(
        "the run's driver was \"{then}\" and is \"{now}\" now, another workload; install the former again, or begin a new run"
    )]
    OtherDriver { then: String, now: String },
    /// A session other than the measured ones failed.
    #[error("arm {arm}, {doing}: {source}")]
    Session { arm: String, doing: String, source: Box<rqps_wire::Error> },
    /// A file that the load needs cannot be loaded.
    #[error("arm {arm}: {path}: {why}")]
    Dump { arm: String, path: PathBuf, why: String },
    /// The server refused statements of the plan: of its schema, its dump, its scripts or `after_load`.
    #[error("arm {arm}: {}", refused(statements))]
    Refused {
        arm: String,
        /// What it says of each, with the place.
        statements: Vec<String>,
    },
    /// A measured step failed while its server lives.
    #[error("arm {arm}, step {step}: {source}{}", again(source))]
    Step { arm: String, step: String, source: rqps_driver::StepError },
    #[error("this rqps was built without {0}")]
    NoSystem(Dbms),
    /// A build lacks the program that the driver runs.
    #[error("{build} has no {program}, which driver = \"{driver}\" needs; {remedy}")]
    NoProgram { build: String, program: &'static str, driver: &'static str, remedy: &'static str },
    #[error("the driver {driver} does not run the benchmark {benchmark}")]
    NoDriver { driver: &'static str, benchmark: &'static str },
    #[error("arm {arm}: the driver {driver} does not support this system")]
    NoAddress { arm: String, driver: &'static str },
    /// The driver cannot run the step: a bug in rqps.
    #[error("step {step}: the driver {driver} has no clients for it")]
    NoClients { step: String, driver: &'static str },
    /// Reading something from an arm's server, or managing it, failed.
    #[error("arm {arm}, {doing}: {source}")]
    Unmeasured {
        arm: String,
        /// The step or other work.
        doing: String,
        source: Box<Error>,
    },
    /// The rows that a load left are not what they must be.
    #[error("arm {arm}: the load is wrong: {why}; {culprit}")]
    WrongLoad { arm: String, why: String, culprit: &'static str },
    /// Someone stopped a server's processes (SIGSTOP).
    #[error("arm {arm}: its server is paused: something stopped one of its processes (SIGSTOP)")]
    ServerPaused { arm: String },
    /// A server could not be created or started.
    #[error("arm {arm}: {source}")]
    NotStarted { arm: String, source: Box<rqps_servers::Error> },
    /// A server exited, or ended all its sessions because one of its processes crashed; or lost one of ours.
    #[error("arm {arm}: {}; `rqps resume` restarts it and continues\n{death}", death.in_step(step))]
    ServerDied { arm: String, step: String, death: Box<Death> },
    /// The disk that holds a server's data is full.
    #[error("arm {arm}, {doing}: no space left for {place}; free some on that disk, then continue\n{words}")]
    DiskFull { arm: String, doing: String, place: PathBuf, words: String },
    /// The data directory of an arm in progress is missing.
    #[error(
        "arm {arm}: data directory {place} is missing; a run can continue only with its data: put it back, set RQPS_WORK \
         to what it was, move the run folder back to where it was, or start a new run"
    )]
    DataGone { arm: String, place: PathBuf },
    /// A path to be removed leads through a symbolic link.
    #[error(
        "{path} is a symbolic link, and rqps creates none: nothing was deleted; delete the link yourself"
    )]
    DataLink { path: PathBuf },
    /// Another process measures the same thing.
    #[error(
        "{place} is reserved by {holder}: two that measure one directory would measure each other; wait for its end, or \
         name another directory"
    )]
    Reserved {
        place: PathBuf,
        /// The process, and its run if it is known.
        holder: String,
    },
    /// Ctrl-C or SIGTERM.
    #[error("interrupted")]
    Interrupted,
    /// The blocks so far could not be judged.
    #[error(transparent)]
    Verdicts(#[from] rqps_verdicts::Error),
    /// The instrumenting program wrote no count.
    #[error(
        "arm {arm}, counting instructions of {step}: what served the session left no count; see logs/{arm}, or set \
         count_instructions = false in [isolated] of the plan"
    )]
    NotCounted { arm: String, step: String },
    /// The run folder's plan is not readable.
    #[error("{path}: {problem}; the folder can't be resumed, but its results can still be shown")]
    Plan { path: PathBuf, problem: String },
    /// A build has changed since the run began.
    #[error(
        "arm {arm}: the build was {then} when the run began and is {now} now; name the exact version, restore the old build, or start a new run"
    )]
    Changed { arm: String, then: String, now: String },
    /// Blocks ran copies of a build that are no longer in the cache.
    #[error("arm {arm}: a copy of its build in {} is no longer in the cache; start a new run", build.display())]
    CopyGone { arm: String, build: PathBuf },
    /// The host is not the one the run began on.
    #[error(
        "this is not the host that the run started on: {0}; results of two hosts do not belong in one run (--force overrides)"
    )]
    OtherHost(String),
    /// Data directories would be on another file system than those that the run began with.
    #[error(
        "{work}, where data directories are made, is on another file system than when the run began: {found}; set \
         RQPS_WORK as it was then (--force overrides)"
    )]
    OtherFileSystem { work: PathBuf, found: String },
    #[error("{0} is complete: there is nothing to resume")]
    Complete(PathBuf),
    /// A run of blocks is complete, and no more time was given.
    #[error("{0} is complete; `rqps resume RUN --more 20m` measures more blocks for that long")]
    Ended(PathBuf),
    /// More time was given to a run of a sequence.
    #[error(
        "--more extends runs with protocol = \"isolated\", and {0} is a sequence: run its plan.toml with a larger `passes`"
    )]
    NoMore(PathBuf),
    /// More time was given to a run of blocks in which nothing is left to measure.
    #[error("{path} would measure nothing more: {why}")]
    NothingLeft {
        path: PathBuf,
        /// `every verdict on rate and cost reached`
        why: String,
    },
    /// The time given to a run of blocks is too short to measure one.
    #[error("{path} would measure nothing in {given}: {why}")]
    TooShort {
        path: PathBuf,
        given: String,
        /// What it needs, with the command.
        why: String,
    },
    /// A requested test or arm is not in the run.
    #[error("the run has no {what} \"{name}\"; it has {known}")]
    NotInRun {
        /// `test` or `arm`.
        what: &'static str,
        name: String,
        known: String,
    },
    /// Steps of this benchmark can't be run one by one.
    #[error(
        "steps of this benchmark, with this driver, can't be repeated for CPU profiles: `perf record` on the server's \
         processes takes one while the run goes on"
    )]
    NotProfiled,
    /// A CPU profile without any samples.
    #[error("arm {arm}, profiling {test}: no samples; more --seconds or a higher --frequency may give some")]
    NoSamples { arm: String, test: String },
    #[error("can't {action} {path}: {source}")]
    File { action: &'static str, path: PathBuf, source: std::io::Error },
}

/// How a server died.
#[derive(Debug)]
pub struct Death {
    pub how: String,
    pub cause: String,
    pub log_path: PathBuf,
    /// The lines of its log that explain why, or the last ones.
    pub log: String,
    /// The plan's limit of its memory.
    pub memory_bytes_max: Option<u64>,
    /// Whether something had stopped it before, so that rqps ended it.
    pub was_paused: bool,
    /// Whether the server lives and only a session was lost.
    pub server_lives: bool,
}

impl Death {
    /// What happened in a step.
    fn in_step(&self, step: &str) -> String {
        let what = if self.server_lives { "a session was lost" } else { "the server died" };
        format!("{what} in step {step}: {}", self.how)
    }
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "first noticed: {}", self.cause)?;
        match self.log.trim() {
            "" => write!(f, "{} is empty", self.log_path.display())?,
            log => write!(f, "from {}:\n{log}", self.log_path.display())?,
        }
        let is_killed = self.how.contains("SIGKILL") || self.log.contains("terminated by signal 9");
        if is_killed && !self.was_paused {
            match self.memory_bytes_max {
                Some(bytes) => write!(
                    f,
                    "\nhint: if nobody sent the SIGKILL, the plan's server_memory, {} MiB, was reached: raise it, or lower \
                     the server's caches or the number of clients",
                    bytes >> 20
                )?,
                None => f.write_str(
                    "\nhint: a SIGKILL that nobody sent usually comes from the kernel's OOM killer; check dmesg, then lower \
                     the server's cache or the number of clients",
                )?,
            }
        }
        Ok(())
    }
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Classes of SQLSTATEs that tell of the state of server or session, not of the statement: connections, conflicts,
/// resources, objects in use, operators, the operating system, internal errors, and errors of MySQL without a class,
/// such as a lock that was waited for too long.
const OF_STATE: [&str; 8] = ["08", "40", "53", "55", "57", "58", "HY", "XX"];

/// Whether the statement is refused whenever it is sent.
fn is_refused(error: &rqps_wire::Error) -> bool {
    match error {
        rqps_wire::Error::Db { sqlstate, message, .. } => {
            !OF_STATE.iter().any(|class| sqlstate.starts_with(class)) && !mentions_full_disk(message)
        }
        rqps_wire::Error::Value(_) => true,
        _ => false,
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

const NEW_RUN: &str = "correct the SQL and start a new run: this one keeps its copy";

fn refused(statements: &[String]) -> String {
    match statements {
        [only] => format!("{only}; {NEW_RUN}"),
        all => format!("{} statements are refused:\n  {}\n{NEW_RUN}", all.len(), all.join("\n  ")),
    }
}

/// Whether a statement of a step is refused whenever it is sent.
fn refuses_statement(error: &rqps_driver::StepError) -> bool {
    matches!(error, rqps_driver::StepError::Client { source, .. } if is_refused(source))
}

/// What to do if a step's statement is refused.
fn again(error: &rqps_driver::StepError) -> String {
    if refuses_statement(error) { format!("; {NEW_RUN}") } else { String::new() }
}

/// SQLSTATEs of sessions that end with their server: shutdown, crash of another process, not accepting
/// connections.
const DYING: [&str; 4] = ["57P01", "57P02", "57P03", "08S01"];

/// Messages of servers and of the OS for a full disk.
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
    /// Adds the arm and the purpose of the session to its error.
    pub(crate) fn session<'a>(arm: &'a str, doing: &'a str) -> impl FnOnce(rqps_wire::Error) -> Self + 'a {
        move |source| Error::Session {
            arm: arm.to_owned(),
            doing: doing.to_owned(),
            source: Box::new(source),
        }
    }

    /// The error of a statement of the plan that is written at `place`.
    pub(crate) fn of_statement<'a>(
        arm: &'a str,
        place: &'a str,
    ) -> impl FnOnce(rqps_wire::Error) -> Self + 'a {
        move |source| match is_refused(&source) {
            true => Error::Refused { arm: arm.to_owned(), statements: vec![format!("{place}: {source}")] },
            false => Error::session(arm, place)(source),
        }
    }

    /// The error in one line, without logs.
    pub fn short_text(&self) -> String {
        match self {
            Self::ServerDied { arm, step, death } => {
                format!("arm {arm}: {}", death.in_step(step))
            }
            Self::NotStarted { arm, source } => {
                let told = source.telling_line().map_or_else(String::new, |line| format!(": {line}"));
                format!("arm {arm}: {}{told}", source.short_text())
            }
            Self::Unmeasured { arm, doing, source } => format!("arm {arm}, {doing}: {}", source.short_text()),
            Self::Servers(error) => error.short_text(),
            Self::Builds(error) => error.short_text(),
            Self::Step { arm, step, source } => first_line(&format!("arm {arm}, step {step}: {source}")),
            Self::Refused { arm, statements } => format!("arm {arm}: {}", statements.join("; ")),
            other => first_line(&other.to_string()),
        }
    }

    /// As [`Error::short_text`] without the leading arm name, for places that show it anyway.
    pub(crate) fn short_text_of(&self, arm: &str) -> String {
        let text = self.short_text();
        let rest = text.strip_prefix(&format!("arm {arm}")).filter(|rest| rest.starts_with([':', ',']));
        rest.map_or(text.clone(), |rest| rest.trim_start_matches([':', ',', ' ']).to_owned())
    }

    /// Whether the request itself is wrong, so that nothing was executed.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Plan { .. }
            | Self::Changed { .. }
            | Self::CopyGone { .. }
            | Self::OtherHost(_)
            | Self::OtherFileSystem { .. }
            | Self::Complete(_)
            | Self::Ended(_)
            | Self::NoMore(_)
            | Self::NothingLeft { .. }
            | Self::TooShort { .. }
            | Self::NotInRun { .. }
            | Self::NotProfiled
            | Self::NoProgram { .. }
            | Self::UnknownOptions(_)
            | Self::HostTooSmall(_)
            | Self::Probe(rqps_probe::Error::NoPerf | rqps_probe::Error::PerfRefused { .. })
            | Self::Sysbench(_)
            | Self::HammerDb(_)
            | Self::OtherDriver { .. }
            | Self::DataGone { .. } => true,
            Self::Store(error) => error.is_usage(),
            Self::Builds(error) => error.is_usage(),
            Self::Servers(error) => error.is_usage(),
            _ => false,
        }
    }

    /// The arm that caused it, if other arms may succeed.
    pub fn faulty_arm(&self) -> Option<&str> {
        use rqps_builds::Error as Builds;
        use rqps_servers::Error as Servers;
        match self {
            Self::ServerDied { arm, .. }
            | Self::Session { arm, .. }
            | Self::Refused { arm, .. }
            | Self::Step { arm, .. }
            | Self::Unmeasured { arm, .. }
            | Self::WrongLoad { arm, .. }
            | Self::HammerDbBuild { arm, .. }
            | Self::ServerPaused { arm }
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

    /// Whether a resume would fail alike: a build refuses the config or a statement, of which a run keeps its copy.
    pub fn needs_new_run(&self) -> bool {
        let is_refused_step = match self {
            Self::Step { source, .. } => refuses_statement(source),
            other => matches!(other, Self::Refused { .. }),
        };
        is_refused_step || self.refuses_config()
    }

    /// Whether a build refuses its config.
    pub fn refuses_config(&self) -> bool {
        matches!(self, Self::NotStarted { source, .. } if source.is_refused_config())
    }

    /// Whether this run can't be resumed, whatever is freed or mended on the host; its results can still be shown.
    pub fn is_of_run(&self) -> bool {
        use rqps_store::Error as Store;
        match self {
            Self::Store(error) => {
                matches!(error, Store::NotARun { .. } | Store::Empty { .. } | Store::NotBegun { .. })
            }
            Self::Plan { .. }
            | Self::OtherDriver { .. }
            | Self::Changed { .. }
            | Self::CopyGone { .. }
            | Self::OtherHost(_)
            | Self::OtherFileSystem { .. }
            | Self::DataGone { .. }
            | Self::NothingLeft { .. } => true,
            _ => self.needs_new_run(),
        }
    }

    /// Whether a retry may succeed: after a killed server, but not after a rejected statement.
    pub(crate) fn is_transient(&self) -> bool {
        self.is_death() || matches!(self, Self::NotStarted { .. })
    }

    /// Whether an accident ended the arm that says nothing of the next one, or of a resume: its server is gone, or the
    /// program that drives it failed.
    pub(crate) fn is_mishap(&self) -> bool {
        use rqps_driver::{StepError, hammerdb::Error as HammerDb};
        let driver_ended = |error: &StepError| matches!(error, StepError::HammerDb(HammerDb::Failed { .. }));
        self.is_death() || matches!(self, Self::Step { source, .. } if driver_ended(source))
    }

    /// Whether the program that counts instructions failed, beside which the server is measured all the same.
    pub(crate) fn is_of_counting(&self) -> bool {
        match self {
            Self::NotCounted { .. } | Self::Servers(rqps_servers::Error::NoCounts { .. }) => true,
            Self::Unmeasured { source, .. } => source.is_of_counting(),
            _ => self.is_unanswered(),
        }
    }

    /// Whether that program hangs: its server may then have been killed, and did not die.
    pub(crate) fn is_unanswered(&self) -> bool {
        matches!(self, Self::Servers(rqps_servers::Error::NoAnswer { .. }))
    }

    /// Whether a server that ran is gone, or was paused.
    pub(crate) fn is_death(&self) -> bool {
        matches!(self, Self::ServerDied { .. } | Self::ServerPaused { .. })
    }

    /// Adds arm and work if the error does not name its arm.
    pub(crate) fn with_arm(self, arm: &str, doing: &str) -> Self {
        match self {
            Self::Builds(error) if error.is_interruption() => Self::Interrupted,
            Self::Servers(error) if error.is_interruption() => Self::Interrupted,
            Self::Builds(_) | Self::Servers(_) | Self::Probe(_) => {
                Self::Unmeasured { arm: arm.to_owned(), doing: doing.to_owned(), source: Box::new(self) }
            }
            other => other,
        }
    }

    /// Whether a session found its server gone or shutting down.
    pub(crate) fn lost_server(&self) -> bool {
        use rqps_wire::Error as Wire;
        match self.wire() {
            Some(Wire::Closed { .. } | Wire::Connect { .. }) => true,
            Some(error) => error.sqlstate().is_some_and(|state| DYING.contains(&state)),
            None => match self {
                Self::Probe(rqps_probe::Error::ServerGone { .. }) => true,
                Self::Unmeasured { source, .. } => source.lost_server(),
                Self::Step { source: rqps_driver::StepError::Sysbench(error), .. } => error.lost_server(),
                Self::Step { source: rqps_driver::StepError::HammerDb(error), .. }
                | Self::HammerDbBuild { source: error, .. } => error.lost_server(),
                _ => false,
            },
        }
    }

    /// Whether a disk is full, as reported by the OS, a server or its client.
    pub(crate) fn is_full_disk(&self) -> bool {
        use rqps_wire::Error as Wire;
        let refused = |error: &rqps_servers::Error| {
            error.io_kind().is_some_and(is_full) || error.last_words().is_some_and(mentions_full_disk)
        };
        match self {
            Self::File { source, .. } => is_full(source.kind()),
            Self::Servers(error) => refused(error),
            Self::NotStarted { source, .. } => refused(source),
            Self::Unmeasured { source, .. } => source.is_full_disk(),
            Self::Step { source: rqps_driver::StepError::Sysbench(error), .. } => {
                error.words().is_some_and(mentions_full_disk)
            }
            Self::Step { source: rqps_driver::StepError::HammerDb(error), .. }
            | Self::HammerDbBuild { source: error, .. } => error.words().is_some_and(mentions_full_disk),
            Self::Step { source: rqps_driver::StepError::Program { message, .. }, .. } => {
                mentions_full_disk(message)
            }
            _ => match self.wire() {
                Some(Wire::Db { message, detail, .. }) => {
                    mentions_full_disk(message) || detail.as_deref().is_some_and(mentions_full_disk)
                }
                Some(Wire::Closed { last_words: Some(words), .. } | Wire::Refused { message: words, .. }) => {
                    mentions_full_disk(words)
                }
                _ => false,
            },
        }
    }

    /// Whether an arm's data are damaged, as reported by its engine: only a new load helps.
    pub(crate) fn is_damage(&self, dbms: Dbms) -> bool {
        let says = |text: &str| rqps_servers::is_damage(dbms, text);
        match self {
            Self::NotStarted { source, .. } => source.last_words().is_some_and(says),
            Self::ServerDied { death, .. } => says(&death.log),
            _ => matches!(self.wire(), Some(rqps_wire::Error::Refused { message, .. }) if says(message)),
        }
    }

    /// Whether a server accepts connections but does not answer.
    pub(crate) fn is_timeout(&self) -> bool {
        let kind = match self.wire() {
            Some(rqps_wire::Error::Connect { source, .. }) => source.kind(),
            Some(rqps_wire::Error::Closed { cause, .. }) => cause.kind(),
            _ => return false,
        };
        matches!(kind, ErrorKind::TimedOut | ErrorKind::WouldBlock)
    }

    /// The session's error, if a session failed.
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

/// Whether a server's message reports a full disk.
pub(crate) fn mentions_full_disk(message: &str) -> bool {
    DISK_FULL_WORDS.iter().any(|sign| message.contains(sign))
}

fn is_full(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_form_omits_the_log() {
        let source = rqps_servers::Error::Died {
            path: "/data".into(),
            status: "exit status: 1".to_owned(),
            log: "/log".into(),
            tail: "FATAL:  no\nLOG:  end".to_owned(),
            why: Box::default(),
        };
        let error = Error::NotStarted { arm: "b".to_owned(), source: Box::new(source) };
        assert_eq!(error.short_text(), "arm b: the database on /data did not start (exit status: 1)");
    }

    #[test]
    fn a_killed_hammerdb_ends_its_arm_and_a_refused_statement_the_run() {
        let step = |source| Error::Step { arm: "a".to_owned(), step: "w1-vu1".to_owned(), source };
        let failed =
            rqps_driver::hammerdb::Error::Failed { doing: "in the window", words: "killed".to_owned() };
        assert!(step(failed.into()).is_mishap());
        assert!(!step(rqps_driver::StepError::Cancelled).is_mishap());
    }
}
