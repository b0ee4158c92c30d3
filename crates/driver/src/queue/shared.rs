//! State shared by the threads of a step, and the report of each.

use super::channel::Channel;
use super::series::Series;
use super::spec::{QueueSpec, Role};
use crate::clock::Moment;
use crate::control::Control;
use crate::error::StepError;
use crate::event::{Tallies, latency_histogram};
use crate::result::KindResult;
use hdrhistogram::Histogram;
use rqps_workloads::Queue;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

/// A statement queued by a maker for a session.
#[derive(Debug, Default)]
pub(super) struct QueuedStatement {
    pub text: String,
    /// Rows to insert or delete.
    pub rows: u32,
}

/// Shared by the threads of one client.
#[derive(Debug)]
pub(super) struct ClientState {
    pub inserts: Channel<QueuedStatement>,
    pub deletes: Channel<QueuedStatement>,
    /// The maker's estimate of the table's smallest key.
    pub low_key: AtomicI64,
}

impl ClientState {
    fn new() -> Self {
        Self { inserts: Channel::default(), deletes: Channel::default(), low_key: AtomicI64::new(i64::MIN) }
    }
}

/// A thread of the step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Worker {
    pub role: Role,
    pub client: u32,
    /// The number of its session, if it has one.
    pub session: Option<u32>,
}

/// The threads of a step, client by client in the order of roles. A maker needs a session only to look up
/// keys.
pub(super) fn workers(clients: u32, queue: &Queue) -> Vec<Worker> {
    let mut sessions = 0..;
    let mut workers = Vec::new();
    for client in 0..clients {
        for role in Role::ALL {
            let (exists, connected) = match role {
                Role::Insert => (true, true),
                Role::Delete => (queue.deletes, true),
                Role::Maker => (true, queue.deletes),
                Role::Query => (queue.queries.is_some(), true),
            };
            if exists {
                let session = if connected { sessions.next() } else { None };
                workers.push(Worker { role, client, session });
            }
        }
    }
    workers
}

/// Shared by all threads of a step.
pub(super) struct Shared<'a> {
    pub spec: &'a QueueSpec,
    pub queue: Queue,
    pub control: &'a Control,
    /// Session ids on the server.
    pub backends: Mutex<Vec<u32>>,
    /// The common start of the window.
    pub start: OnceLock<Moment>,
    pub clients: Vec<ClientState>,
    /// Threads that still insert or delete; queries stop once there are none.
    pub writers: AtomicU32,
    /// Threads that still insert; with a shared table the last one builds the indexes.
    pub inserters: AtomicU32,
    /// An empty tally for each of the test's statements.
    pub no_tallies: Vec<KindResult>,
    pub no_latency: Histogram<u64>,
}

impl<'a> Shared<'a> {
    pub fn new(
        spec: &'a QueueSpec,
        queue: Queue,
        control: &'a Control,
        workers: &[Worker],
    ) -> Result<Self, StepError> {
        let no_latency = latency_histogram()?;
        let count =
            |roles: &[Role]| workers.iter().filter(|worker| roles.contains(&worker.role)).count() as u32;
        Ok(Self {
            spec,
            queue,
            control,
            backends: Mutex::new(vec![0; workers.iter().filter(|worker| worker.session.is_some()).count()]),
            start: OnceLock::new(),
            clients: (0..spec.clients()).map(|_| ClientState::new()).collect(),
            writers: AtomicU32::new(count(&[Role::Insert, Role::Delete])),
            inserters: AtomicU32::new(count(&[Role::Insert])),
            no_tallies: Tallies::new(spec.test, &no_latency).statements,
            no_latency,
        })
    }

    pub fn started(&self) -> Moment {
        *self.start.get_or_init(Moment::now)
    }

    /// Whether queries must stop.
    pub fn all_written(&self) -> bool {
        self.writers.load(Ordering::Relaxed) == 0 || self.control.aborted()
    }
}

pub(super) struct Report {
    pub worker: Worker,
    /// One for each of the test's statements; the thread uses those of its role.
    pub tallies: Vec<KindResult>,
    pub series: Series,
    /// When the last statement was answered.
    pub last: Moment,
    /// CPU time of the thread in the window.
    pub cpu: Duration,
    pub retries: BTreeMap<String, u64>,
    pub noop_statements: u64,
    /// Lookups of the smallest key by a maker, of the largest by a query session.
    pub lookups: u64,
    pub lookup: Duration,
    pub index_build: Option<Duration>,
}

impl Report {
    pub fn new(worker: Worker, shared: &Shared<'_>) -> Self {
        let start = shared.started();
        Self {
            worker,
            tallies: shared.no_tallies.clone(),
            series: Series::new(start),
            last: start,
            cpu: Duration::ZERO,
            retries: BTreeMap::new(),
            noop_statements: 0,
            lookups: 0,
            lookup: Duration::ZERO,
            index_build: None,
        }
    }

    pub fn statements(&self) -> u64 {
        self.tallies.iter().map(|tally| tally.answers.count).sum()
    }

    pub fn rows(&self) -> u64 {
        self.tallies.iter().map(|tally| tally.answers.rows).sum()
    }
}
