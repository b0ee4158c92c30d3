//! The threads of a step: starts and joins them, and picks the error to report if some failed.

use crate::control::{Control, Phase};
use crate::error::StepError;
use rqps_wire::Error;
use std::thread::{Scope, ScopedJoinHandle};

const CLIENT_STACK_BYTES: usize = 512 * 1024;

/// Why a client thread failed.
pub(crate) struct Failure {
    pub client: u32,
    pub doing: &'static str,
    pub source: Box<Error>,
}

/// Why the coordinator stopped early.
pub(crate) enum Stop {
    Cancelled,
    /// The client's thread returns the error.
    ClientFailed,
    Thread {
        client: u32,
        source: std::io::Error,
    },
}

/// The threads that a step needs.
pub(crate) struct ClientThreads<'a> {
    pub control: &'a Control,
    /// Number of clients, for messages.
    pub clients: u32,
    /// Each thread's client and name.
    pub threads: Vec<(u32, String)>,
}

/// Started threads, in order.
pub(crate) type Started<'scope, R> = Vec<ScopedJoinHandle<'scope, Result<R, Failure>>>;
/// Outcome of each thread.
pub(crate) type Joined<R> = Vec<std::thread::Result<Result<R, Failure>>>;

/// Joins threads whose last phase is open.
pub(crate) fn join<R>(started: Started<'_, R>) -> Joined<R> {
    started.into_iter().map(ScopedJoinHandle::join).collect()
}

impl ClientThreads<'_> {
    /// Runs `work` with its number in every thread while `lead` coordinates them in this one; returns when
    /// all have ended. Reports are in the order of the threads.
    pub fn run<R: Send, L: Default>(
        &self,
        work: impl Fn(u32) -> Result<R, Failure> + Sync,
        lead: impl FnOnce() -> Result<L, Stop>,
    ) -> Result<(L, Vec<R>), StepError> {
        let (outcome, joined) = std::thread::scope(|scope| {
            let (started, all) = self.start(scope, &work);
            let outcome = all.and_then(|()| lead());
            self.control.open(Phase::Tail);
            (outcome, join(started))
        });
        self.collect(joined, outcome)
    }

    /// Starts the threads; stops at the first that can't be started.
    pub fn start<'scope, R: Send + 'scope>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        work: &'scope (impl Fn(u32) -> Result<R, Failure> + Sync),
    ) -> (Started<'scope, R>, Result<(), Stop>) {
        let mut started = Vec::new();
        for (number, (client, name)) in (0..).zip(&self.threads) {
            let builder = std::thread::Builder::new().name(name.clone()).stack_size(CLIENT_STACK_BYTES);
            match builder.spawn_scoped(scope, move || work(number)) {
                Ok(handle) => started.push(handle),
                Err(source) => {
                    self.control.abort();
                    return (started, Err(Stop::Thread { client: *client, source }));
                }
            }
        }
        (started, Ok(()))
    }

    /// Returns the threads' reports, or the error to report: not that of a client whose statement was
    /// cancelled because the step was.
    pub fn collect<R, L>(
        &self,
        joined: Joined<R>,
        outcome: Result<L, Stop>,
    ) -> Result<(L, Vec<R>), StepError> {
        let mut reports = Vec::new();
        let mut failure = None;
        for (joined, (client, _)) in joined.into_iter().zip(&self.threads) {
            match joined {
                Err(_) => return Err(StepError::Panicked(*client)),
                Ok(Ok(report)) => reports.push(report),
                Ok(Err(first)) => failure = failure.or(Some(first)),
            }
        }
        match (outcome, failure) {
            (Err(Stop::Thread { client, source }), _) => Err(StepError::Thread { client, source }),
            (Err(Stop::Cancelled), _) | (Err(Stop::ClientFailed), None) => Err(StepError::Cancelled),
            (_, Some(failure)) => Err(StepError::Client {
                client: failure.client,
                clients: self.clients,
                doing: failure.doing,
                source: failure.source,
            }),
            (Ok(led), None) => Ok((led, reports)),
        }
    }
}

/// Calls [`Control::leave`] when a thread ends. A thread that panics also ends the step: the next phase would
/// wait for it in vain.
pub(crate) struct LeaveOnDrop<'a>(pub &'a Control);

impl Drop for LeaveOnDrop<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abort();
        }
        self.0.leave();
    }
}
