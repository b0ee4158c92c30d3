//! Counting instructions where the host has no counters for them: each arm's server runs under an instrumenting
//! program, and each test runs a few events and then more in sessions of their own. The difference of the two
//! sessions' instructions, over the difference of their events, is what one event costs: starting a session cancels.
//! Where sessions are threads of one process, only their windows are counted.
//!
//! Counts don't depend on what else the machine does, so arms are counted at the same time.

use super::block::{Visit, window_step};
use super::data::{Seat, warm};
use super::{Blocks, Hand};
use crate::adapter::adapter;
use crate::arm::ActiveArm;
use crate::error::{Error, Result};
use crate::outside::Outside;
use rqps_driver::{Limit, Observer, Warmup, Work};
use rqps_plan::isolated::BlockPlan;
use rqps_plan::{Measure, Plan};
use rqps_servers::{Instrument, ThreadCounter, instrument};
use rqps_store::{Count, Measured, Observation, Placement};
use rqps_workloads::{RateUnit, Test};
use std::path::Path;
use std::time::{Duration, Instant};

/// CPU time that the counted events of a test take the server where nothing instruments it; under valgrind some thirty
/// times as much. A session's own instructions vary by about 20,000 from start to start; in this time there are some 40
/// million.
const NATIVE_CPU_US: f64 = 12_000.0;
/// A test whose single event takes more CPU time is not counted: its sessions would take minutes each.
const NATIVE_CPU_US_MAX: f64 = 1_000_000.0;
/// Rows of a table that are read before its server counts; the instrumenting program reads some thirty times slower.
const WARM_ROWS_MAX: u64 = 300_000;
/// Events of the shorter session: enough for a session to have chosen its plans and filled its caches.
const SHORT_MAX: u64 = 40;
/// Servers that are counted at the same time. More than there are CPUs keeps these busy while sessions begin and end.
const LANES_MAX: usize = 4;
/// How long a session's process may take to end.
const EXIT_MOST: Duration = Duration::from_secs(30);

/// Where instructions come from.
pub(super) struct Source {
    /// What a run keeps of it.
    pub text: String,
    /// The program that counts, where one does.
    counted_by: Option<String>,
}

/// The best source that this host has.
pub(super) fn source(plan: &Plan) -> Source {
    let wanted = plan.blocks().count_instructions;
    let without = |text: String| Source { text, counted_by: None };
    match rqps_probe::counts_instructions() {
        Ok(()) => without("hardware counters of the processor".to_owned()),
        Err(why) if !wanted => without(format!("none, as the plan wants it ({why})")),
        Err(why) => match instrument::available() {
            Some(version) => {
                Source { text: format!("counted under {version} ({why})"), counted_by: Some(version) }
            }
            None => without(format!("none ({why}; valgrind, which could count them, is not installed)")),
        },
    }
}

/// Events that are counted of a test whose events take the server so much CPU time; 0 where that would take too long.
pub(super) fn events(cpu_us_per_event: f64, test: &Test) -> u64 {
    if cpu_us_per_event > NATIVE_CPU_US_MAX {
        return 0;
    }
    // A table does not run out of rows by being counted.
    let most = if test.shrinks { 1_000.0 } else { 20_000.0 };
    (NATIVE_CPU_US / cpu_us_per_event.max(1.0)).clamp(1.0, most).ceil() as u64
}

impl Blocks<'_> {
    /// Counts the tests of a block on all arms, but for those whose cost is decided.
    pub(super) fn count(
        &mut self,
        drawn: &BlockPlan,
        hand: &Hand<'_>,
        outside: &mut Outside<'_>,
    ) -> Result<()> {
        let counts = |test: &&'static Test| {
            let work = hand.works.get(test.name);
            work.is_some_and(|work| work.count_events > 0) && !hand.cost_decided.contains(test.name)
        };
        let tests: Vec<&'static Test> = drawn.tests.iter().map(|turns| turns.test).filter(counts).collect();
        if hand.counting.counted_by.is_none() || tests.is_empty() {
            return Ok(());
        }
        for some in drawn.starts.chunks(LANES_MAX) {
            // Files of counts are named by process: no two starts share a directory.
            let dir = self.place.counts_dir()?;
            let mut started = Vec::new();
            for (lane, &arm) in some.iter().enumerate() {
                Self::go_on(outside)?;
                outside.watcher.begins(
                    drawn.number,
                    &format!("block {}", drawn.number),
                    "counting instructions",
                );
                let side = drawn.sides[arm];
                let instrument = instrument_of(self.plan, arm, &dir);
                let seat = Seat { side, cpu_turn: lane as u32, instrument: Some(&instrument) };
                started.push(hand.data.start(self, arm, &seat, outside)?);
            }
            for (arm, counted) in self.count_lanes(started, (drawn.number, &tests), hand, &dir, outside)? {
                for Counted { observation, took_ms } in counted {
                    // Lanes run at the same time: each has its part of the time that passed.
                    self.keep_count(&arm, &observation, took_ms / some.len() as i64)?;
                }
            }
        }
        self.place.remove_counts()
    }

    /// A thread for each server.
    fn count_lanes(
        &self,
        started: Vec<ActiveArm>,
        (block, tests): (u32, &[&'static Test]),
        hand: &Hand<'_>,
        dir: &Path,
        outside: &Outside<'_>,
    ) -> Result<Vec<(String, Vec<Counted>)>> {
        let plan = self.plan;
        let stop = outside.stop;
        let one = |lane: usize, arm: &ActiveArm| -> Result<Vec<Counted>> {
            let _pinned = hand.data.pin(1, lane as u32)?;
            warm(arm, plan, WARM_ROWS_MAX)?;
            let lane = Lane { plan, arm, dir, stop, hand, block };
            tests.iter().filter_map(|test| lane.count(test).transpose()).collect()
        };
        let counted = std::thread::scope(|scope| {
            let one = &one;
            let numbered = started.iter().enumerate();
            let lanes: Vec<_> = numbered.map(|(lane, arm)| scope.spawn(move || one(lane, arm))).collect();
            let ended = lanes.into_iter().map(|lane| lane.join());
            ended
                .map(|lane| lane.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect::<Vec<_>>()
        });
        if outside.stopped() {
            return Err(Error::Interrupted);
        }
        let mut all = Vec::new();
        for (mut arm, counted) in started.into_iter().zip(counted) {
            all.push((
                arm.name.clone(),
                counted.map_err(|failure| arm.judge("counting instructions", failure))?,
            ));
            arm.server.stop_immediately();
        }
        Ok(all)
    }
}

/// One test's count on one arm.
struct Counted {
    observation: Observation,
    took_ms: i64,
}

/// One server that is counted.
struct Lane<'a> {
    plan: &'a Plan,
    arm: &'a ActiveArm,
    dir: &'a Path,
    stop: &'a std::sync::atomic::AtomicBool,
    hand: &'a Hand<'a>,
    block: u32,
}

impl Lane<'_> {
    /// None where the longer session did not execute more: the threads of the two were not told from others then.
    fn count(&self, test: &'static Test) -> Result<Option<Counted>> {
        let since = Instant::now();
        let wanted = self.hand.works.get(test.name).map_or(1, |work| work.count_events);
        let short = (wanted / 4).clamp(1, SHORT_MAX);
        let step = Measure { clients: 1, ..window_step(self.plan, test) };
        // Reads repeat the short session's draws at the head of the long one, so that only what comes after counts. A
        // write would find its own traces.
        let draws = if test.writes() { [1, 2] } else { [1, 1] };
        let few = self.session(&step, draws[0], short)?;
        let many = self.session(&step, draws[1], short + wanted)?;
        if many <= few {
            return Ok(None);
        }
        let operations = match test.rate_unit {
            RateUnit::Queries => wanted as f64 * f64::from(test.queries_per_event()),
            RateUnit::Rows => wanted as f64,
            RateUnit::KiloRows => wanted as f64 * self.plan.workload.rows as f64 / 1000.0,
        };
        let count = Count {
            test: test.name.to_owned(),
            group: test.group.key().to_owned(),
            events: wanted,
            operations,
            instructions: many as f64 - few as f64,
            counted_by: self.hand.counting.counted_by.clone().unwrap_or_default(),
        };
        let mut observation = Observation::new(Measured::Count(count));
        observation.placement = Some(Placement { block: self.block, window: 0, slot: 0 });
        Ok(Some(Counted { observation, took_ms: since.elapsed().as_millis() as i64 }))
    }

    /// Instructions of what served a session of so many events: a process from its start to its end, or a thread in
    /// the window.
    fn session(&self, step: &Measure, draws: u32, events: u64) -> Result<u64> {
        let work = Work { warmup: vec![0], window: vec![events] };
        let visit = Visit { window: draws, limit: Limit::Work(work), warmup: Warmup::Time(Duration::ZERO) };
        let spec = visit.spec((self.plan, step), self.arm.adapter.dialect());
        let threads = match self.arm.adapter.session_is_a_process() {
            true => None,
            false => Some(SessionThread::new(ThreadCounter::new(self.dir, self.arm.server.pid())?)),
        };
        let mut eyes = Backend { pid: 0, threads, arm: self.arm, stop: self.stop };
        let failed = |source| Error::Step { arm: self.arm.name.clone(), step: step.step.clone(), source };
        let (adapter, endpoint) = (self.arm.adapter, &self.arm.endpoint);
        adapter.run_step(&spec, endpoint, true, &mut eyes).map_err(failed)?;
        if let Some(thread) = eyes.threads {
            let counted = thread.counted?;
            return counted
                .ok_or_else(|| Error::NotCounted { arm: self.arm.name.clone(), step: step.step.clone() });
        }
        let since = Instant::now();
        loop {
            if let Some(instructions) = instrument::instructions_of(self.dir, eyes.pid)? {
                return Ok(instructions);
            }
            if since.elapsed() > EXIT_MOST {
                return Err(Error::NotCounted { arm: self.arm.name.clone(), step: step.step.clone() });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// What an arm's server is counted by.
fn instrument_of(plan: &Plan, arm: usize, dir: &Path) -> Instrument {
    let counts_dir = dir.to_owned();
    match adapter(plan.arms[arm].build.dbms).session_is_a_process() {
        true => Instrument::Valgrind { counts_dir },
        false => Instrument::ValgrindThreads { counts_dir },
    }
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
            self.counted = self.counter.take().map_err(Error::from).map(|counts| match self.number {
                Some(number) => counts.get(&number).copied(),
                None => counts.values().copied().max(),
            });
        }
    }
}

/// Learns which process or thread serves the session.
struct Backend<'a> {
    pid: u32,
    threads: Option<SessionThread>,
    arm: &'a ActiveArm,
    stop: &'a std::sync::atomic::AtomicBool,
}

impl Observer for Backend<'_> {
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
        self.arm.end_statements();
    }

    fn force(&mut self) {}
}
