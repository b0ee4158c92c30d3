//! What watches a step: counters at both ends of its window, samples in between, and the wish to end it.

use crate::arm::ActiveArm;
use crate::control::RunControl;
use crate::debt::DebtSampler;
use crate::driver::WatchOptions;
use crate::error::{Error, Result};
use crate::observe::StepFindings;
use crate::system::Admin;
use rqps_driver::{Observer, StepError, StepResult};
use rqps_model::Counter;
use rqps_probe::counters::CounterSet;
use rqps_probe::{CpuClock, FlushProcedure, Sampler, WindowCost, WindowProbe, WindowStart};
use rqps_store::now_ms;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long sessions may take to leave the server.
const LEAVE_MOST: Duration = Duration::from_secs(10);

/// After so long without an event it is looked whether the server's processes were stopped, and again.
const STILL_AFTER: Duration = Duration::from_secs(8);

/// What is known of an open window.
struct OpenWindow {
    probe: WindowProbe,
    start: WindowStart,
    /// Looks at host and server each second, where they work for one arm alone.
    sampler: Option<Sampler>,
    /// Clocks of the sessions, where arms take turns.
    clocks: Vec<Arc<CpuClock>>,
}

/// Watches a step: counters at both ends of the window, samples in between.
pub(crate) struct StepObserver<'a, 'b> {
    admin: Box<dyn Admin>,
    arm: &'a mut ActiveArm,
    control: &'a RefCell<&'a mut RunControl<'b>>,
    how: WatchOptions,
    reads_counters: bool,
    /// How sessions hand their statistics in; none where the server has them at any time, or nobody asks.
    flush: Option<FlushProcedure>,
    /// When the session that reads counters did so, where that was before it reads them.
    handed_in_at: Option<Instant>,
    /// The processes or threads that serve the sessions that are measured.
    sessions: Vec<u32>,
    /// The process of the clients, where that is not ours.
    client_pid: Option<u32>,
    /// The clients' threads, where arms take turns.
    client_threads: Option<Vec<u32>>,
    open: Option<OpenWindow>,
    /// A session that looks at the debt, until the window opens.
    debt_admin: Option<Box<dyn Admin>>,
    debt_sampler: Option<DebtSampler>,
    counters_before: Option<CounterSet>,
    cost: Option<WindowCost>,
    samples: Vec<rqps_probe::Column>,
    counters: Vec<Counter>,
    debt: Vec<f64>,
    started_at_ms: i64,
    /// The last event that was heard of: phase, number, when.
    heard: (&'static str, u64, Instant),
    /// The first thing that went wrong with the counters: the step then has no result.
    trouble: Option<Error>,
}

impl<'a, 'b> StepObserver<'a, 'b> {
    /// On an arm's instance, through this session, which is ready.
    pub fn new(
        admin: Box<dyn Admin>,
        arm: &'a mut ActiveArm,
        control: &'a RefCell<&'a mut RunControl<'b>>,
        how: WatchOptions,
        reads_counters: bool,
    ) -> Result<Self> {
        let debt_admin = how.debt.then(|| arm.admin("looking at the debt")).transpose()?;
        Ok(Self {
            flush: admin.flush().filter(|_| reads_counters),
            handed_in_at: None,
            reads_counters,
            admin,
            arm,
            control,
            how,
            sessions: Vec::new(),
            client_pid: None,
            client_threads: None,
            open: None,
            debt_admin,
            debt_sampler: None,
            counters_before: None,
            cost: None,
            samples: Vec::new(),
            counters: Vec::new(),
            debt: Vec::new(),
            started_at_ms: 0,
            heard: ("", 0, Instant::now()),
            trouble: None,
        })
    }

    /// Notes when the server stands still: its clients would wait for ever.
    fn look_whether_it_stands_still(&mut self) {
        if self.heard.2.elapsed() < STILL_AFTER {
            return;
        }
        self.heard.2 = Instant::now();
        if self.arm.instance.is_paused() {
            self.trouble.get_or_insert(Error::StandsStill { arm: self.arm.name.clone() });
        }
    }

    fn note_trouble<T>(&mut self, result: Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.trouble.get_or_insert(error);
                None
            }
        }
    }

    fn open_window(&mut self, sessions: &[u32]) -> Result<()> {
        self.sessions = self.admin.served_by(sessions)?;
        let target = self.arm.target(&mut *self.admin)?;
        if self.reads_counters {
            self.counters_before = Some(self.counters_now()?);
        }
        self.started_at_ms = now_ms();
        if let Some(target) = target {
            let perf = self.arm.perf.clone();
            let mut probe = WindowProbe::new(target, self.sessions.clone(), perf.clone());
            if let Some(pid) = self.client_pid {
                probe = probe.client(pid);
            }
            let (clocks, sampler) = match self.client_threads.take() {
                Some(threads) => (probe.in_turns(threads)?, None),
                None => (Vec::new(), Some(Sampler::start(perf)?)),
            };
            let start = probe.begin()?;
            self.open = Some(OpenWindow { probe, start, sampler, clocks });
        }
        self.debt_sampler = self.debt_admin.take().map(DebtSampler::start).transpose()?;
        Ok(())
    }

    /// The server's counters, once all sessions have handed theirs in; the last to do so is the one that asks.
    fn counters_now(&mut self) -> Result<CounterSet> {
        if let Some(flush) = self.flush {
            if self.handed_in_at.is_none() {
                self.hand_in(flush)?;
            }
            let since = self.handed_in_at.take().map(|at| at.elapsed()).unwrap_or_default();
            std::thread::sleep(Duration::from_millis(flush.settle_ms).saturating_sub(since));
        }
        self.admin.counters()
    }

    /// The session that reads counters is counted, too.
    fn hand_in(&mut self, flush: FlushProcedure) -> Result<()> {
        let doing = "handing statistics in";
        self.admin.query(flush.session_sql).map_err(Error::session(&self.arm.name, doing))?;
        self.handed_in_at = Some(Instant::now());
        Ok(())
    }

    fn close_window(&mut self) -> Result<()> {
        if let Some(window) = self.open.take() {
            self.cost = Some(window.probe.end(&window.start)?);
            if let Some(sampler) = window.sampler {
                self.samples = sampler.stop()?.columns();
            }
        }
        self.debt = self.debt_sampler.take().map(DebtSampler::stop).unwrap_or_default();
        Ok(())
    }

    fn read_counters(&mut self) -> Result<()> {
        let Some(before) = self.counters_before.take() else { return Ok(()) };
        if self.flush.is_some() && !self.how.owes_events {
            wait_for_sessions_to_leave(&self.sessions);
        }
        let after = self.counters_now()?;
        self.counters = CounterSet::difference(&before, &after);
        Ok(())
    }
}

/// Sessions that have ended hand in their statistics as their processes go. Asking the server whether
/// they have gone would be counted.
fn wait_for_sessions_to_leave(sessions: &[u32]) {
    let start = Instant::now();
    let is_there = |pid: &u32| Path::new(&format!("/proc/{pid}")).exists();
    while sessions.iter().any(is_there) && start.elapsed() < LEAVE_MOST {
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

    fn slice_begins(&mut self) {
        let began = self.open.as_mut().map(|window| window.probe.slice_begins());
        self.note_trouble(began.transpose().map_err(Error::from));
    }

    fn slice_ends(&mut self) -> f64 {
        let ended = self.open.as_mut().map(|window| window.probe.slice_ends());
        self.note_trouble(ended.transpose().map_err(Error::from)).flatten().unwrap_or(0.0)
    }

    fn sessions_ended(&mut self, sessions: &[u32]) {
        if self.flush.is_some() {
            wait_for_sessions_to_leave(sessions);
        }
    }

    fn sessions_handed_in(&mut self) {
        if let Some(flush) = self.flush {
            let handed_in = self.hand_in(flush);
            self.note_trouble(handed_in);
        }
    }

    fn window_opens(&mut self, sessions: &[u32]) {
        let opened = self.open_window(sessions);
        self.note_trouble(opened);
    }

    fn window_closes(&mut self) {
        let closed = self.close_window();
        self.note_trouble(closed);
    }

    fn statistics_complete(&mut self) {
        let read = self.read_counters();
        self.note_trouble(read);
    }

    fn progress(&mut self, phase: &'static str, elapsed_s: f64, events: u64) {
        if (phase, events) != (self.heard.0, self.heard.1) {
            self.heard = (phase, events, Instant::now());
        }
        let (operations_per_event, unit) = self.how.progress;
        let rate = events as f64 * operations_per_event / elapsed_s.max(1e-3);
        let rate = (events > 0 && elapsed_s > 0.2).then_some((rate, &*unit.key));
        self.control.borrow_mut().progress.action_progress(phase, elapsed_s, rate);
    }

    fn cancelled(&mut self) -> bool {
        self.look_whether_it_stands_still();
        self.control.borrow().stopped() || self.trouble.is_some()
    }

    fn end_statements(&mut self) {
        self.arm.instance.end_statements();
    }

    fn force(&mut self) {
        self.arm.instance.end_now();
    }
}

impl StepObserver<'_, '_> {
    /// Everything the step gave, or why it gave nothing.
    pub fn into_findings(
        mut self,
        step: &str,
        outcome: std::result::Result<StepResult, StepError>,
    ) -> Result<StepFindings> {
        let trouble = self.trouble.take();
        let result = match (outcome, trouble) {
            // The trouble is why it was cancelled.
            (Ok(_) | Err(StepError::Cancelled), Some(trouble)) => return Err(trouble),
            (Err(StepError::Cancelled), None) => return Err(Error::Interrupted),
            (Err(source), _) => {
                return Err(Error::Step { arm: self.arm.name.clone(), step: step.to_owned(), source });
            }
            (Ok(result), None) => result,
        };
        Ok(StepFindings {
            work: self.arm.system.work(&self.counters),
            cost: self.cost.take().unwrap_or_default(),
            samples: std::mem::take(&mut self.samples),
            counters: std::mem::take(&mut self.counters),
            debt: std::mem::take(&mut self.debt),
            started_at_ms: self.started_at_ms,
            result,
        })
    }
}
