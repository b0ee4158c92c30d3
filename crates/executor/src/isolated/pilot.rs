//! The pilot finds the work of each test's windows: once, on base, and the same for every arm and block.
//!
//! A first window by time shows how many events fit into it. Windows of that many events follow while each is
//! cheaper than all before it by more than noise: their number gives the warm-up that a server needs after a
//! restart. The fastest of all tells how many events fit into a window.

use super::data::{Data, StartOptions, WARM_ROWS_MAX};
use super::{Blocks, count};
use crate::arm::ActiveArm;
use crate::control::RunControl;
use crate::driver::Job;
use crate::error::Result;
use crate::measure::measure;
use rqps_model::{Limit, Warmup, counted};
use rqps_plan::StepDef;
use rqps_store::{Measured, Observation, TestWork};
use std::collections::BTreeMap;
use std::time::Duration;

/// Most windows after the one by time.
const WINDOWS_MAX: u32 = 3;
/// Share by which a window must be cheaper than the best before it for the server to count as cold. User
/// instructions per event repeat well, CPU time doesn't.
const GAIN_INSTRUCTIONS: f64 = 0.001;
const GAIN_CPU: f64 = 0.05;
/// Warm-up before every window as a share of its events: each window has new sessions, whose caches are
/// empty.
const SESSION_WARMUP_SHARE: f64 = 0.1;
/// Fewest warm-up events of a session.
const SESSION_WARMUP_MIN: u64 = 10;
/// Differs from the draws of measured windows and profiles.
const PILOT_DRAWS: u32 = 1_000_000;
/// Longest window by time that a benchmark's fewest events may take.
const FEWEST_EVENTS_SECONDS_MAX: f64 = 10.0;
/// Shortest window by time: a shorter one would count too few events.
const PILOT_SECONDS_MIN: f64 = 0.2;

impl Blocks<'_> {
    /// The work of every test of the plan, from an earlier process or found now.
    pub(super) fn works(
        &mut self,
        data: &Data,
        control: &mut RunControl<'_>,
    ) -> Result<BTreeMap<String, TestWork>> {
        let run = self.writer.run()?;
        let mut works: BTreeMap<String, TestWork> =
            run.works.into_iter().map(|work| (work.test.clone(), work)).collect();
        let missing = self.setup.plan.workload.steps.iter().filter(|name| !works.contains_key(*name));
        let missing = missing.filter_map(|name| self.setup.plan.step(name));
        let (writes, reads): (Vec<StepDef>, Vec<StepDef>) = missing.partition(|step| step.writes);
        if reads.is_empty() && writes.is_empty() {
            return Ok(works);
        }
        control.progress.stage(&format!("sizing {} on base", counted(reads.len() + writes.len(), "test")));
        let base = self.setup.plan.base_index();
        let options = StartOptions::FIRST;
        let mut arm: Option<ActiveArm> = None;
        for test in reads.iter().chain(&writes) {
            control.check()?;
            if test.writes {
                arm = None;
            }
            let mut ready = match arm.take() {
                Some(ready) => ready,
                None => {
                    let started = data.start(self, base, options, control)?;
                    self.setup.driver.warm(&self.setup.plan, &started, WARM_ROWS_MAX)?;
                    started
                }
            };
            control.progress.action_started(&[], &ready.name, &format!("pilot {}", test.name));
            let work = self.work_of(test, &mut ready, data, control)?;
            self.writer.put_work(&work)?;
            works.insert(work.test.clone(), work);
            arm = (!test.writes).then_some(ready);
        }
        Ok(works)
    }

    fn work_of(
        &self,
        step: &StepDef,
        arm: &mut ActiveArm,
        data: &Data,
        control: &mut RunControl<'_>,
    ) -> Result<TestWork> {
        let seconds = self.setup.plan.window_seconds_of(&step.name).max(PILOT_SECONDS_MIN);
        let clients = u64::from(step.clients);
        let _pinned = data.pin(clients as u32, 0)?;
        let yields_cpu = data.session_cpus(clients as u32, 0).is_some();
        let mut run = |limit: Limit, warmup: Warmup, window: u32| {
            let job =
                Job { yields_cpu, ..Job::of(&self.setup.plan, step, PILOT_DRAWS + window, limit, warmup) };
            measure(arm, self.setup.driver, job, false, control)
        };
        let short = Duration::from_secs_f64((seconds * 0.3).min(1.0));
        let first = run(Limit::Time(Duration::from_secs_f64(seconds)), Warmup::Time(short), 0)?;
        let (first, invalid) = (first.observation, first.invalid);
        let events_by_time = events(&first);
        let planned_events = self.setup.plan.options_of(&step.name).events;
        let mut rate = rate_of(&first);
        let fewest = self.setup.plan.work.window_events_min();
        let fewest = fewest.min((rate * FEWEST_EVENTS_SECONDS_MAX) as u64).max(clients);
        let whole = |by_time: u64| planned_events.unwrap_or(by_time).max(fewest).div_ceil(clients) * clients;
        let tried_events = whole(events_by_time);
        let cpu_us = first.metrics.get("server_cpu_us").copied().unwrap_or(seconds * 1e6);
        let cpu_us_per_event = cpu_us / events_by_time as f64;
        let mut best = first;
        let mut cold_windows = 0;
        // Windows of a test that removes rows for good are not comparable.
        let windows_max = if step.shrinks { 0 } else { WINDOWS_MAX };
        for window in 1..=windows_max {
            let next = run(Limit::Events(tried_events), Warmup::Time(Duration::ZERO), window)?.observation;
            rate = rate.max(rate_of(&next));
            if !is_cheaper(&next, &best) {
                break;
            }
            cold_windows = window;
            best = next;
        }
        if let Some(why) = invalid {
            // So will be those of blocks, and there is still time to stop.
            control.progress.note(&format!("{} on {}: INVALID before any block: {why}", step.name, arm.name));
        }
        // Where the first window had cold caches, or others the CPU, more fits into the same time.
        let window_events = whole(events_by_time.max((rate * seconds) as u64));
        let session_events =
            ((window_events as f64 * SESSION_WARMUP_SHARE) as u64).max(SESSION_WARMUP_MIN * clients);
        // If an event takes about a second, one of them warms up all that there is.
        let session_events = session_events.min((rate * seconds).max(1.0) as u64).max(1);
        let warmup_events = session_events + u64::from(cold_windows) * tried_events / 2;
        let mut work = TestWork {
            test: step.name.clone(),
            warmup_events,
            window_events,
            slice_events: match self.setup.driver.takes_turns(step) {
                true => turn_events(rate, clients),
                false => 0,
            },
            count_events: count::events(cpu_us_per_event, step),
        };
        if step.shrinks {
            self.limit_removed_rows(&mut work, step.removed_share_max.unwrap_or(1.0));
        }
        Ok(work)
    }

    /// Reduces the work so that all windows of a block together remove no more than this share of the rows.
    fn limit_removed_rows(&self, work: &mut TestWork, share: f64) {
        let windows = self.setup.plan.blocks().windows;
        let rows = self.setup.plan.work.rows_total() as f64 * share;
        let max = (rows / f64::from(windows)) as u64;
        let all = work.warmup_events + work.window_events;
        if all > max {
            work.warmup_events = (work.warmup_events as f64 * max as f64 / all as f64) as u64;
            work.window_events = max.saturating_sub(work.warmup_events).max(1);
        }
    }
}

/// Length of a turn. What memory and caches give varies like a random walk, so ratios of shorter turns have smaller
/// errors. But their caches are colder, which all arms have in common: `points-covered-pk` takes 3 % more CPU time in
/// turns of 5 ms than in those of 10, and 24 % more in those of 2.5.
const TURN_SECONDS: f64 = 0.005;
/// Longest turn of long events that is made of several, so that the first, with cold caches, need not count.
const TURN_SECONDS_MAX: f64 = 0.01;
/// Fewest events of such a turn.
const TURN_EVENTS: f64 = 5.0;
/// Length with several clients: they wait for the slowest of them at the end of each turn.
const TURN_SECONDS_OF_SEVERAL: f64 = 0.05;

/// Events of a turn on each client; `rate` is that of all clients.
fn turn_events(rate: f64, clients: u64) -> u64 {
    let within = |seconds: f64| rate * seconds / clients as f64;
    let events = match clients {
        1 => within(TURN_SECONDS).max(TURN_EVENTS.min(within(TURN_SECONDS_MAX))),
        _ => within(TURN_SECONDS_OF_SEVERAL),
    };
    (events.round() as u64).max(1)
}

fn events(observation: &Observation) -> u64 {
    match &observation.measured {
        Measured::Window(window) => window.events.unwrap_or(0).max(1),
        _ => 1,
    }
}

/// Events per second.
fn rate_of(observation: &Observation) -> f64 {
    let elapsed_s = match &observation.measured {
        Measured::Window(window) => window.elapsed_s(),
        _ => 0.0,
    };
    events(observation) as f64 / elapsed_s.max(1e-3)
}

/// Whether an event was cheaper in `next` than in `best` by more than noise.
fn is_cheaper(next: &Observation, best: &Observation) -> bool {
    let per_event = |observation: &Observation, metric: &str| {
        observation.metrics.get(metric).map(|total| total / events(observation) as f64)
    };
    let is_below =
        |metric: &str, share: f64| Some(per_event(next, metric)? < per_event(best, metric)? * (1.0 - share));
    is_below("server_instructions_user", GAIN_INSTRUCTIONS)
        .or_else(|| is_below("server_cpu_us", GAIN_CPU))
        .unwrap_or(false)
}
