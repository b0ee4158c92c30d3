//! Sends and counts one statement; used by all sessions that write or query.

use super::shared::{Report, Shared, Worker};
use super::spec::Role;
use crate::clock::Moment;
use crate::control::{Control, Progress};
use crate::worker::EVENT_TRIES_MAX;
use rqps_wire::{Error, Outcome};

/// An answered statement.
pub(super) struct Sent {
    pub outcome: Outcome,
    done: Moment,
    latency_ns: u64,
}

pub(super) struct Sending<'a> {
    control: &'a Control,
    /// Set for query sessions, or for INSERT sessions if there are no queries.
    progress: Option<&'a Progress>,
    statements: u64,
}

impl<'a> Sending<'a> {
    pub fn new(shared: &'a Shared<'_>, worker: &Worker) -> Self {
        let shown = if shared.queue.queries.is_some() { Role::Query } else { Role::Insert };
        let progress = (worker.role == shown).then(|| &shared.control.progress[worker.client as usize]);
        Self { control: shared.control, progress, statements: 0 }
    }

    /// Runs a statement; retries it after a retryable error. Only the time of the successful attempt counts.
    #[inline]
    pub fn send(
        &self,
        report: &mut Report,
        mut run: impl FnMut() -> Result<Outcome, Error>,
    ) -> Result<Sent, Error> {
        let mut tries = 1;
        loop {
            let sent = Moment::now();
            match run() {
                Ok(outcome) => {
                    let done = Moment::now();
                    return Ok(Sent { outcome, done, latency_ns: done.ns_since(sent) });
                }
                Err(error) if error.is_retryable() && tries < EVENT_TRIES_MAX && !self.control.aborted() => {
                    let state = error.sqlstate().unwrap_or("?").to_owned();
                    *report.retries.entry(state).or_default() += 1;
                    tries += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Counts an answer of `rows` rows to statement number `kind` of the test; `wrong` if that is a wrong row
    /// count.
    #[inline]
    pub fn count(&mut self, report: &mut Report, kind: usize, sent: &Sent, rows: u64, wrong: bool) {
        let tally = &mut report.tallies[kind];
        tally.answers.count += 1;
        tally.answers.rows += rows;
        tally.answers.violations += u64::from(wrong);
        tally.sent_ns.saturating_record(sent.latency_ns);
        report.noop_statements += u64::from(rows == 0);
        report.series.count(sent.done, rows, sent.latency_ns);
        report.last = sent.done;
        self.statements += 1;
        if let Some(progress) = self.progress {
            progress.set(self.statements);
        }
    }
}
