//! The load engine of the Insert Benchmark, whose table is a queue.
//!
//! Each client has a maker of statements and, depending on the step, one session each for inserts, deletes
//! and queries. The maker alternates INSERT and DELETE statements and passes them on through queues of
//! capacity eight, so neither side gets further ahead than that: if one is slow, both are. Latencies do not
//! include the writing of statements, and buffers are reused.
//!
//! The window of a step of fixed rows ends with the last commit of all clients; query sessions stop then.
//! Latency is the time from sending a statement to the end of its answer.

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
use crate::lead::Lead;
use crate::result::StepResult;
use crate::spec::Observer;
use rqps_wire::Session;
use shared::Shared;
use std::time::{Duration, Instant};

/// Runs one step. `connect` opens session number i, in the order of [`QueueResult::sessions`]. Blocks until
/// all sessions have ended. The events of the result are its queries, or its INSERT statements if it has no
/// queries; [`StepResult::queries`] counts the same, [`StepResult::statements`] everything except key
/// lookups.
///
/// # Errors
/// Those of [`crate::run_step`]; [`StepError::NoQueue`] if the test is not a step of this benchmark.
pub fn run_queue<S: Session>(
    spec: &QueueSpec,
    connect: impl Fn(u32) -> Result<S, rqps_wire::Error> + Sync,
    observer: &mut dyn Observer,
) -> Result<(StepResult, QueueResult), StepError> {
    let mut queue = spec.test.queue.ok_or(StepError::NoQueue(spec.test.name))?;
    queue.deletes &= !spec.shared_table;
    let workers = shared::workers(spec.clients(), &queue);
    let control = Control::new(workers.len() as u32);
    let shared = Shared::new(spec, queue, &control, &workers)?;
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

/// Leads the sessions through the phases; returns the time until the window opened.
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
