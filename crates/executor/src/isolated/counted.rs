//! Counts tests on one server that runs under an instrumenting program.
//!
//! A test runs a few events in one session and more in another. The difference of the sessions' instructions,
//! divided by the difference of their events, is the cost of one event: starting a session cancels out. If
//! sessions are threads of one process, only their windows are counted.
//!
//! A server that has just started writes an image of every page that it changes into its log; one that has
//! changed all pages since its last checkpoint writes none. Windows lie somewhere between, depending on their
//! events, tables and checkpoints, and the log that they wrote shows where. So writes are counted in both
//! states, and the result is the mixture that writes as much log per event as this arm's windows did in the
//! same block.

use super::BlockContext;
use super::block::{DRAWS_PER_BLOCK, draws_of};
use super::count::{self, WARM_ROWS_MAX};
use crate::arm::ActiveArm;
use crate::driver::{Driver, Job};
use crate::error::{Error, Result};
use crate::system::{Admin, PageImages};
use rqps_driver::Observer;
use rqps_model::{FixedWork, Metrics};
use rqps_plan::{Plan, StepDef};
use rqps_servers::{ThreadCounter, instrument};
use rqps_store::{Count, Measured, Observation, Placement, Run};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Most events of the short session: enough to choose query plans and fill caches.
const SHORT_EVENTS_MAX: u64 = 40;
/// One in this many events is counted with page images: windows write few of these.
const EVENTS_PER_DENSE: u64 = 4;
/// One uncounted write event per this many rows: the pages of an index that was built after a load are full,
/// the first insert splits each, and about ten events per page reach nearly all. Split pages stay so while
/// purge is held back.
const ROWS_PER_SPLIT_EVENT: u64 = 50;
/// Most uncounted write events for each counted one.
const SPLIT_EVENTS_MAX: u64 = 40;
const DOING: &str = "counting instructions";
/// How long a session's process may take to exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(30);
/// Log bytes per event with page images must exceed those without by this share, or the two cannot be told
/// apart.
const IMAGES_SHARE_MIN: f64 = 0.05;

/// One test's count on one arm.
pub(super) type Counted = Observation;

/// The count of a test that the program failed to count.
pub(super) fn not_counted(test: &StepDef, block: u32, context: &BlockContext<'_>) -> Counted {
    observation(test, (0, 0.0), block, context)
}

fn observation(
    test: &StepDef,
    (events, instructions): (u64, f64),
    block: u32,
    context: &BlockContext<'_>,
) -> Counted {
    let count = Count {
        test: test.name.clone(),
        group: test.group.key.to_string(),
        events,
        operations: events as f64 * test.operations_per_event,
        instructions,
        counted_by: context.counting.counted_by.clone().unwrap_or_default(),
    };
    let placement = Some(Placement { block, window: 0, slot: 0 });
    Observation { placement, ..Observation::new(Measured::Count(count)) }
}

/// What an event took in the windows of a block, by test and arm.
pub(super) struct InWindows(BTreeMap<(String, String), Event>);

/// Sums over windows.
#[derive(Default)]
struct Event {
    events: f64,
    /// `None` if the server does not report it.
    log_bytes: Option<f64>,
    cpu_us: f64,
}

impl InWindows {
    pub fn of(run: &Run, block: u32) -> Self {
        let mut sums: BTreeMap<(String, String), Event> = BTreeMap::new();
        let in_block = |at: Placement| at.block == block;
        let of_block = run.windows.iter().filter(|window| window.placement.is_some_and(in_block));
        for window in of_block.filter(|window| window.valid()) {
            let key = (window.action.step.clone(), window.action.arm.clone());
            let sum = sums.entry(key).or_default();
            sum.events += window.result.events.unwrap_or(0) as f64;
            sum.cpu_us += window.metric("server_cpu_us").unwrap_or(0.0);
            if let Some(bytes) = window.metric("server_wal_bytes") {
                sum.log_bytes = Some(sum.log_bytes.unwrap_or(0.0) + bytes);
            }
        }
        Self(sums)
    }

    fn get(&self, test: &str, arm: &str) -> Option<&Event> {
        self.0.get(&(test.to_owned(), arm.to_owned()))
    }

    fn log_bytes_per_event(&self, test: &str, arm: &str) -> Option<f64> {
        let sum = self.get(test, arm)?;
        Some(sum.log_bytes? / sum.events.max(1.0))
    }

    /// 0 if unknown.
    fn cpu_us_per_event(&self, test: &str, arm: &str) -> f64 {
        self.get(test, arm).map_or(0.0, |sum| sum.cpu_us / sum.events.max(1.0))
    }
}

/// One server that is counted.
pub(super) struct Lane<'a> {
    pub plan: &'a Plan,
    pub driver: &'a dyn Driver,
    pub arm: &'a ActiveArm,
    pub dir: &'a Path,
    pub stop: &'a AtomicBool,
    pub context: &'a BlockContext<'a>,
    pub block: u32,
    pub in_windows: &'a InWindows,
    /// Sessions that ended so far, on all servers.
    pub sessions: &'a AtomicUsize,
}

/// Cost of a session or of an event.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    instructions: f64,
    /// 0 if the server does not report it.
    log_bytes: f64,
}

impl Cost {
    fn per_event(self, events: f64) -> Self {
        Self { instructions: self.instructions / events, log_bytes: self.log_bytes / events }
    }
}

impl Lane<'_> {
    /// Counts these tests, reads first. Writes are first counted with page images, each test after a
    /// checkpoint of its own; then images are turned off for the rest of the server's life.
    pub fn count(&self, tests: &[&StepDef]) -> Result<Vec<Counted>> {
        let mut admin = self.arm.admin(DOING)?;
        let admin = &mut *admin;
        let wire = |error| Error::session(&self.arm.name, DOING)(error);
        let (writes, reads): (Vec<&StepDef>, Vec<_>) = tests.iter().copied().partition(|test| test.writes);
        let mut counted = Vec::new();
        for test in reads {
            counted.extend(self.count_test(admin, test, None)?);
        }
        if !writes.is_empty() {
            admin.pause_cleanup(&self.arm.name)?;
        }
        let mut dense: BTreeMap<&str, Cost> = BTreeMap::new();
        for test in writes.iter().filter(|test| self.events(test) > 0) {
            if admin.page_images(PageImages::Dense).map_err(wire)? {
                let events = self.dense_events(test);
                let cost = self.session(admin, test, (3, events))?;
                dense.insert(&test.name, cost.per_event(events as f64));
            }
        }
        if !dense.is_empty() && !admin.page_images(PageImages::Bare).map_err(wire)? {
            return Ok(counted);
        }
        for test in writes {
            counted.extend(self.count_test(admin, test, dense.get(test.name.as_str()))?);
        }
        Ok(counted)
    }

    /// As many as were chosen on base, or fewer if an event takes this arm longer; 0 if counting one takes minutes.
    fn events(&self, test: &StepDef) -> u64 {
        let events = self.context.works.get(&test.name).map_or(1, |work| work.count_events);
        let cpu_us = self.in_windows.cpu_us_per_event(&test.name, &self.arm.name);
        count::events_of_arm(events, cpu_us)
    }

    /// Events of the session that is counted with page images.
    fn dense_events(&self, test: &StepDef) -> u64 {
        self.events(test).div_ceil(EVENTS_PER_DENSE) + SHORT_EVENTS_MAX
    }

    /// Counts a test. `None` if that would take too long, or the long session did not execute more than the short one:
    /// their threads could not be told from others. Also `None` if there is a count with page images and the windows'
    /// log is unknown.
    fn count_test(
        &self,
        admin: &mut dyn Admin,
        test: &StepDef,
        dense: Option<&Cost>,
    ) -> Result<Option<Counted>> {
        let events = self.events(test);
        if events == 0 {
            return Ok(None);
        }
        let short_events = (events / 4).clamp(1, SHORT_EVENTS_MAX);
        let long_events = short_events + events;
        // The long session of a read begins with the short one's draws, so that exactly the rest is counted.
        // A write would find its own changes.
        let draws = if test.writes { [1, 2] } else { [1, 1] };
        if !test.writes && self.plan.work.rows_per_table() > WARM_ROWS_MAX {
            // Brings the pages into the server's memory, as in windows.
            self.session(admin, test, (draws[1], long_events))?;
        }
        if test.writes && !self.arm.system.session_is_a_process() {
            let split_events = self.plan.work.rows_total() / ROWS_PER_SPLIT_EVENT;
            let mut observer = SessionFinder { pid: 0, threads: None, arm: self.arm, stop: self.stop };
            self.run(admin, test, (4, split_events.clamp(1, events * SPLIT_EVENTS_MAX)), &mut observer)?;
        }
        let short = self.session(admin, test, (draws[0], short_events))?;
        let long = self.session(admin, test, (draws[1], long_events))?;
        if long.instructions <= short.instructions {
            return Ok(None);
        }
        let bare = Cost {
            instructions: (long.instructions - short.instructions) / events as f64,
            log_bytes: long.log_bytes / long_events as f64,
        };
        let Some(dense) = dense else {
            return Ok(Some(self.counted(test, bare.instructions, Metrics::new())));
        };
        let Some(in_windows) = self.in_windows.log_bytes_per_event(&test.name, &self.arm.name) else {
            return Ok(None);
        };
        // `dense` still contains the start of a session.
        let start = short.instructions - short_events as f64 * bare.instructions;
        let dense =
            Cost { instructions: dense.instructions - start / self.dense_events(test) as f64, ..*dense };
        let share = dense_share(dense.log_bytes, bare.log_bytes, in_windows);
        let total = events as f64;
        let metrics = [
            ("count_dense_share", share),
            ("count_dense_instructions", dense.instructions * total),
            ("count_bare_instructions", bare.instructions * total),
            ("count_dense_wal_bytes", dense.log_bytes * total),
            ("count_bare_wal_bytes", bare.log_bytes * total),
        ];
        let metrics = metrics.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let per_event = bare.instructions + share * (dense.instructions - bare.instructions);
        Ok(Some(self.counted(test, per_event, metrics)))
    }

    fn counted(&self, test: &StepDef, instructions_per_event: f64, metrics: Metrics) -> Counted {
        let events = self.events(test);
        let counted = (events, instructions_per_event * events as f64);
        Observation { metrics, ..observation(test, counted, self.block, self.context) }
    }

    /// Runs a session of this many events. Counts the instructions of its process from start to exit, or of
    /// its thread in the window, and the log written.
    fn session(&self, admin: &mut dyn Admin, test: &StepDef, (draws, events): (u32, u64)) -> Result<Cost> {
        let log_bytes =
            |admin: &mut dyn Admin| admin.log_bytes().map_err(Error::session(&self.arm.name, DOING));
        let before = log_bytes(admin)?;
        let instructions = self.instructions(admin, test, (draws, events))? as f64;
        let log_bytes = log_bytes(admin)?.zip(before).map_or(0.0, |(after, before)| after - before);
        Ok(Cost { instructions, log_bytes })
    }

    fn run(
        &self,
        admin: &mut dyn Admin,
        test: &StepDef,
        (draws, events): (u32, u64),
        observer: &mut SessionFinder<'_>,
    ) -> Result<()> {
        let step = StepDef { clients: 1, ..test.clone() };
        let work = FixedWork { warmup: vec![0], window: vec![events] };
        let draws = draws_of(self.block, DRAWS_PER_BLOCK - draws);
        let job = Job { yields_cpu: true, ..Job::of_work(self.plan, &step, draws, work) };
        let mut window = self.driver.prepare(job, self.arm, admin)?;
        let failed = |source| Error::Step { arm: self.arm.name.clone(), step: step.name.clone(), source };
        window.run(observer).map_err(failed)?;
        self.sessions.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn instructions(
        &self,
        admin: &mut dyn Admin,
        test: &StepDef,
        (draws, events): (u32, u64),
    ) -> Result<u64> {
        let not_counted = || Error::NotCounted { arm: self.arm.name.clone(), step: test.name.clone() };
        let threads = match self.arm.system.session_is_a_process() {
            true => None,
            false => {
                let pid = self.arm.instance.pid().ok_or_else(not_counted)?;
                Some(SessionThread::new(ThreadCounter::new(self.dir, pid)?))
            }
        };
        let mut observer = SessionFinder { pid: 0, threads, arm: self.arm, stop: self.stop };
        let ran = self.run(admin, test, (draws, events), &mut observer);
        if let Some(thread) = observer.threads {
            // A session is cancelled because of it.
            let counted = thread.counted?;
            ran?;
            return counted.ok_or_else(not_counted);
        }
        ran?;
        let since = Instant::now();
        loop {
            if let Some(instructions) = instrument::instructions_of(self.dir, observer.pid)? {
                return Ok(instructions);
            }
            if since.elapsed() > EXIT_TIMEOUT || self.stop.load(Ordering::Relaxed) {
                return Err(not_counted());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The share of events with page images that explains the log bytes per event of windows, from 0 to 1.
fn dense_share(dense: f64, bare: f64, in_windows: f64) -> f64 {
    if dense <= bare * (1.0 + IMAGES_SHARE_MIN) {
        // Events that write next to no images.
        return 0.0;
    }
    ((in_windows - bare) / (dense - bare)).clamp(0.0, 1.0)
}

/// Counts the thread that serves a session.
struct SessionThread {
    counter: ThreadCounter,
    /// Valgrind's number of the thread, if the server reports which thread it is.
    number: Option<u32>,
    counted: Result<Option<u64>>,
}

impl SessionThread {
    fn new(counter: ThreadCounter) -> Self {
        Self { counter, number: None, counted: Ok(None) }
    }

    fn begin(&mut self, arm: &ActiveArm, session: u32) -> Result<()> {
        let known = arm.admin("counting instructions")?.served_by(&[session])?;
        if let Some(&thread) = known.first().filter(|thread| **thread != 0) {
            self.number = self.counter.number_of(thread)?;
        }
        Ok(self.counter.begin()?)
    }

    /// Without a known thread, takes the one that executed most: this server has no other clients.
    fn end(&mut self) {
        if self.counted.is_ok() {
            self.counted = self.counter.end().map_err(Error::from).map(|counts| match self.number {
                Some(number) => counts.get(&number).copied(),
                None => counts.values().copied().max(),
            });
        }
    }
}

/// Finds the process or thread that serves the session.
struct SessionFinder<'a> {
    pid: u32,
    threads: Option<SessionThread>,
    arm: &'a ActiveArm,
    stop: &'a AtomicBool,
}

impl Observer for SessionFinder<'_> {
    fn window_opens(&mut self, sessions: &[u32]) {
        self.pid = sessions.first().copied().unwrap_or(0);
        if let Some(thread) = &mut self.threads
            && let Err(error) = thread.begin(self.arm, self.pid)
        {
            thread.counted = Err(error);
        }
    }

    fn window_closes(&mut self) {
        if let Some(thread) = &mut self.threads {
            thread.end();
        }
    }

    fn statistics_complete(&mut self) {}

    fn progress(&mut self, _phase: &'static str, _elapsed_s: f64, _events: u64) {}

    fn cancelled(&mut self) -> bool {
        let is_uncounted = || self.threads.as_ref().is_some_and(|thread| thread.counted.is_err());
        self.stop.load(Ordering::Relaxed) || is_uncounted()
    }

    fn end_statements(&mut self) {
        self.arm.instance.end_statements();
    }

    fn force(&mut self) {
        if let Some(handle) = self.arm.instance.handle() {
            handle.kill();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_images_follows_from_the_log_of_windows() {
        let near = |share: f64, expected: f64| assert!((share - expected).abs() < 1e-9, "{share}");
        near(dense_share(20_300.0, 300.0, 300.0), 0.0);
        near(dense_share(20_300.0, 300.0, 2_300.0), 0.1);
        near(dense_share(20_300.0, 300.0, 290.0), 0.0);
        near(dense_share(20_300.0, 300.0, 25_000.0), 1.0);
        near(dense_share(301.0, 300.0, 2_300.0), 0.0);
    }
}
