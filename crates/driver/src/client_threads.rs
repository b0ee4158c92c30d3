//! The threads of a step: started together, led through the phases by the caller's thread, joined, and their failures
//! sorted out.

use crate::control::{Control, Phase};
use crate::error::StepError;
use rqps_wire::Error;
use std::thread::{Scope, ScopedJoinHandle};

/// Stack of a client's thread.
const CLIENT_STACK_BYTES: usize = 512 * 1024;

/// Why a thread gave up, for the step's error.
pub(crate) struct Failure {
    pub client: u32,
    pub doing: &'static str,
    pub source: Box<Error>,
}

/// Why the coordinator stopped leading.
pub(crate) enum Stop {
    Cancelled,
    /// A client has the error.
    ClientFailed,
    Thread {
        client: u32,
        source: std::io::Error,
    },
}

/// Which threads a step has.
pub(crate) struct ClientThreads<'a> {
    /// What they and their coordinator agree by.
    pub control: &'a Control,
    /// Clients of the step, for messages.
    pub clients: u32,
    /// The client that each thread works for, and the thread's name.
    pub threads: Vec<(u32, String)>,
}

/// Threads that were started, in their order.
pub(crate) type Started<'scope, R> = Vec<ScopedJoinHandle<'scope, Result<R, Failure>>>;
/// What came of each.
pub(crate) type Joined<R> = Vec<std::thread::Result<Result<R, Failure>>>;

/// Waits for threads whose last phase is open.
pub(crate) fn join<R>(started: Started<'_, R>) -> Joined<R> {
    started.into_iter().map(ScopedJoinHandle::join).collect()
}

impl ClientThreads<'_> {
    /// Runs `work` with its number in every thread while `lead` leads them; returns when all are gone. What they
    /// counted is in the order of the threads.
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
        self.sort_out(joined, outcome)
    }

    /// Starts the threads, until one can't be started.
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

    /// What the threads counted, or the first real failure: a cancelled step's clients may have had their statements
    /// ended from outside.
    pub fn sort_out<R, L>(
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

/// Tells the gate that a thread is gone, however it went.
pub(crate) struct LeaveOnDrop<'a>(pub &'a Control);

impl Drop for LeaveOnDrop<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}
