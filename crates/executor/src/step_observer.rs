//! Observes a step: reads counters at both ends of its window, samples in between, and cancels it when the
//! user stops.

use crate::arm::ActiveArm;
use crate::control::RunControl;
use crate::debt::DebtSampler;
use crate::driver::{Job, WatchOptions};
use crate::error::{Error, Result};
use crate::observe::StepFindings;
use crate::system::Admin;
use rqps_driver::{Observer, StepError, StepResult};
use rqps_model::Counter;
use rqps_probe::counters::CounterSet;
use rqps_probe::{CpuClock, FlushProcedure, HostStart, Sampler, WindowCost, WindowProbe, WindowStart};
use rqps_servers::process_exists;
use rqps_store::now_ms;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the processes of ended sessions may take to exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// After this long without an event, checks whether the server's processes were stopped; again after the same
/// time.
const CHECK_PAUSED_AFTER: Duration = Duration::from_secs(8);

struct OpenWindow {
    probe: WindowProbe,
    start: WindowStart,
    /// Samples host and server every second; `None` if arms take turns.
    sampler: Option<Sampler>,
    /// CPU clocks of the sessions, if arms take turns.
    clocks: Vec<Arc<CpuClock>>,
}

pub(crate) struct StepObserver<'a, 'b> {
    admin: Box<dyn Admin>,
    arm: &'a mut ActiveArm,
    control: &'a RefCell<&'a mut RunControl<'b>>,
    options: WatchOptions,
    reads_counters: bool,
    /// Whether the instance stands still while other arms take their turns.
    freezes: bool,
    /// How sessions flush their statistics; `None` if the server always has them, or counters are not read.
    flush: Option<FlushProcedure>,
    /// When `admin` flushed its own statistics, if it did so before reading counters.
    flushed_at: Option<Instant>,
    /// OS ids of the processes or threads that serve the measured sessions.
    served_by: Vec<u32>,
    /// PID of the clients, if that is another process.
    client_pid: Option<u32>,
    /// The clients' threads, if arms take turns.
    client_threads: Option<Vec<u32>>,
    open: Option<OpenWindow>,
    /// The same for an instance without a process.
    open_of_host: Option<(HostStart, Sampler)>,
    /// Session for the debt sampler, until the window opens.
    debt_admin: Option<Box<dyn Admin>>,
    debt_sampler: Option<DebtSampler>,
    counters_before: Option<CounterSet>,
    cost: Option<WindowCost>,
    samples: Vec<rqps_probe::Column>,
    counters: Vec<Counter>,
    debt: Vec<f64>,
    started_at_ms: i64,
    /// The last progress: phase, number of events, and when they last changed.
    last_progress: (&'static str, u64, Instant),
    /// The first error of the observer itself: the step then has no result.
    error: Option<Error>,
}

impl<'a, 'b> StepObserver<'a, 'b> {
    /// Observes an arm's instance through `admin`, and freezes it while other arms take their turns if the job says so.
    pub fn new(
        admin: Box<dyn Admin>,
        arm: &'a mut ActiveArm,
        control: &'a RefCell<&'a mut RunControl<'b>>,
        options: WatchOptions,
        job: &Job<'_>,
    ) -> Result<Self> {
        let reads_counters = job.reads_counters;
        let debt_admin = options.debt.then(|| arm.admin("reading the debt")).transpose()?;
        Ok(Self {
            flush: admin.flush().filter(|_| reads_counters),
            flushed_at: None,
            reads_counters,
            freezes: job.freezes,
            admin,
            arm,
            control,
            options,
            served_by: Vec::new(),
            client_pid: None,
            client_threads: None,
            open: None,
            open_of_host: None,
            debt_admin,
            debt_sampler: None,
            counters_before: None,
            cost: None,
            samples: Vec::new(),
            counters: Vec::new(),
            debt: Vec::new(),
            started_at_ms: 0,
            last_progress: ("", 0, Instant::now()),
            error: None,
        })
    }

    /// Records an error if the server's processes were stopped: its clients would wait forever.
    fn check_paused(&mut self) {
        if self.last_progress.2.elapsed() < CHECK_PAUSED_AFTER {
            return;
        }
        self.last_progress.2 = Instant::now();
        if self.arm.instance.is_paused() {
            self.error.get_or_insert(Error::ServerPaused { arm: self.arm.name.clone() });
        }
    }

    fn keep_error<T>(&mut self, result: Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.error.get_or_insert(error);
                None
            }
        }
    }

    fn open_window(&mut self, sessions: &[u32]) -> Result<()> {
        self.served_by = self.admin.served_by(sessions)?;
        let target = self.arm.target(&mut *self.admin)?;
        if self.reads_counters {
            self.counters_before = Some(self.counters_now()?);
        }
        self.started_at_ms = now_ms();
        if let Some(target) = target {
            let perf = self.arm.perf.clone();
            let mut probe = WindowProbe::new(target, self.served_by.clone(), perf.clone());
            if let Some(pid) = self.client_pid {
                probe = probe.client(pid);
            }
            let (clocks, sampler) = match self.client_threads.take() {
                Some(threads) => (probe.in_turns(threads)?, None),
                None => (Vec::new(), Some(Sampler::start(perf)?)),
            };
            let start = probe.begin()?;
            self.open = Some(OpenWindow { probe, start, sampler, clocks });
        } else {
            self.open_of_host = Some((HostStart::now()?, Sampler::start(None)?));
        }
        self.debt_sampler = self.debt_admin.take().map(DebtSampler::start).transpose()?;
        Ok(())
    }

    /// The server's counters after all measured sessions have flushed their statistics; `admin` does so last.
    fn counters_now(&mut self) -> Result<CounterSet> {
        if let Some(flush) = self.flush {
            if self.flushed_at.is_none() {
                self.flush_admin(flush)?;
            }
            let since = self.flushed_at.take().map(|at| at.elapsed()).unwrap_or_default();
            std::thread::sleep(Duration::from_millis(flush.settle_ms).saturating_sub(since));
        }
        self.admin.counters()
    }

    /// Flushes the statistics of `admin`, which are counted too.
    fn flush_admin(&mut self, flush: FlushProcedure) -> Result<()> {
        let doing = "flushing statistics";
        self.admin.query(flush.session_sql).map_err(Error::session(&self.arm.name, doing))?;
        self.flushed_at = Some(Instant::now());
        Ok(())
    }

    fn close_window(&mut self) -> Result<()> {
        if let Some(window) = self.open.take() {
            self.cost = Some(window.probe.end(&window.start)?);
            if let Some(sampler) = window.sampler {
                self.samples = sampler.stop()?.columns();
            }
        }
        if let Some((start, sampler)) = self.open_of_host.take() {
            self.cost = Some(start.end()?);
            self.samples = sampler.stop()?.columns();
        }
        self.debt = self.debt_sampler.take().map(DebtSampler::stop).unwrap_or_default();
        Ok(())
    }

    fn read_counters(&mut self) -> Result<()> {
        let Some(before) = self.counters_before.take() else { return Ok(()) };
        if self.flush.is_some() && !self.options.has_tail {
            wait_for_exit(&self.served_by);
        }
        let after = self.counters_now()?;
        self.counters = CounterSet::difference(&before, &after);
        Ok(())
    }
}

/// Waits until the processes of ended sessions have exited, which flushes their statistics. Asking the server
/// whether they are gone would be counted.
fn wait_for_exit(pids: &[u32]) {
    let start = Instant::now();
    while pids.iter().any(|pid| process_exists(*pid)) && start.elapsed() < EXIT_TIMEOUT {
        std::thread::sleep(Duration::from_millis(2));
    }
}

impl Observer for StepObserver<'_, '_> {
    fn client_process(&mut self, pid: u32) {
        self.client_pid = Some(pid);
    }

    fn client_threads(&mut self, threads: &[u32]) {
        self.client_threads = Some(threads.to_vec());
    }

    fn session_clocks(&mut self) -> Vec<rqps_driver::CpuClock> {
        let clock = |clock: &Arc<CpuClock>| -> rqps_driver::CpuClock {
            let clock = Arc::clone(clock);
            Arc::new(move || clock.ns())
        };
        self.open.iter().flat_map(|window| &window.clocks).map(clock).collect()
    }

    fn turn_begins(&mut self) {
        if self.freezes {
            self.arm.instance.thaw();
        }
    }

    fn turn_ends(&mut self) {
        if self.freezes {
            let frozen = self.arm.instance.freeze();
            self.keep_error(frozen.map_err(Error::from));
        }
    }

    fn slice_begins(&mut self) {
        let began = self.open.as_mut().map(|window| window.probe.slice_begins());
        self.keep_error(began.transpose().map_err(Error::from));
    }

    fn slice_ends(&mut self) -> f64 {
        let ended = self.open.as_mut().map(|window| window.probe.slice_ends());
        self.keep_error(ended.transpose().map_err(Error::from)).flatten().unwrap_or(0.0)
    }

    fn sessions_ended(&mut self, sessions: &[u32]) {
        if self.flush.is_some() {
            wait_for_exit(sessions);
        }
    }

    fn sessions_handed_in(&mut self) {
        if let Some(flush) = self.flush {
            let flushed = self.flush_admin(flush);
            self.keep_error(flushed);
        }
    }

    fn window_opens(&mut self, sessions: &[u32]) {
        let opened = self.open_window(sessions);
        self.keep_error(opened);
    }

    fn window_closes(&mut self) {
        let closed = self.close_window();
        self.keep_error(closed);
    }

    fn statistics_complete(&mut self) {
        let read = self.read_counters();
        self.keep_error(read);
    }

    fn progress(&mut self, phase: &'static str, elapsed_s: f64, events: u64) {
        if (phase, events) != (self.last_progress.0, self.last_progress.1) {
            self.last_progress = (phase, events, Instant::now());
        }
        let (operations_per_event, unit) = self.options.progress;
        let rate = events as f64 * operations_per_event / elapsed_s.max(1e-3);
        let rate = (events > 0 && elapsed_s > 0.2).then_some((rate, &*unit.key));
        self.control.borrow_mut().progress.action_progress(phase, elapsed_s, rate);
    }

    fn cancelled(&mut self) -> bool {
        self.check_paused();
        self.control.borrow().stopped() || self.error.is_some()
    }

    fn end_statements(&mut self) {
        self.arm.instance.end_statements();
    }

    fn force(&mut self) {
        self.arm.instance.end_now();
    }
}

impl StepObserver<'_, '_> {
    /// The findings of the step, or why it has none.
    pub fn into_findings(
        self,
        step: &str,
        outcome: std::result::Result<StepResult, StepError>,
    ) -> Result<StepFindings> {
        let result = match (outcome, self.error) {
            // The observer's own error has cancelled the step.
            (Ok(_) | Err(StepError::Cancelled), Some(error)) => return Err(error),
            (Err(StepError::Cancelled), None) => return Err(Error::Interrupted),
            (Err(source), _) => {
                return Err(Error::Step { arm: self.arm.name.clone(), step: step.to_owned(), source });
            }
            (Ok(result), None) => result,
        };
        Ok(StepFindings {
            work: self.arm.system.work(&self.counters),
            cost: self.cost.unwrap_or_default(),
            samples: self.samples,
            counters: self.counters,
            debt: self.debt,
            started_at_ms: self.started_at_ms,
            result,
        })
    }
}
