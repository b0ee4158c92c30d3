//! The engine of the Insert Benchmark: a table that is a queue.
//!
//! Each client has a maker of statements and a session each that inserts, that deletes and that asks, as the step wants
//! them. The maker hands INSERT and DELETE statements over in turn, through queues of eight places, so that
//! neither side gets further ahead of the other than these: if one runs slow, both do. Statements are written outside
//! the time that is measured, and their memory goes round.
//!
//! The window of a step of fixed rows ends with the last commit of all clients; sessions that ask are told to end then.
//! Latency is the time from a statement's sending to its whole answer.

mod asker;
mod channel;
mod maker;
mod pacer;
mod result;
mod sending;
mod series;
mod shared;
mod spec;
mod sum;
mod thread;
mod writer;

pub use result::{Background, KEPT_SHARE, QueueResult, StreamResult};
pub use spec::{Positions, QueueSpec, Role};

use crate::client_threads::{ClientThreads, Stop};
use crate::control::{Control, Phase};
use crate::error::StepError;
use crate::event::{Tallies, latency_histogram};
use crate::lead::Lead;
use crate::result::StepResult;
use crate::spec::Observer;
use rqps_wire::Session;
use shared::Shared;
use std::time::{Duration, Instant};

/// Runs one step. `connect` gives session number i, in the order of [`QueueResult::sessions`]. Blocks until all
/// sessions are gone. The events of the result are its queries, or without any its INSERT statements;
/// [`StepResult::queries`] counts the same, [`StepResult::statements`] all but the lookups of keys.
///
/// # Errors
/// As of [`crate::run_step`]; [`StepError::NoQueue`] where the test is no step of this benchmark.
pub fn run_queue<S: Session>(
    spec: &QueueSpec,
    connect: impl Fn(u32) -> Result<S, rqps_wire::Error> + Sync,
    observer: &mut dyn Observer,
) -> Result<(StepResult, QueueResult), StepError> {
    let mut queue = spec.test.queue.ok_or(StepError::NoQueue(spec.test.name))?;
    queue.deletes &= !spec.shared_table;
    let workers = shared::workers(spec.clients(), &queue);
    let control = Control::new(workers.len() as u32);
    let no_latency = latency_histogram().map_err(|e| StepError::Histogram(e.to_string()))?;
    let no_tallies = Tallies::new(spec.test, &no_latency).statements;
    let shared = Shared::new(spec, queue, &control, &workers, no_tallies, no_latency);
    let threads = workers
        .iter()
        .map(|worker| (worker.client, format!("{}-{}", worker.role.key(), worker.client)))
        .collect();
    let threads = ClientThreads { control: &control, clients: spec.clients(), threads };
    let lead = Lead { control: &control, flush: spec.flush.as_ref(), observer };
    let (prepared, reports) = threads.run(
        |number| thread::run(&shared, workers[number as usize], &connect),
        || all_phases(&shared, lead),
    )?;
    sum::add_up(&shared, &workers, &reports, prepared)
}

/// Leads through the phases; gives the time until the window opened.
fn all_phases(shared: &Shared<'_>, mut lead: Lead<'_>) -> Result<Duration, Stop> {
    let start = Instant::now();
    lead.phase(Phase::Connect, "connect", None)?;
    lead.flush(Phase::FlushBefore)?;
    let prepared = start.elapsed();
    let backends = shared.backends.lock().map(|backends| backends.clone()).unwrap_or_default();
    lead.observer.window_opens(&backends);
    shared.started();
    lead.phase(Phase::Window, "measure", shared.spec.limit.time())?;
    lead.observer.window_closes();
    lead.phase(Phase::FlushAfter, "statistics", None)?;
    lead.observer.statistics_complete();
    Ok(prepared)
}
