//! One thread of a step, from its connection to its report.

use super::asker::Asker;
use super::maker;
use super::shared::{ClientState, Report, Shared, Worker};
use super::spec::Role;
use super::writer;
use crate::client_threads::{Failure, LeaveOnDrop};
use crate::clock::thread_cpu_ns;
use crate::control::Phase;
use rqps_wire::{Error, Session};
use std::time::Duration;

/// A thread's connection.
enum Work<S: Session> {
    /// None: a maker of a test that doesn't delete.
    NoSession,
    Session(S),
    Asker(Box<Asker<S>>),
}

/// Runs the phases. The session stays open until the window has closed, so that the observer can read the
/// server's processes; then it ends, which flushes its statistics.
pub(super) fn run<S: Session>(
    shared: &Shared<'_>,
    worker: Worker,
    connect: &(impl Fn(u32) -> Result<S, Error> + Sync),
) -> Result<Report, Failure> {
    let failed = |doing| {
        move |source| {
            shared.control.abort();
            Failure { client: worker.client, doing, source: Box::new(source) }
        }
    };
    let _leave = LeaveOnDrop(shared.control);
    let _close = CloseOnDrop(&shared.clients[worker.client as usize], worker.role);
    let mut report = None;
    let (mut phase, mut number) = shared.control.next_phase(None);
    debug_assert_eq!(phase, Phase::Connect);
    let mut work = prepare(shared, worker, connect).map_err(failed("connecting"))?;
    while !shared.control.aborted() {
        (phase, number) = shared.control.next_phase(Some(number));
        if shared.control.aborted() {
            break;
        }
        match phase {
            Phase::FlushBefore => flush(shared, &mut work).map_err(failed("flushing statistics"))?,
            Phase::Window => {
                let window = window(shared, worker, &mut work).map_err(failed(doing(worker.role)))?;
                report = Some(window);
            }
            Phase::FlushAfter | Phase::Tail => break,
            Phase::Connect | Phase::Warmup | Phase::Slice => {}
        }
    }
    Ok(report.unwrap_or_else(|| Report::new(worker, shared)))
}

fn doing(role: Role) -> &'static str {
    match role {
        Role::Insert => "inserting",
        Role::Delete => "deleting",
        Role::Maker => "looking up the smallest key",
        Role::Query => "querying",
    }
}

fn prepare<S: Session>(
    shared: &Shared<'_>,
    worker: Worker,
    connect: &(impl Fn(u32) -> Result<S, Error> + Sync),
) -> Result<Work<S>, Error> {
    let Some(number) = worker.session else {
        return Ok(Work::NoSession);
    };
    let session = connect(number)?;
    if let Ok(mut backends) = shared.backends.lock() {
        backends[number as usize] = session.backend_id();
    }
    match worker.role {
        Role::Query => Asker::new(session, shared, worker.client).map(|asker| Work::Asker(Box::new(asker))),
        Role::Insert | Role::Delete | Role::Maker => Ok(Work::Session(session)),
    }
}

fn flush<S: Session>(shared: &Shared<'_>, work: &mut Work<S>) -> Result<(), Error> {
    let (Some(flush), Some(session)) = (&shared.spec.flush, work.session()) else {
        return Ok(());
    };
    session.simple(&flush.sql).map(|_| ())
}

fn window<S: Session>(shared: &Shared<'_>, worker: Worker, work: &mut Work<S>) -> Result<Report, Error> {
    let before = thread_cpu_ns();
    let mut report = Report::new(worker, shared);
    let kind = |name: &str| shared.no_tallies.iter().position(|tally| tally.kind == name).unwrap_or_default();
    match (worker.role, work) {
        (Role::Maker, work) => {
            let made = maker::make(shared, &mut report, work.session());
            // Also after an error: the other threads wait on the queues.
            let state = &shared.clients[worker.client as usize];
            state.inserts.close();
            state.deletes.close();
            made?;
        }
        (Role::Query, Work::Asker(asker)) => asker.ask(shared, &mut report)?,
        (role, Work::Session(session)) => writer::write(shared, &mut report, session, kind(role.key()))?,
        (_, Work::NoSession | Work::Asker(_)) => {}
    }
    report.series.finish();
    report.cpu = Duration::from_nanos(thread_cpu_ns().saturating_sub(before));
    Ok(report)
}

impl<S: Session> Work<S> {
    fn session(&mut self) -> Option<&mut S> {
        match self {
            Work::NoSession => None,
            Work::Session(session) => Some(session),
            Work::Asker(asker) => Some(asker.session()),
        }
    }
}

/// Unblocks a client's other threads when one of them ends, also by a panic.
struct CloseOnDrop<'a>(&'a ClientState, Role);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        if matches!(self.1, Role::Insert | Role::Maker) {
            self.0.inserts.close();
        }
        if matches!(self.1, Role::Delete | Role::Maker) {
            self.0.deletes.close();
        }
    }
}
