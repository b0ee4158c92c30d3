//! The INSERT and DELETE sessions: each sends the maker's statements one at a time, each as its own
//! transaction.

use super::channel::Channel;
use super::sending::Sending;
use super::shared::{QueuedStatement, Report, Shared};
use super::spec::Role;
use crate::clock::Moment;
use rqps_wire::{Error, Session};
use rqps_workloads::insert_benchmark::create_indexes;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Sends all statements of a client's INSERT or DELETE session.
pub(super) fn write<S: Session>(
    shared: &Shared<'_>,
    report: &mut Report,
    session: &mut S,
    kind: usize,
) -> Result<(), Error> {
    let state = &shared.clients[report.worker.client as usize];
    let channel = if report.worker.role == Role::Insert { &state.inserts } else { &state.deletes };
    drain(shared, report, session, kind, channel)?;
    if report.worker.role == Role::Insert {
        let last = shared.inserters.fetch_sub(1, Ordering::Relaxed) == 1;
        if shared.queue.builds_indexes && (last || !shared.spec.shared_table) && !shared.control.aborted() {
            build_indexes(shared, report, session)?;
        }
    }
    shared.writers.fetch_sub(1, Ordering::Relaxed);
    Ok(())
}

fn drain<S: Session>(
    shared: &Shared<'_>,
    report: &mut Report,
    session: &mut S,
    kind: usize,
    channel: &Channel<QueuedStatement>,
) -> Result<(), Error> {
    let mut made = QueuedStatement::default();
    let mut sending = Sending::new(shared, &report.worker);
    while channel.pop(&mut made) && !shared.control.aborted() {
        let sent = sending.send(report, || session.simple(&made.text))?;
        let rows = sent.outcome.affected;
        sending.count(report, kind, &sent, rows, rows != u64::from(made.rows));
    }
    Ok(())
}

fn build_indexes<S: Session>(shared: &Shared<'_>, report: &mut Report, session: &mut S) -> Result<(), Error> {
    let spec = shared.spec;
    let begin = Moment::now();
    for sql in create_indexes(spec.dialect, spec.table(report.worker.client)) {
        session.simple(&sql)?;
    }
    report.last = Moment::now();
    report.index_build = Some(Duration::from_nanos(report.last.ns_since(begin)));
    Ok(())
}
