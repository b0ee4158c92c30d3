//! Counting instructions where the host has no counters for them: each arm's server starts once more under an
//! instrumenting program. Where the windows of a test have changed much of the tables, it starts on what they have
//! left, so that moved rows, dead versions and free space are what windows work with; all other tests share a start on
//! the block's data. How tests are counted on one server: `counted.rs`.
//!
//! Counts don't depend on what else the machine does, so arms are counted at the same time.

use super::counted::{Counted, Lane, LogPerEvent};
use super::data::{StartOptions, in_parallel, warm};
use super::{BlockContext, Blocks};
use crate::arm::{ActiveArm, not_started};
use crate::control::RunControl;
use crate::error::{Error, Result};
use crate::passes::Servers;
use crate::system::System;
use rqps_plan::isolated::BlockPlan;
use rqps_plan::{Plan, StepDef};
use rqps_servers::{Instrument, instrument};
use std::path::Path;
use std::time::Instant;

/// CPU time that the counted events of a test take the server where nothing instruments it; under valgrind some seven
/// times as much, and half a second at the start of each session. A session's own instructions vary by about 20,000
/// from start to start; in this time there are some 150 million.
const NATIVE_CPU_US: f64 = 25_000.0;
/// Fewest events, for tests that draw keys: what one draw costs stands for no test.
const EVENTS_MIN: f64 = 3.0;
/// A test whose single event takes more CPU time is not counted: its sessions would take minutes each.
const NATIVE_CPU_US_MAX: f64 = 1_000_000.0;
/// A test whose single event takes more CPU time gets no more than that one: it reads so many rows that its draws say
/// little.
const NATIVE_CPU_US_ONCE: f64 = 200_000.0;
/// Rows of a table that are read before its server counts; the instrumenting program reads some seven times slower.
pub(super) const WARM_ROWS_MAX: u64 = 300_000;
/// Events of all windows of a test in a block, as a share of the rows, from which on they have changed the tables.
const AGED_SHARE: f64 = 0.1;
/// Servers that are counted at the same time. More than there are CPUs keeps these busy while sessions begin and end.
const LANES_MAX: usize = 4;

/// Where instructions come from.
pub(super) struct Source {
    /// What a run keeps of it.
    pub text: String,
    /// The program that counts, where one does.
    pub counted_by: Option<String>,
}

/// The best source that this host has.
pub(super) fn source(plan: &Plan) -> Source {
    let wanted = plan.blocks().count_instructions;
    let without = |text: String| Source { text, counted_by: None };
    match rqps_probe::counts_instructions() {
        Ok(()) => without("hardware counters of the processor".to_owned()),
        Err(why) if !wanted => without(format!("none: the plan turns it off ({why})")),
        Err(why) => match instrument::available() {
            Some(version) => {
                Source { text: format!("counted under {version} ({why})"), counted_by: Some(version) }
            }
            None => without(format!("none ({why}; install valgrind to count them)")),
        },
    }
}

/// Events that are counted of a test whose events take the server so much CPU time; 0 where that would take too long.
pub(super) fn events(cpu_us_per_event: f64, test: &StepDef) -> u64 {
    if cpu_us_per_event > NATIVE_CPU_US_MAX {
        return 0;
    }
    // A table does not run out of rows by being counted.
    let most = if test.shrinks { 1_000.0 } else { 20_000.0 };
    let least = if cpu_us_per_event > NATIVE_CPU_US_ONCE { 1.0 } else { EVENTS_MIN };
    (NATIVE_CPU_US / cpu_us_per_event.max(1.0)).clamp(least, most).ceil() as u64
}

impl Blocks<'_> {
    /// Whether what a test's windows have left is another state than what they began with.
    pub(super) fn ages(&self, test: &StepDef, context: &BlockContext<'_>) -> bool {
        let Some(work) = context.works.get(&test.name) else { return false };
        let events = (work.warmup_events + work.window_events) * u64::from(self.setup.plan.blocks().windows);
        test.writes && events as f64 >= AGED_SHARE * self.setup.plan.work.rows_total() as f64
    }

    /// Counts tests of a block on all arms: on what the `left` servers have just left, which are stopped for it, or on
    /// the block's data. Not those whose cost is decided.
    pub(super) fn count(
        &mut self,
        (drawn, tests): (&BlockPlan, &[&StepDef]),
        mut left: Option<Servers>,
        context: &BlockContext<'_>,
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        let counts = |test: &&StepDef| {
            let work = context.works.get(&test.name);
            work.is_some_and(|work| work.count_events > 0) && !context.cost_decided.contains(&test.name)
        };
        let tests: Vec<&StepDef> = tests.iter().copied().filter(counts).collect();
        if context.counting.counted_by.is_none() || tests.is_empty() {
            return Ok(());
        }
        let began = Instant::now();
        let log = LogPerEvent::of(&self.writer.run()?, drawn.number);
        let mut all = Vec::new();
        for some in drawn.starts.chunks(LANES_MAX) {
            // Files of counts are named by process: no two starts share a directory.
            let dir = self.setup.place.counts_dir()?;
            control.progress.action_started(
                drawn.number,
                &format!("block {}", drawn.number),
                "counting instructions",
            );
            let instruments: Vec<Instrument> =
                some.iter().map(|&arm| instrument_of(self.setup.ingredients[arm].system, &dir)).collect();
            let mut arms = Vec::new();
            for ((lane, &arm), instrument) in (0..).zip(some).zip(&instruments) {
                Self::go_on(control)?;
                let as_left = left.as_mut().and_then(|servers| servers.take(arm));
                let as_left = as_left.map(|arm| stop(arm, control)).transpose()?.is_some();
                let instrument = Some(instrument);
                let side = drawn.sides[arm];
                arms.push((
                    arm,
                    StartOptions { side, cpu_turn: lane, load: drawn.load, instrument, as_left },
                ));
            }
            let started = context.data.start_together(self, &arms, control)?;
            all.extend(self.count_lanes(started, (drawn.number, &tests, &log), context, &dir, control)?);
        }
        self.setup.place.remove_counts()?;
        let counted: usize = all.iter().map(|(_, of_arm)| of_arm.len()).sum();
        // Lanes run at the same time: each count has its part of the time that passed.
        let took_ms = began.elapsed().as_millis() as i64 / counted.max(1) as i64;
        for (arm, of_arm) in &all {
            of_arm.iter().try_for_each(|observation| self.keep_count(arm, observation, took_ms))?;
        }
        Ok(())
    }

    /// A thread for each server.
    fn count_lanes(
        &self,
        started: Vec<ActiveArm>,
        (block, tests, log): (u32, &[&StepDef], &LogPerEvent),
        context: &BlockContext<'_>,
        dir: &Path,
        control: &RunControl<'_>,
    ) -> Result<Vec<(String, Vec<Counted>)>> {
        let (plan, driver) = (&self.setup.plan, self.setup.driver);
        let stop = control.stop;
        let one = |lane: usize, arm: &ActiveArm| -> Result<Vec<Counted>> {
            let _pinned = context.data.pin(1, lane as u32)?;
            warm(arm, plan, WARM_ROWS_MAX)?;
            let lane = Lane { plan, driver, arm, dir, stop, context, block, log };
            lane.count(tests)
        };
        let one = &one;
        let counted = in_parallel(started.iter().enumerate().map(|(lane, arm)| move || one(lane, arm)));
        if control.stopped() {
            return Err(Error::Interrupted);
        }
        let mut all = Vec::new();
        for (mut arm, counted) in started.into_iter().zip(counted) {
            all.push((
                arm.name.clone(),
                counted.map_err(|failure| arm.judge("counting instructions", failure))?,
            ));
            arm.instance.discard();
        }
        Ok(all)
    }
}

/// Stops a server that was held still, so that another one finds its data whole.
fn stop(mut arm: ActiveArm, control: &RunControl<'_>) -> Result<()> {
    arm.instance.thaw();
    arm.instance.stop(control.stop).map_err(not_started(&arm.name, &arm.data_dir))
}

/// What an arm's server is counted by.
fn instrument_of(system: &dyn System, dir: &Path) -> Instrument {
    let counts_dir = dir.to_owned();
    match system.session_is_a_process() {
        true => Instrument::Valgrind { counts_dir },
        false => Instrument::ValgrindThreads { counts_dir },
    }
}
