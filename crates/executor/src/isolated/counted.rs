//! One test counted on one server that runs under an instrumenting program.
//!
//! The test runs a few events and then more in sessions of their own. The difference of the two sessions' instructions,
//! over the difference of their events, is what one event costs: starting a session cancels. Where sessions are threads
//! of one process, only their windows are counted.
//!
//! A server that has just started writes an image of every page that it changes into its log; one that has changed all
//! pages since its last checkpoint writes none. Windows lie between the two, wherever their events, their tables and
//! their checkpoints put them, and the log that they wrote tells where. So writes are counted in both states, and the
//! result is the mixture that writes as much log per event as this arm's windows did in the same block.

use super::block::{DRAWS_OF_A_BLOCK, draws_of};
use super::{BlockContext, count::WARM_ROWS_MAX};
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
use std::time::{Duration, Instant};

/// Events of the shorter session: enough for a session to have chosen its plans and filled its caches.
const SHORT_MAX: u64 = 40;
/// Part of a test's events that are counted with images of their pages: windows write few of these.
const DENSE_PART: u64 = 4;
/// An event that writes and is not counted for so many rows: pages of an index that was built after a load are full,
/// the first entry splits each, and some ten events for each page meet nearly all. Once split, they stay so while purge
/// is held back.
const ROWS_OF_A_SPLIT: u64 = 50;
/// Of these at most so many for each event that is counted.
const SPLITS_MAX: u64 = 40;
/// For what the server is asked.
const DOING: &str = "counting instructions";
/// How long a session's process may take to end.
const EXIT_MOST: Duration = Duration::from_secs(30);
/// Log per event with images of pages has to be above that without by this share for the two to be told apart.
const IMAGES_SHARE_MIN: f64 = 0.05;

/// One test's count on one arm.
pub(super) type Counted = Observation;

/// Log that the windows of a block wrote for each of their events, by test and arm.
pub(super) struct LogPerEvent(BTreeMap<(String, String), f64>);

impl LogPerEvent {
    pub fn of(run: &Run, block: u32) -> Self {
        let mut sums: BTreeMap<(String, String), (f64, f64)> = BTreeMap::new();
        let its = |at: &Placement| at.block == block;
        for window in run.windows.iter().filter(|window| window.placement.as_ref().is_some_and(its)) {
            if let (true, Some(bytes)) = (window.valid(), window.metric("server_wal_bytes")) {
                let key = (window.action.step.clone(), window.action.arm.clone());
                let (log_bytes, events) = sums.entry(key).or_default();
                (*log_bytes, *events) = (*log_bytes + bytes, *events + window.result.events as f64);
            }
        }
        let per_event = |(key, (bytes, events)): (_, (f64, f64))| (key, bytes / events.max(1.0));
        Self(sums.into_iter().map(per_event).collect())
    }

    fn of_windows(&self, test: &str, arm: &str) -> Option<f64> {
        self.0.get(&(test.to_owned(), arm.to_owned())).copied()
    }
}

/// One server that is counted.
pub(super) struct Lane<'a> {
    pub plan: &'a Plan,
    pub driver: &'a dyn Driver,
    pub arm: &'a ActiveArm,
    pub dir: &'a Path,
    pub stop: &'a std::sync::atomic::AtomicBool,
    pub context: &'a BlockContext<'a>,
    pub block: u32,
    pub log: &'a LogPerEvent,
}

/// What a session, or an event, took.
#[derive(Debug, Clone, Copy, Default)]
struct Took {
    instructions: f64,
    /// 0 where the server does not tell.
    log_bytes: f64,
}

impl Took {
    fn each_of(self, events: f64) -> Self {
        Self { instructions: self.instructions / events, log_bytes: self.log_bytes / events }
    }
}

impl Lane<'_> {
    /// Counts these tests, those that read first. Writes are first counted with images of pages, each after a
    /// checkpoint of its own; then images are turned off for the rest of the server's life.
    pub fn count(&self, tests: &[&StepDef]) -> Result<Vec<Counted>> {
        let mut admin = self.arm.admin(DOING)?;
        let admin = &mut *admin;
        let wire = |error| Error::session(&self.arm.name, DOING)(error);
        let (writes, reads): (Vec<&StepDef>, Vec<_>) = tests.iter().copied().partition(|test| test.writes);
        let mut counted = Vec::new();
        for test in reads {
            counted.extend(self.test(admin, test, None)?);
        }
        if !writes.is_empty() {
            admin.hold_cleaning(&self.arm.name)?;
        }
        let mut dense: BTreeMap<&str, Took> = BTreeMap::new();
        for test in &writes {
            if admin.page_images(PageImages::Dense).map_err(wire)? {
                let events = self.wanted(test).div_ceil(DENSE_PART) + SHORT_MAX;
                let took = self.session(admin, test, (3, events))?;
                dense.insert(&test.name, took.each_of(events as f64));
            }
        }
        if !dense.is_empty() && !admin.page_images(PageImages::Bare).map_err(wire)? {
            return Ok(counted);
        }
        for test in writes {
            counted.extend(self.test(admin, test, dense.get(test.name.as_str()))?);
        }
        Ok(counted)
    }

    fn wanted(&self, test: &StepDef) -> u64 {
        self.context.works.get(&test.name).map_or(1, |work| work.count_events)
    }

    /// None where the longer session did not execute more: the threads of the two were not told from others then. Nor
    /// where events come with images of pages, and it is not known how many of them windows wrote.
    fn test(&self, admin: &mut dyn Admin, test: &StepDef, dense: Option<&Took>) -> Result<Option<Counted>> {
        let wanted = self.wanted(test);
        let short = (wanted / 4).clamp(1, SHORT_MAX);
        // Reads repeat the short session's draws at the head of the long one, so that only what comes after counts. A
        // write would find its own traces.
        let draws = if test.writes { [1, 2] } else { [1, 1] };
        if !test.writes && self.plan.work.rows_per_table() > WARM_ROWS_MAX {
            // Their pages are in the server's memory then, as in windows.
            self.session(admin, test, (draws[1], short + wanted))?;
        }
        if test.writes && !self.arm.system.session_is_a_process() {
            let each_page = self.plan.work.rows_total() / ROWS_OF_A_SPLIT;
            let mut observer = SessionFinder { pid: 0, threads: None, arm: self.arm, stop: self.stop };
            self.run(admin, test, (4, each_page.clamp(1, wanted * SPLITS_MAX)), &mut observer)?;
        }
        let few = self.session(admin, test, (draws[0], short))?;
        let many = self.session(admin, test, (draws[1], short + wanted))?;
        if many.instructions <= few.instructions {
            return Ok(None);
        }
        let bare = Took {
            instructions: (many.instructions - few.instructions) / wanted as f64,
            log_bytes: many.log_bytes / (short + wanted) as f64,
        };
        let Some(dense) = dense else {
            return Ok(Some(self.counted(test, bare.instructions, Metrics::new())));
        };
        let Some(of_windows) = self.log.of_windows(&test.name, &self.arm.name) else {
            return Ok(None);
        };
        // What starting a session takes, which is in `dense` still.
        let start = few.instructions - short as f64 * bare.instructions;
        let events = (wanted.div_ceil(DENSE_PART) + SHORT_MAX) as f64;
        let dense = Took { instructions: dense.instructions - start / events, ..*dense };
        let share = dense_share(dense.log_bytes, bare.log_bytes, of_windows);
        let totals = wanted as f64;
        let metrics = [
            ("count_dense_share", share),
            ("count_dense_instructions", dense.instructions * totals),
            ("count_bare_instructions", bare.instructions * totals),
            ("count_dense_wal_bytes", dense.log_bytes * totals),
            ("count_bare_wal_bytes", bare.log_bytes * totals),
        ];
        let metrics = metrics.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let each = bare.instructions + share * (dense.instructions - bare.instructions);
        Ok(Some(self.counted(test, each, metrics)))
    }

    fn counted(&self, test: &StepDef, instructions_each: f64, metrics: Metrics) -> Counted {
        let events = self.wanted(test);
        let all = events as f64;
        let count = Count {
            test: test.test.clone(),
            group: test.group.key.to_string(),
            events,
            operations: all * test.operations_per_event,
            instructions: instructions_each * all,
            counted_by: self.context.counting.counted_by.clone().unwrap_or_default(),
        };
        let placement = Some(Placement { block: self.block, window: 0, slot: 0 });
        Observation { placement, metrics, ..Observation::new(Measured::Count(count)) }
    }

    /// A session of so many events: what served it executed, as a process from its start to its end or as a thread in
    /// the window, and wrote to the log.
    fn session(&self, admin: &mut dyn Admin, test: &StepDef, (draws, events): (u32, u64)) -> Result<Took> {
        let log_bytes =
            |admin: &mut dyn Admin| admin.log_bytes().map_err(Error::session(&self.arm.name, DOING));
        let before = log_bytes(admin)?;
        let instructions = self.instructions(admin, test, (draws, events))? as f64;
        let log_bytes = log_bytes(admin)?.zip(before).map_or(0.0, |(after, before)| after - before);
        Ok(Took { instructions, log_bytes })
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
        let draws = draws_of(self.block, DRAWS_OF_A_BLOCK - draws);
        let job = Job { gives_way: true, ..Job::of_work(self.plan, &step, draws, work) };
        let mut ready = self.driver.prepare(job, self.arm, admin)?;
        let failed = |source| Error::Step { arm: self.arm.name.clone(), step: step.name.clone(), source };
        ready.run(observer).map_err(failed).map(|_| ())
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
        self.run(admin, test, (draws, events), &mut observer)?;
        if let Some(thread) = observer.threads {
            return thread.counted?.ok_or_else(not_counted);
        }
        let since = Instant::now();
        loop {
            if let Some(instructions) = instrument::instructions_of(self.dir, observer.pid)? {
                return Ok(instructions);
            }
            if since.elapsed() > EXIT_MOST || self.stop.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(not_counted());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The share of events with images of pages that makes up the log of windows.
fn dense_share(dense: f64, bare: f64, of_windows: f64) -> f64 {
    if dense <= bare * (1.0 + IMAGES_SHARE_MIN) {
        // They are as good as one: events that write next to no images.
        return 0.0;
    }
    ((of_windows - bare) / (dense - bare)).clamp(0.0, 1.0)
}

/// Counts the thread that serves a session.
struct SessionThread {
    counter: ThreadCounter,
    /// Valgrind's number of it, where the server tells which thread it is.
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

    /// Where the server doesn't tell, it is the thread that did most: nobody else asks anything of this server.
    fn end(&mut self) {
        if self.counted.is_ok() {
            self.counted = self.counter.end().map_err(Error::from).map(|counts| match self.number {
                Some(number) => counts.get(&number).copied(),
                None => counts.values().copied().max(),
            });
        }
    }
}

/// Learns which process or thread serves the session.
struct SessionFinder<'a> {
    pid: u32,
    threads: Option<SessionThread>,
    arm: &'a ActiveArm,
    stop: &'a std::sync::atomic::AtomicBool,
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
        self.stop.load(std::sync::atomic::Ordering::Relaxed)
    }

    fn end_statements(&mut self) {
        self.arm.instance.end_statements();
    }

    fn force(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_log_says_how_many_images_they_wrote() {
        let near = |share: f64, wanted: f64| assert!((share - wanted).abs() < 1e-9, "{share}");
        near(dense_share(20_300.0, 300.0, 300.0), 0.0);
        near(dense_share(20_300.0, 300.0, 2_300.0), 0.1);
        near(dense_share(20_300.0, 300.0, 290.0), 0.0);
        near(dense_share(20_300.0, 300.0, 25_000.0), 1.0);
        near(dense_share(301.0, 300.0, 2_300.0), 0.0);
    }
}
