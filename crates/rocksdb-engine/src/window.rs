//! A window: client threads, led through warm-up and window by the conversation with rqps.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use crate::client::{Client, Tally, write_in_background};
use crate::counters;
use crate::database::Database;
use crate::error::{Error, Result};
use crate::gate::Gate;
use crate::latencies;
use crate::protocol::{Background, End, Event, Phase, RunResult, RunSpec};

/// How often the lead reports progress and looks for [`crate::protocol::Request::Cancel`].
const TICK: Duration = Duration::from_millis(200);

/// Stacks of clients: they call deep into the engine.
const STACK_BYTES: usize = 2 << 20;

/// The other side of the conversation.
pub(crate) trait Lead {
    fn say(&mut self, event: &Event) -> Result<()>;

    /// Waits for [`crate::protocol::Request::Go`].
    ///
    /// # Errors
    /// If the other side cancels or is gone.
    fn wait_for_go(&mut self) -> Result<()>;

    /// Whether the other side has cancelled or is gone. Does not wait.
    fn is_cancelled(&mut self) -> bool;
}

/// What the threads of a window share.
struct Shared<'a> {
    database: &'a Database,
    spec: &'a RunSpec,
    gate: Gate,
    /// Kernel ids of the threads: clients, then the background writer.
    threads: Mutex<Vec<u32>>,
    warmups: Mutex<Vec<(u32, u64)>>,
    tallies: Mutex<Vec<(u32, Tally)>>,
    background: Mutex<Option<Background>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a window on an open database.
pub(crate) fn run(database: &Database, spec: &RunSpec, lead: &mut dyn Lead) -> Result<RunResult> {
    let writers = u32::from(spec.background_bytes_per_s.is_some());
    let shared = Shared {
        database,
        spec,
        gate: Gate::new(spec.clients),
        threads: Mutex::new(vec![0; (spec.clients + writers) as usize]),
        warmups: Mutex::default(),
        tallies: Mutex::default(),
        background: Mutex::default(),
    };
    let warmup_s = thread::scope(|scope| {
        let started = shared.start(scope);
        let led = shared.lead(started, lead);
        shared.gate.end();
        led
    })?;
    shared.result(warmup_s)
}

impl Shared<'_> {
    /// Starts all threads; returns the number of clients and of writers that were started.
    fn start<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) -> (u32, u32) {
        let named = |name: &str| thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES);
        let mut started = (0, 0);
        for number in 0..self.spec.clients {
            match named("client").spawn_scoped(scope, move || self.client(number)) {
                Ok(_) => started.0 += 1,
                Err(error) => {
                    self.gate.fail(Error::io(format!("start the thread of client {number}"))(error));
                    return started;
                }
            }
        }
        if let Some(bytes_per_s) = self.spec.background_bytes_per_s {
            match named("writer").spawn_scoped(scope, move || self.writer(bytes_per_s)) {
                Ok(_) => started.1 += 1,
                Err(error) => self.gate.fail(Error::io("start the background writer")(error)),
            }
        }
        started
    }

    /// A thread's name for the kernel.
    fn note_thread(&self, at: u32) {
        let id = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        lock(&self.threads)[at as usize] = id;
    }

    fn client(&self, number: u32) {
        self.note_thread(number);
        let mut client = Client::new(self.database, self.spec, number);
        self.gate.pass(true);
        if let Some(tally) = client.run(&self.spec.warmup, &self.gate) {
            lock(&self.warmups).push((number, tally.operations));
        }
        client.begin_window();
        self.gate.pass(true);
        if let Some(tally) = client.run(&self.spec.window, &self.gate) {
            lock(&self.tallies).push((number, tally));
        }
        self.gate.pass(true);
    }

    fn writer(&self, bytes_per_s: f64) {
        self.note_thread(self.spec.clients);
        self.gate.pass(false);
        write_in_background(self.database, self.spec, bytes_per_s, "background warm-up", &self.gate);
        self.gate.pass(false);
        let did = write_in_background(self.database, self.spec, bytes_per_s, "background", &self.gate);
        *lock(&self.background) = Some(did);
        self.gate.pass(false);
    }

    /// Leads through the phases; returns the seconds of the warm-up.
    fn lead(&self, started: (u32, u32), lead: &mut dyn Lead) -> Result<f64> {
        self.phase(started, Phase::Open, None, lead)?;
        self.gate.release();
        let start = Instant::now();
        self.phase(started, Phase::WarmUp, Some(&self.spec.warmup), lead)?;
        let warmup_s = start.elapsed().as_secs_f64();
        let shape = counters::shape(self.database)?;
        lead.say(&Event::Opens { threads: lock(&self.threads).clone(), shape })?;
        lead.wait_for_go()?;
        self.gate.release();
        self.phase(started, Phase::Window, Some(&self.spec.window), lead)?;
        if self.spec.open.fills {
            // The rate is of the puts alone. Their costs have all of their flushes, however many memtables a release
            // had left at the last put.
            self.database.flush()?;
        }
        lead.say(&Event::Closed)?;
        lead.wait_for_go()?;
        Ok(warmup_s)
    }

    /// Waits for the end of a phase; `end` is `None` if it ends by itself.
    fn phase(
        &self,
        (clients, writers): (u32, u32),
        phase: Phase,
        end: Option<&End>,
        lead: &mut dyn Lead,
    ) -> Result<()> {
        let start = Instant::now();
        let limit = match end {
            Some(End::Seconds(seconds)) => Some(Duration::from_secs_f64(seconds.max(0.0))),
            _ => None,
        };
        loop {
            let left = limit.map_or(TICK, |limit| limit.saturating_sub(start.elapsed()).min(TICK));
            let ended = self.gate.wait(clients, 0, left);
            if ended || limit.is_some_and(|limit| start.elapsed() >= limit) {
                break;
            }
            let (elapsed_s, operations) = (start.elapsed().as_secs_f64(), self.gate.operations());
            lead.say(&Event::Progress { phase, elapsed_s, operations })?;
            if lead.is_cancelled() {
                return Err(Error::Cancelled);
            }
        }
        self.gate.stop();
        while !self.gate.wait(clients, writers, TICK) {
            if lead.is_cancelled() {
                return Err(Error::Cancelled);
            }
        }
        self.gate.take_failure().map_or(Ok(()), Err)
    }

    fn result(self, warmup_s: f64) -> Result<RunResult> {
        let inner =
            |mutex: Mutex<Vec<(u32, u64)>>| mutex.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut warmups = inner(self.warmups);
        warmups.sort_unstable();
        let mut tallies = self.tallies.into_inner().unwrap_or_else(PoisonError::into_inner);
        tallies.sort_unstable_by_key(|(number, _)| *number);
        let tallies: Vec<Tally> = tallies.into_iter().map(|(_, tally)| tally).collect();
        let sum = |count: fn(&Tally) -> u64| tallies.iter().map(count).sum();
        let seconds = tallies.iter().map(|tally| tally.per_second.len()).max().unwrap_or(0);
        let second = |at| tallies.iter().map(|tally| tally.per_second.get(at).copied().unwrap_or(0)).sum();
        Ok(RunResult {
            warmup_s,
            warmup_operations: warmups.into_iter().map(|(_, operations)| operations).collect(),
            operations: tallies.iter().map(|tally| tally.operations).collect(),
            elapsed_s: tallies.iter().map(|tally| tally.elapsed_ns as f64 / 1e9).collect(),
            bytes: sum(|tally| tally.bytes),
            entries: sum(|tally| tally.entries),
            missing: sum(|tally| tally.missing),
            per_second: (0..seconds).map(second).collect(),
            latency: latencies::encoded(tallies.iter().map(|tally| &tally.latencies))?,
            background: self.background.into_inner().unwrap_or_else(PoisonError::into_inner),
            other_options: Vec::new(),
        })
    }
}
