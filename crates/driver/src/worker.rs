//! One client: a thread with a session that runs the phases of a step.

use crate::client_threads::{ClientThreads, Failure, LeaveOnDrop};
use crate::clock::{Moment, thread_cpu_ns};
use crate::control::{Control, Phase};
use crate::error::StepError;
use crate::event::{Client, Tallies, latency_histogram};
use crate::pacer::{Pacer, sleep_until};
use crate::repeated::Repeated;
use crate::result::Marks;
use crate::spec::{CpuClock, Pace, StepSpec};
use crate::tproc_c::Terminal;
use hdrhistogram::Histogram;
use rqps_model::random::{Stream, name_word};
use rqps_model::{Limit, Slice};
use rqps_wire::{Error, Session};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

/// Attempts at one event before the step fails with its error.
pub(crate) const EVENT_TRIES_MAX: u32 = 1000;

pub(crate) struct Report {
    pub warmup_events: u64,
    pub window_events: u64,
    /// Events done after the window.
    pub tail_events: u64,
    /// From the opening of the window to the end of the client's last event in it.
    pub window_s: f64,
    pub tallies: Tallies,
    /// Latency of events, from sending the first statement; only if events have several statements.
    pub event_ns: Option<Histogram<u64>>,
    /// Latency of events, from the time they were due; only in the open loop.
    pub scheduled_ns: Option<Histogram<u64>>,
    pub queries_each_second: Vec<u64>,
    pub retries: BTreeMap<String, u64>,
    pub removed_rows: u64,
    /// As [`Repeated::marks`].
    pub marks: Marks,
    /// Whether this client ended the window by removing its share of the rows.
    pub removed_share: bool,
    pub slices: Vec<Slice>,
}

impl Report {
    fn new(shared: &Shared<'_>) -> Self {
        let spec = shared.spec;
        let histogram = |wanted: bool| wanted.then(|| shared.no_latency.clone());
        Self {
            warmup_events: 0,
            window_events: 0,
            tail_events: 0,
            window_s: 0.0,
            tallies: shared.no_tallies.clone(),
            event_ns: histogram(spec.test.queries_per_event() > 1 || spec.test.is_mix()),
            scheduled_ns: histogram(spec.pace != Pace::Closed),
            queries_each_second: Vec::with_capacity(4096),
            retries: BTreeMap::new(),
            removed_rows: 0,
            marks: Marks::default(),
            removed_share: false,
            slices: Vec::new(),
        }
    }
}

/// What the clients of a step and their coordinator share.
pub(crate) struct Shared<'a> {
    pub spec: &'a StepSpec,
    pub control: Control,
    /// Session ids on the server, in client order.
    backends: Mutex<Vec<u32>>,
    /// Kernel thread ids, in client order.
    pub client_threads: Mutex<Vec<u32>>,
    /// CPU clocks of the sessions, in client order.
    pub session_clocks: OnceLock<Vec<CpuClock>>,
    /// If arms take turns: the warm-up's events of each client, where another arm's warm-up decides.
    pub warmup: OnceLock<Vec<u64>>,
    /// If arms take turns: the window's events of each client up to the end of its turn.
    goals: Vec<AtomicU64>,
    /// Events of each client so far, in the warm-up, then in the window.
    done: Vec<AtomicU64>,
    /// Empty; cloned by each client.
    pub no_tallies: Tallies,
    /// Empty; cloned by each client.
    no_latency: Histogram<u64>,
}

impl<'a> Shared<'a> {
    pub fn new(spec: &'a StepSpec) -> Result<Self, StepError> {
        let no_latency = latency_histogram()?;
        let zeros = || (0..spec.clients).map(|_| AtomicU64::new(0)).collect();
        Ok(Self {
            spec,
            control: Control::new(spec.clients),
            backends: Mutex::new(vec![0; spec.clients as usize]),
            client_threads: Mutex::new(vec![0; spec.clients as usize]),
            session_clocks: OnceLock::new(),
            warmup: OnceLock::new(),
            goals: zeros(),
            done: zeros(),
            no_tallies: Tallies::new(spec.test, &no_latency),
            no_latency,
        })
    }

    pub fn threads(&self) -> ClientThreads<'_> {
        let clients = self.spec.clients;
        let threads = (0..clients).map(|number| (number, format!("client-{number}"))).collect();
        ClientThreads { control: &self.control, clients, threads }
    }

    /// Session ids on the server, once all clients are connected.
    pub fn backends(&self) -> Vec<u32> {
        self.backends.lock().map(|backends| backends.clone()).unwrap_or_default()
    }

    /// The warm-up's events of each client, if they are fixed.
    pub fn fixed_warmup(&self) -> Option<&Vec<u64>> {
        match &self.spec.limit {
            Limit::Work(work) => Some(&work.warmup),
            _ => self.warmup.get(),
        }
    }

    /// Sets how far each client goes in the next turn.
    pub fn set_goals(&self, events: &[u64]) {
        for (goal, events) in self.goals.iter().zip(events) {
            goal.store(*events, Ordering::Relaxed);
        }
    }

    /// Events of each client in the last warm-up, or in the window so far.
    pub fn done(&self) -> Vec<u64> {
        self.done.iter().map(|done| done.load(Ordering::Relaxed)).collect()
    }

    /// The window's events of each client, if they are fixed.
    pub fn quotas(&self) -> Option<Vec<u64>> {
        (0..self.spec.clients).map(|client| self.quota(client)).collect()
    }

    fn quota(&self, client: u32) -> Option<u64> {
        match &self.spec.limit {
            Limit::Work(work) => work.window.get(client as usize).copied(),
            Limit::Events(events) => Some(self.share(*events, client)),
            Limit::Rows(rows) => Some(*rows),
            Limit::Time(_) => None,
        }
    }

    /// A client's share of `events`.
    fn share(&self, events: u64, client: u32) -> u64 {
        let clients = u64::from(self.spec.clients);
        events / clients + u64::from(u64::from(client) < events % clients)
    }
}

/// One guard event per this many events of a turn.
const EVENTS_PER_GUARD: u64 = 10;
/// Shorter turns have no guard events.
const GUARD_EVENTS_FROM: u64 = 5;

/// How many of a turn's events come before its slice.
fn guard_events(events: u64) -> u64 {
    if events < GUARD_EVENTS_FROM { 0 } else { events.div_ceil(EVENTS_PER_GUARD) }
}

struct Worker<'a, R: Repeated> {
    shared: &'a Shared<'a>,
    number: u32,
    client: R,
    stream: Stream,
    report: Report,
    per_second: Seconds,
    /// The end of this client's last turn.
    paused_at: Option<Moment>,
}

/// When a client stops working, at the latest at the end of the phase.
#[derive(Clone, Copy)]
struct Until {
    /// Number of events.
    quota: Option<u64>,
    /// Whether queries are counted per second.
    is_window: bool,
    /// Whether the first client to reach its quota ends the phase for all.
    ends_phase: bool,
}

#[derive(Clone, Copy)]
struct Done {
    events: u64,
    /// The end of the last event, or of the phase if it ended while the client waited for the next one.
    at: Moment,
    /// From the start until then.
    ns: u64,
}

/// Counts queries per second of the window without a division per event.
struct Seconds {
    start: Moment,
    end_ns: u64,
    current: u64,
}

impl Seconds {
    fn new(start: Moment) -> Self {
        Self { start, end_ns: 1_000_000_000, current: 0 }
    }

    /// Excludes a pause of the client.
    fn skip(&mut self, ns: u64) {
        self.start = self.start + Duration::from_nanos(ns);
    }

    #[inline]
    fn count(&mut self, now: Moment, queries: u64, seconds: &mut Vec<u64>) {
        let elapsed_ns = now.ns_since(self.start);
        while elapsed_ns >= self.end_ns {
            seconds.push(std::mem::take(&mut self.current));
            self.end_ns += 1_000_000_000;
        }
        self.current += queries;
    }
}

/// Ends the step for all clients with this client's error.
fn fail(shared: &Shared<'_>, client: u32, doing: &'static str, source: Error) -> Failure {
    shared.control.abort();
    Failure { client, doing, source: Box::new(source) }
}

/// Runs client `number` until the step is over. Its session stays open until then, so that the observer can
/// read the server's processes at the window's end.
pub(crate) fn run<S: Session>(
    shared: &Shared<'_>,
    number: u32,
    connect: &(impl Fn(u32) -> Result<S, Error> + Sync),
) -> Result<Report, Failure> {
    let failed = |doing| move |source| fail(shared, number, doing, source);
    let _leave = LeaveOnDrop(&shared.control);
    let (_, done) = shared.control.next_phase(None);
    // Where arms take turns, a step may end before this arm's clients were to connect: no phase follows then.
    if shared.control.aborted() {
        return Ok(Report::new(shared));
    }
    if let Ok(mut threads) = shared.client_threads.lock() {
        threads[number as usize] = rustix::thread::gettid().as_raw_pid().cast_unsigned();
    }
    let session = connect(number).map_err(failed("connecting"))?;
    let spec = shared.spec;
    match spec.users {
        None => {
            let client = Client::new(session, spec, number).map_err(failed("preparing"))?;
            run_phases(shared, number, client, done)
        }
        Some(users) => {
            let user = users.user(number, spec.seed);
            let terminal = Terminal::new(session, spec.dialect, users, user);
            let client = terminal.map_err(failed("preparing"))?;
            run_phases(shared, number, client, done)
        }
    }
}

/// Runs the phases after the connection; `done` is the number of that phase.
fn run_phases<R: Repeated>(
    shared: &Shared<'_>,
    number: u32,
    client: R,
    mut done: u64,
) -> Result<Report, Failure> {
    let failed = |doing| move |source| fail(shared, number, doing, source);
    if let Ok(mut backends) = shared.backends.lock() {
        backends[number as usize] = client.backend_id();
    }
    let mut worker = Worker::new(shared, number, client);
    while !shared.control.aborted() {
        let (phase, phase_number) = shared.control.next_phase(Some(done));
        if shared.control.aborted() {
            break;
        }
        match phase {
            Phase::Connect => {}
            Phase::Warmup => worker.warm_up().map_err(failed("warming up"))?,
            Phase::FlushAfter if !shared.spec.has_tail() => return Ok(worker.into_report()),
            Phase::FlushBefore | Phase::FlushAfter => {
                worker.flush().map_err(failed("flushing statistics"))?;
            }
            Phase::Window => worker.window().map_err(failed("in the window"))?,
            Phase::Slice => worker.slice().map_err(failed("in the window"))?,
            Phase::Tail => {
                worker.tail().map_err(failed("finishing remaining events"))?;
                return Ok(worker.into_report());
            }
        }
        done = phase_number;
    }
    Ok(worker.into_report())
}

impl<'a, R: Repeated> Worker<'a, R> {
    fn new(shared: &'a Shared<'a>, number: u32, client: R) -> Self {
        let (report, per_second) = (Report::new(shared), Seconds::new(Moment::now()));
        Self { shared, number, client, stream: Stream::new(&[]), report, per_second, paused_at: None }
    }

    fn into_report(self) -> Report {
        Report { marks: self.client.marks(), ..self.report }
    }

    /// Seeds the draws of a phase: the window's don't depend on how many the warm-up made.
    fn seed(&mut self, phase: u64) {
        let spec = self.shared.spec;
        self.stream = Stream::new(&[
            spec.seed,
            name_word(&spec.step),
            u64::from(spec.draws),
            u64::from(self.number),
            phase,
        ]);
    }

    fn removed_rows_max(&self) -> Option<u64> {
        self.shared.spec.removed_rows_max.map(|all| self.shared.share(all, self.number).max(1))
    }

    fn publish(&self, done: u64) {
        self.shared.done[self.number as usize].store(done, Ordering::Relaxed);
    }

    fn warm_up(&mut self) -> Result<(), Error> {
        self.seed(0);
        let quota = self.shared.fixed_warmup().and_then(|events| events.get(self.number as usize).copied());
        let until = Until { quota, is_window: false, ends_phase: false };
        self.report.warmup_events = self.work(until, Moment::now())?.events;
        self.publish(self.report.warmup_events);
        self.report.tallies.clear();
        self.report.retries.clear();
        self.report.removed_share = false;
        let report = &mut self.report;
        for histogram in [&mut report.event_ns, &mut report.scheduled_ns].into_iter().flatten() {
            // `clear` would keep the maximum.
            histogram.reset();
        }
        Ok(())
    }

    fn window(&mut self) -> Result<(), Error> {
        let quota = self.shared.quota(self.number);
        let start = self.begin_window();
        let done = self.work(Until { quota, is_window: true, ends_phase: true }, start)?;
        self.count_window(done);
        self.end_seconds();
        Ok(())
    }

    /// Runs the next slice of the window's events.
    fn slice(&mut self) -> Result<(), Error> {
        let start = match self.paused_at {
            None => self.begin_window(),
            Some(since) => {
                let now = Moment::now();
                self.per_second.skip(now.ns_since(since));
                now
            }
        };
        let goal = self.shared.goals[self.number as usize].load(Ordering::Relaxed);
        let events = goal.saturating_sub(self.report.window_events);
        let guard = guard_events(events);
        let part = |quota| Until { quota: Some(quota), is_window: true, ends_phase: false };
        let cold = self.work(part(guard), start)?;
        let (session, client, from) = (self.session_cpu_ns(), thread_cpu_ns(), Moment::now());
        let done = self.work(part(events - guard), from)?;
        let us = |now: u64, before: u64| now.saturating_sub(before) as f64 / 1e3;
        let client_cpu_us = us(thread_cpu_ns(), client);
        self.report.slices.push(Slice {
            events: done.events,
            elapsed_us: done.at.ns_since(from) as f64 / 1e3,
            sessions_cpu_us: session.zip(self.session_cpu_ns()).map(|(before, now)| us(now, before)),
            client_cpu_us,
            others_cpu_us: 0.0,
        });
        self.paused_at = Some(done.at);
        self.count_window(Done { events: cold.events + done.events, ns: done.at.ns_since(start), ..done });
        self.publish(self.report.window_events);
        Ok(())
    }

    fn session_cpu_ns(&self) -> Option<u64> {
        let clocks = self.shared.session_clocks.get()?;
        clocks.get(self.number as usize).map(|clock| clock())
    }

    fn begin_window(&mut self) -> Moment {
        self.seed(1);
        let start = Moment::now();
        self.per_second = Seconds::new(start);
        start
    }

    /// Called at the end of the window, or of each slice of it.
    fn count_window(&mut self, done: Done) {
        self.report.window_events += done.events;
        self.report.window_s += done.ns as f64 / 1e9;
    }

    /// Counts what belongs to the window's last second, which it may have cut off.
    fn end_seconds(&mut self) {
        if self.per_second.current > 0 {
            let last = std::mem::take(&mut self.per_second.current);
            self.report.queries_each_second.push(last);
        }
    }

    /// Does the events of fixed work that the window left over.
    fn tail(&mut self) -> Result<(), Error> {
        self.end_seconds();
        let quota = self.shared.quota(self.number).unwrap_or(0);
        let left = quota.saturating_sub(self.report.window_events);
        if left == 0 {
            return Ok(());
        }
        // Nothing is counted here except removed rows.
        let discarded = self.shared.no_tallies.clone();
        let tallies = std::mem::replace(&mut self.report.tallies, discarded);
        let retries = std::mem::take(&mut self.report.retries);
        for _ in 0..left {
            if self.shared.control.aborted() {
                break;
            }
            let changed = self.report.tallies.changed_rows;
            self.event_with_retries(Moment::now())?;
            self.count_removed(changed);
            self.report.tail_events += 1;
        }
        self.report.tallies = tallies;
        self.report.retries = retries;
        Ok(())
    }

    /// Repeats events until the phase ends or the quota is reached.
    fn work(&mut self, until: Until, start: Moment) -> Result<Done, Error> {
        let quota = until.quota;
        let spec = self.shared.spec;
        let control = &self.shared.control;
        let progress = &control.progress[self.number as usize];
        let queries = u64::from(spec.test.queries_per_event());
        let removed_max = self.removed_rows_max().filter(|_| !matches!(spec.limit, Limit::Work(_)));
        let mut pacer = Pacer::new(spec.pace, self.number, spec.clients, start);
        let (mut events, mut now) = (0, start);
        while !control.phase_ended() {
            if quota.is_some_and(|quota| events >= quota) {
                if until.ends_phase {
                    control.end_phase();
                }
                break;
            }
            let mut due = None;
            if let Some(pacer) = &mut pacer {
                let at = pacer.next();
                let is_due = sleep_until(at, || control.phase_ended());
                // A client that waits for its next event works until the end of the phase.
                now = Moment::now();
                if !is_due {
                    break;
                }
                due = Some(at);
            }
            let wait = self.client.wait(&self.stream);
            if !wait.is_zero() {
                let has_waited = sleep_until(now + wait, || control.phase_ended());
                now = Moment::now();
                if !has_waited {
                    break;
                }
            }
            let changed = self.report.tallies.changed_rows;
            let sent = now;
            now = self.event_with_retries(sent)?;
            self.count_removed(changed);
            events += 1;
            progress.set(events);
            if let Some(histogram) = &mut self.report.event_ns {
                histogram.saturating_record(now.ns_since(sent));
            }
            if until.is_window {
                self.per_second.count(now, queries, &mut self.report.queries_each_second);
            }
            if let (Some(due), Some(histogram)) = (due, &mut self.report.scheduled_ns) {
                histogram.saturating_record(now.ns_since(due));
            }
            if removed_max.is_some_and(|max| self.report.removed_rows >= max) {
                self.report.removed_share = true;
                control.end_phase();
                break;
            }
        }
        Ok(Done { events, at: now, ns: now.ns_since(start) })
    }

    fn count_removed(&mut self, changed_before: u64) {
        if self.shared.spec.test.shrinks {
            self.report.removed_rows += self.report.tallies.changed_rows - changed_before;
        }
    }

    /// Runs one event; after a retryable error, rolls it back and retries it with the same draws.
    #[inline]
    fn event_with_retries(&mut self, sent: Moment) -> Result<Moment, Error> {
        let drawn = self.stream.clone();
        let mut sent = sent;
        let mut tries = 1;
        loop {
            let tallies = &mut self.report.tallies;
            match self.client.event(&mut self.stream, tallies, sent) {
                Ok(done) => return Ok(done),
                Err(error) if error.is_retryable() && tries < EVENT_TRIES_MAX => {
                    let state = error.sqlstate().unwrap_or("?").to_owned();
                    *self.report.retries.entry(state).or_default() += 1;
                    self.client.roll_back(&mut self.report.tallies)?;
                    if self.shared.control.aborted() {
                        return Err(error);
                    }
                    self.stream = drawn.clone();
                    tries += 1;
                    sent = Moment::now();
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn flush(&mut self) -> Result<(), Error> {
        match &self.shared.spec.flush {
            Some(flush) => self.client.run(&flush.sql),
            None => Ok(()),
        }
    }
}
