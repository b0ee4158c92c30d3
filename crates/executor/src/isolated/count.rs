//! Counts instructions on hosts without hardware counters: each arm's server starts once more under an
//! instrumenting program. If the windows of a test have changed much of the tables, it starts on the data
//! that they left, so that counts see the moved rows, dead versions and free space that windows see; all
//! other tests share a start on the block's data. `counted.rs` counts tests on one server.
//!
//! Counts don't depend on the machine's load, so arms are counted at the same time. An arm that the program fails to
//! count is counted no more, and its cost is judged by CPU time, which its windows have anyway.

use super::counted::{Counted, InWindows, Lane, not_counted};
use super::data::{StartOptions, in_parallel};
use super::{BlockContext, Blocks};
use crate::arm::{ActiveArm, not_started};
use crate::control::RunControl;
use crate::error::Result;
use crate::passes::Servers;
use crate::system::System;
use rqps_plan::isolated::BlockPlan;
use rqps_plan::{Plan, StepDef};
use rqps_servers::{Instrument, instrument};
use rqps_store::Run;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Server CPU time that the counted events of a test would take without an instrument. Under valgrind they
/// take about seven times as much, plus half a second at the start of each session. A session's own
/// instructions vary by about 20,000 from start to start; this time has some 150 million.
const NATIVE_CPU_US: f64 = 25_000.0;
/// Fewest events of tests that draw keys: a single draw does not represent the test.
const EVENTS_MIN: f64 = 3.0;
/// Tests with more CPU time per event are not counted: their sessions would take minutes each.
const NATIVE_CPU_US_MAX: f64 = 1_000_000.0;
/// Tests with more CPU time per event are counted for one event only: it reads so many rows that the draw
/// hardly matters.
const NATIVE_CPU_US_ONCE: f64 = 200_000.0;
/// Most CPU time that an arm's counted events would take without an instrument: far more than base's.
const ARM_CPU_US_MAX: f64 = 2.0 * NATIVE_CPU_US_MAX;
/// Rows of each table that are read before counting; under the instrument, reading is about seven times
/// slower.
pub(super) const WARM_ROWS_MAX: u64 = 300_000;
/// Events of all windows of a test in a block, as a share of all rows, from which its tables count as
/// changed.
const AGED_SHARE: f64 = 0.1;
/// Servers that are counted at the same time. More servers than CPUs keep the CPUs busy while sessions begin
/// and end.
const LANES_MAX: usize = 4;

/// Where instruction counts come from.
pub(super) struct Source {
    /// Text for the run's method.
    pub text: String,
    /// The instrumenting program, if one is used.
    pub counted_by: Option<String>,
}

/// The best source of this host.
pub(super) fn source(plan: &Plan) -> Source {
    let wanted = plan.blocks().count_instructions;
    let without = |text: String| Source { text, counted_by: None };
    match rqps_probe::counts_instructions() {
        Ok(()) => without("hardware counters of the processor".to_owned()),
        Err(why) if !wanted => without(format!("none: {} ({why})", turned_off(plan))),
        Err(why) => match instrument::available() {
            Some(version) => {
                Source { text: format!("counted under {version} ({why})"), counted_by: Some(version) }
            }
            None => without(format!("none ({why}; install valgrind to count them)")),
        },
    }
}

/// Why a plan does without counting.
fn turned_off(plan: &Plan) -> String {
    match plan.blocks().counting_budget_s {
        Some(seconds) => {
            let minutes = (seconds / 60.0).ceil();
            format!("the budget is too short to count them; --budget {minutes:.0}m would do on a quiet host")
        }
        None => "turned off by the plan".to_owned(),
    }
}

/// Events to count of a test with this server CPU time per event; 0 if counting would take too long.
pub(super) fn events(cpu_us_per_event: f64, test: &StepDef) -> u64 {
    if cpu_us_per_event > NATIVE_CPU_US_MAX {
        return 0;
    }
    // Few enough deletes that tables do not run out of rows.
    let max = if test.shrinks { 1_000.0 } else { 20_000.0 };
    let min = if cpu_us_per_event > NATIVE_CPU_US_ONCE { 1.0 } else { EVENTS_MIN };
    (NATIVE_CPU_US / cpu_us_per_event.max(1.0)).clamp(min, max).ceil() as u64
}

/// Events to count on an arm on which one takes this CPU time: as many as on base, or fewer where that would take
/// minutes; 0 if one event would.
pub(super) fn events_of_arm(of_base: u64, cpu_us_per_event: f64) -> u64 {
    if of_base as f64 * cpu_us_per_event <= ARM_CPU_US_MAX {
        return of_base;
    }
    (ARM_CPU_US_MAX / cpu_us_per_event) as u64
}

impl Blocks<'_> {
    /// Whether a test's windows change enough of the tables that it is counted on the data they leave.
    pub(super) fn ages_tables(&self, test: &StepDef, context: &BlockContext<'_>) -> bool {
        let Some(work) = context.works.get(&test.name) else { return false };
        let events = (work.warmup_events + work.window_events) * u64::from(self.setup.plan.blocks().windows);
        test.writes && events as f64 >= AGED_SHARE * self.setup.plan.work.rows_total() as f64
    }

    /// Counts tests of a block on all arms: on the data of `measured`, servers that are stopped for it, or on
    /// the block's data. Skips tests whose cost is decided.
    pub(super) fn count(
        &mut self,
        (drawn, tests): (&BlockPlan, &[&StepDef]),
        mut measured: Option<Servers>,
        context: &BlockContext<'_>,
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        let is_counted = |test: &&StepDef| {
            let work = context.works.get(&test.name);
            work.is_some_and(|work| work.count_events > 0) && !context.cost_decided.contains(&test.name)
        };
        let tests: Vec<&StepDef> = tests.iter().copied().filter(is_counted).collect();
        if context.counting.counted_by.is_none() || tests.is_empty() {
            return Ok(());
        }
        let run = self.writer.run()?;
        let starts = self.countable(&uncounted(&run), &drawn.starts);
        if starts.is_empty() {
            return Ok(());
        }
        let began = Instant::now();
        let in_windows = InWindows::of(&run, drawn.number);
        let (mut all, mut failed) = (Vec::new(), Vec::new());
        for lanes in starts.chunks(LANES_MAX) {
            // Files of counts are named by PID, so each start gets an empty directory.
            let dir = self.setup.place.counts_dir()?;
            control.progress.action_started(
                &[drawn.number],
                &format!("block {}", drawn.number),
                "counting instructions",
            );
            let instruments: Vec<Instrument> =
                lanes.iter().map(|&arm| instrument_of(self.setup.ingredients[arm].system, &dir)).collect();
            let mut arms = Vec::new();
            for ((lane, &arm), instrument) in (0..).zip(lanes).zip(&instruments) {
                control.check()?;
                let server = measured.as_mut().and_then(|servers| servers.take(arm));
                let reuses_data = server.map(|server| stop(server, control)).transpose()?.is_some();
                let instrument = Some(instrument);
                let (side, load, copy) = (drawn.sides[arm], drawn.load, drawn.copies[arm]);
                arms.push((arm, StartOptions { side, cpu_turn: lane, load, copy, instrument, reuses_data }));
            }
            let started = context.data.start_together(self, &arms, control)?;
            let of_block = (drawn.number, &*tests, &in_windows);
            for (arm, counted) in self.count_lanes(started, of_block, context, &dir, control)? {
                match counted {
                    Ok(counted) => all.push((arm, counted)),
                    Err(error) => failed.push((arm, error)),
                }
            }
        }
        self.setup.place.remove_counts()?;
        let counted: usize = all.iter().map(|(_, of_arm)| of_arm.len()).sum();
        // Lanes run in parallel: the elapsed time is split evenly over the counts.
        let took_ms = began.elapsed().as_millis() as i64 / counted.max(1) as i64;
        for (arm, of_arm) in &all {
            of_arm.iter().try_for_each(|observation| self.keep_count((arm, None), observation, took_ms))?;
        }
        let Some((first, error)) = failed.first() else { return Ok(()) };
        let names: Vec<&str> = failed.iter().map(|(arm, _)| &**arm).collect();
        let has_counts = !self.countable(&names.iter().copied().collect(), &starts).is_empty();
        let of = if has_counts { format!("of {} ", names.join(", ")) } else { String::new() };
        let text = format!(
            "instructions of {} are not counted: {}; costs {of}are judged by CPU time",
            names.join(", "),
            error.short_text_of(first)
        );
        control.progress.note(&text);
        self.writer.add_note(None, &text)?;
        for (arm, error) in &failed {
            for test in &tests {
                let none = not_counted(test, drawn.number, context);
                self.keep_count((arm, Some(error.short_text_of(arm))), &none, took_ms)?;
            }
        }
        Ok(())
    }

    /// Those arms of a block that are to be counted if some cannot be: none if that is base, the control or every
    /// candidate, since counts are compared with theirs.
    fn countable(&self, uncounted: &BTreeSet<&str>, starts: &[usize]) -> Vec<usize> {
        let (arms, base) = (&self.setup.plan.arms, self.setup.plan.base_index());
        let is_counted = |arm: &usize| !uncounted.contains(&*arms[*arm].name);
        let is_candidate = |arm: &usize| *arm != base && !arms[*arm].control;
        let counted: Vec<usize> = starts.iter().copied().filter(is_counted).collect();
        let lacks_base = starts.iter().any(|arm| !is_candidate(arm) && !is_counted(arm));
        if lacks_base || !counted.iter().any(is_candidate) { Vec::new() } else { counted }
    }

    /// Counts on each server in a thread of its own.
    fn count_lanes(
        &self,
        started: Vec<ActiveArm>,
        (block, tests, in_windows): (u32, &[&StepDef], &InWindows),
        context: &BlockContext<'_>,
        dir: &Path,
        control: &mut RunControl<'_>,
    ) -> Result<Vec<(String, Result<Vec<Counted>>)>> {
        let (plan, driver) = (&self.setup.plan, self.setup.driver);
        let (stop, sessions) = (control.stop, &AtomicUsize::new(0));
        let one = |lane: usize, arm: &ActiveArm| -> Result<Vec<Counted>> {
            let _pinned = context.data.pin(1, lane as u32)?;
            driver.warm(plan, arm, WARM_ROWS_MAX)?;
            let lane = Lane { plan, driver, arm, dir, stop, context, block, in_windows, sessions };
            lane.count(tests)
        };
        let one = &one;
        let lanes = started.iter().enumerate().map(|(lane, arm)| move || one(lane, arm));
        let counted = in_parallel(lanes, |elapsed_s| {
            let doing = format!("{} sessions in", sessions.load(Ordering::Relaxed));
            control.progress.action_progress(&doing, elapsed_s, None);
        });
        control.check()?;
        let mut all = Vec::new();
        for (mut arm, counted) in started.into_iter().zip(counted) {
            let counted = counted.map_err(|error| match error.is_unanswered() {
                true => error,
                false => arm.diagnose("counting instructions", error),
            });
            match counted {
                Err(error) if !error.is_of_counting() => return Err(error),
                counted => all.push((arm.name.clone(), counted)),
            }
            arm.instance.discard();
        }
        Ok(all)
    }
}

/// Arms that the program failed to count.
fn uncounted(run: &Run) -> BTreeSet<&str> {
    run.counts.iter().filter(|count| !count.valid()).map(|count| &*count.action.arm).collect()
}

/// Shuts a frozen server down cleanly, so that another one can start on its data.
fn stop(mut arm: ActiveArm, control: &RunControl<'_>) -> Result<()> {
    arm.instance.thaw();
    arm.instance.stop(control.stop).map_err(not_started(&arm.name, &arm.data_dir))
}

fn instrument_of(system: &dyn System, dir: &Path) -> Instrument {
    let counts_dir = dir.to_owned();
    match system.session_is_a_process() {
        true => Instrument::Valgrind { counts_dir },
        false => Instrument::ValgrindThreads { counts_dir },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_without_an_index_is_counted_by_fewer_events() {
        assert_eq!(events_of_arm(250, 100.0), 250);
        assert_eq!(events_of_arm(250, 2_500.0), 250, "25 times the time is counted all the same");
        assert_eq!(events_of_arm(250, 100_000.0), 20);
        assert_eq!(events_of_arm(1, 1_900_000.0), 1, "one event of a scan");
        assert_eq!(events_of_arm(3, 2_100_000.0), 0);
        assert_eq!(events_of_arm(250, 0.0), 250, "unknown");
    }
}
