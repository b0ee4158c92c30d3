//! One block: every arm restarted from the same data, its windows in mirrored order, the others held still meanwhile.

use super::data::{StartOptions, WARM_ROWS_MAX, WARMING, in_parallel, side_letter, warm_instance};
use super::environment::{canaries, spoilt};
use super::{BlockContext, Blocks, Done, Ended};
use crate::arm::ActiveArm;
use crate::control::RunControl;
use crate::driver::Job;
use crate::error::{Error, Result};
use crate::measure::{StepOutput, measure, measure_in_turns};
use crate::passes::Servers;
use rqps_builds::CpuSet;
use rqps_driver::SliceSpec;
use rqps_model::FixedWork;
use rqps_plan::isolated::{BlockPlan, Turns, block as draw};
use rqps_plan::{Plan, StepDef};
use rqps_store::{Block, BlockArm, BlockStatus, Measured, Moment, Observation, Placement, TestWork, now_ms};

impl Blocks<'_> {
    /// Measures one block of these tests.
    pub(super) fn block(
        &mut self,
        number: u32,
        tests: &[String],
        context: &BlockContext<'_>,
        control: &mut RunControl<'_>,
    ) -> Result<Ended> {
        let drawn = self.drawn(number, tests);
        self.writer.begin_block(&self.entry(&drawn, context, tests))?;
        let folder = self.setup.place.path().unwrap_or(self.writer.folder().path()).to_owned();
        self.writer.put_canaries(&canaries(self.setup.host, (number, Moment::Before), &folder)?)?;
        self.measure_all(&drawn, context, control)?;
        self.writer.put_canaries(&canaries(self.setup.host, (number, Moment::After), &folder)?)?;
        let of_block = drawn.tests.iter().map(|turns| &turns.test).filter(|test| !self.ages(test, context));
        let of_block: Vec<&StepDef> = of_block.collect();
        self.count((&drawn, &of_block), None, context, control)?;
        let run = self.writer.run()?;
        Ok(match spoilt(&run, number) {
            Some(why) => Ended::Void(why),
            None => Ended::Done,
        })
    }

    /// Drawn for all arms, so that a seed means the same whoever takes part; then without those that were given up.
    fn drawn(&self, number: u32, tests: &[String]) -> BlockPlan {
        let mut drawn = draw(&self.setup.plan, number, tests);
        drawn.starts.retain(|arm| !self.given_up.contains_key(arm));
        for turns in &mut drawn.tests {
            turns.slots.retain(|slot| !self.given_up.contains_key(&slot.arm));
        }
        drawn
    }

    fn entry(&self, drawn: &BlockPlan, context: &BlockContext<'_>, tests: &[String]) -> Block {
        let sessions = context.data.session_cpus(self.setup.plan.workload.clients, drawn.cpu_turn);
        let cpus = sessions.unwrap_or_else(|| context.data.online().clone()).to_string();
        let arm = |(index, arm): (usize, &rqps_plan::Arm)| BlockArm {
            arm: arm.name.clone(),
            start_position: drawn.starts.iter().position(|at| *at == index).unwrap_or(0) as u32 + 1,
            side: side_letter(drawn.sides[index]),
            cpus: cpus.clone(),
            data_seq: context.data.data_seq(index, drawn.load),
        };
        Block {
            number: drawn.number,
            seed: drawn.seed,
            status: BlockStatus::Running,
            note: None,
            started_at_ms: now_ms(),
            finished_at_ms: None,
            restored_by: context.data.restored_by.name().to_owned(),
            tests: tests.to_vec(),
            arms: self
                .setup
                .plan
                .arms
                .iter()
                .enumerate()
                .filter(|(at, _)| drawn.starts.contains(at))
                .map(arm)
                .collect(),
        }
    }

    /// Reads share one restart; every test that writes has its own. A test that changes much of the tables is counted
    /// on what it leaves.
    fn measure_all(
        &mut self,
        drawn: &BlockPlan,
        context: &BlockContext<'_>,
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        let mut servers: Option<Servers> = None;
        for (at, turns) in drawn.tests.iter().enumerate() {
            let began_at_ms = now_ms();
            if turns.test.writes {
                servers = None;
            }
            let mut ready = match servers.take() {
                Some(ready) => ready,
                None => self.start_all(drawn, context, control)?,
            };
            let title = format!("{} ({} of {})", turns.test.name, at + 1, drawn.tests.len());
            control.progress.action_started(drawn.number, &format!("block {}", drawn.number), &title);
            self.measure_test((drawn, turns, began_at_ms), &mut ready, context, control)?;
            if self.ages(&turns.test, context) {
                self.count((drawn, &[&turns.test]), Some(ready), context, control)?;
            } else {
                servers = Some(ready);
            }
        }
        Ok(())
    }

    fn start_all(
        &mut self,
        drawn: &BlockPlan,
        context: &BlockContext<'_>,
        control: &mut RunControl<'_>,
    ) -> Result<Servers> {
        let arms: Vec<_> = drawn
            .starts
            .iter()
            .map(|&arm| {
                let (side, cpu_turn, load) = (drawn.sides[arm], drawn.cpu_turn, drawn.load);
                (arm, StartOptions { side, cpu_turn, load, instrument: None, as_left: false })
            })
            .collect();
        let mut servers = Servers::default();
        for active in context.data.start_together(self, &arms, control)? {
            servers.put(active);
        }
        let judge = |arm: &mut ActiveArm, failure| {
            if control.stopped() { Error::Interrupted } else { arm.judge("warm-up", failure) }
        };
        let mut arms = servers.in_order(&drawn.starts);
        let warmed = warm_together(&arms, &self.setup.plan);
        for (arm, warmed) in arms.iter_mut().zip(warmed) {
            warmed.and_then(|()| Ok(arm.instance.freeze()?)).map_err(|failure| judge(arm, failure))?;
        }
        Ok(servers)
    }

    fn measure_test(
        &mut self,
        (drawn, turns, began_at_ms): (&BlockPlan, &Turns, i64),
        servers: &mut Servers,
        context: &BlockContext<'_>,
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        let Some(work) = context.works.get(&turns.test.name) else {
            return Ok(());
        };
        let clients = turns.test.clients;
        let _pinned = context.data.pin(clients, drawn.cpu_turn)?;
        let shared = context.data.session_cpus(clients, drawn.cpu_turn);
        let cpus = shared.unwrap_or_else(|| context.data.online().clone());
        if work.slice_events > 0 && self.setup.driver.takes_turns(&turns.test) {
            return self.measure_in_turns(
                (drawn, turns, began_at_ms),
                (work, &cpus),
                servers,
                context,
                control,
            );
        }
        for (at, slot) in turns.slots.iter().enumerate() {
            Self::go_on(control)?;
            let Some(arm) = servers.get(slot.arm) else {
                continue;
            };
            arm.instance.thaw();
            // A server that was killed while it stood still is not there to be placed.
            arm.instance.place_sessions(&cpus).map_err(|error| arm.judge(&turns.test.name, error.into()))?;
            let placement = Placement { block: drawn.number, window: slot.window, slot: at as u32 + 1 };
            // The restart before a test that writes is part of what its first window takes.
            let started_at_ms = if at == 0 { began_at_ms } else { now_ms() };
            self.window(arm, (&turns.test, work), (placement, started_at_ms), context, control)?;
            arm.instance.freeze().map_err(|error| arm.judge(&turns.test.name, error.into()))?;
        }
        Ok(())
    }

    /// Windows of one number share a stretch of time, in which arms take turns.
    fn measure_in_turns(
        &mut self,
        (drawn, turns, began_at_ms): (&BlockPlan, &Turns, i64),
        (work, cpus): (&TestWork, &CpuSet),
        servers: &mut Servers,
        context: &BlockContext<'_>,
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        let test = &turns.test;
        for window in 1..=self.setup.plan.blocks().windows {
            Self::go_on(control)?;
            let slots: Vec<(u32, usize)> = (1..)
                .zip(&turns.slots)
                .filter(|(_, slot)| slot.window == window)
                .map(|(at, slot)| (at, slot.arm))
                .collect();
            let order: Vec<usize> = slots.iter().map(|(_, arm)| *arm).collect();
            let mut arms = servers.in_order(&order);
            for arm in &mut arms {
                arm.instance.thaw();
                let placed = arm.instance.place_sessions(cpus);
                placed.map_err(|error| arm.judge(&test.name, error.into()))?;
                control.serve(arm);
            }
            let started_at_ms = if window == 1 { began_at_ms } else { now_ms() };
            let describes = context.describes && window == 1;
            let job = Job {
                gives_way: context.data.session_cpus(test.clients, 0).is_some(),
                reads_counters: true,
                slice: Some(slice_of(work)),
                ..Job::of_work(
                    &self.setup.plan,
                    test,
                    draws_of(drawn.number, window),
                    fixed_work(work, test.clients),
                )
            };
            let outputs = measure_in_turns(&mut arms, self.setup.driver, &job, describes, control);
            let outputs = outputs.map_err(|failed| match (control.stopped(), *failed) {
                (true, _) => Error::Interrupted,
                (false, (at, failure)) => arms[at].judge(&test.name, failure),
            })?;
            Self::go_on(control)?;
            for ((slot, arm), output) in slots.into_iter().zip(outputs) {
                let begun = self.begin()?;
                let StepOutput { mut observation, invalid, .. } = output;
                observation.placement = Some(Placement { block: drawn.number, window, slot });
                let arm = &self.setup.plan.arms[arm].name.clone();
                let done = Done { arm, kind: "measure", step: &test.name, started_at_ms, invalid };
                self.finish(begun, done, Some(&observation))?;
            }
        }
        Ok(())
    }

    /// One window, journaled.
    fn window(
        &mut self,
        arm: &mut ActiveArm,
        (step, work): (&StepDef, &TestWork),
        (placement, started_at_ms): (Placement, i64),
        context: &BlockContext<'_>,
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        control.serve(arm);
        let begun = self.begin()?;
        // Plans and state are the same all over a run: the first block that counts shows them.
        let describes = context.describes && placement.window == 1;
        let draws = draws_of(placement.block, placement.window);
        let job = Job {
            gives_way: context.data.session_cpus(step.clients, 0).is_some(),
            reads_counters: true,
            ..Job::of_work(&self.setup.plan, step, draws, fixed_work(work, step.clients))
        };
        let output = measure(arm, self.setup.driver, job, describes, control).map_err(|failure| {
            if control.stopped() { Error::Interrupted } else { arm.judge(&step.name, failure) }
        })?;
        Self::go_on(control)?;
        let StepOutput { mut observation, invalid, .. } = output;
        observation.placement = Some(placement);
        let done = Done { arm: &arm.name, kind: "measure", step: &step.name, started_at_ms, invalid };
        self.finish(begun, done, Some(&observation))
    }

    /// Journals a count that took so long.
    pub(super) fn keep_count(&mut self, arm: &str, observation: &Observation, took_ms: i64) -> Result<()> {
        let Measured::Count(count) = &observation.measured else {
            return Ok(());
        };
        let begun = self.begin()?;
        let started_at_ms = now_ms() - took_ms;
        let done = Done { arm, kind: "count", step: &count.test, started_at_ms, invalid: None };
        self.finish(begun, done, Some(observation))
    }
}

/// Reads the tables of all arms at the same time. A server that fills its memory before the others do gets what is most
/// fragmented, and everything in it takes about 1 % longer.
fn warm_together(arms: &[&mut ActiveArm], plan: &Plan) -> Vec<Result<()>> {
    let instances = arms.iter().map(|arm| &*arm.instance);
    let warmed = in_parallel(instances.map(|instance| || warm_instance(instance, plan, WARM_ROWS_MAX)));
    let named = warmed.into_iter().zip(arms);
    named.map(|(warmed, arm)| warmed.map_err(Error::session(&arm.name, WARMING))).collect()
}

/// Numbers of draws that a block has; it has at most 64 windows of a test.
pub(crate) const DRAWS_OF_A_BLOCK: u32 = 100;

/// The fixed work of a window.
fn fixed_work(work: &TestWork, clients: u32) -> FixedWork {
    let each = |events: u64| vec![events.div_ceil(u64::from(clients)).max(1); clients as usize];
    FixedWork { warmup: each(work.warmup_events), window: each(work.window_events) }
}

/// Of a slice's events, one in so many warms it up.
const GUARD_EACH: u64 = 10;
/// A slice of fewer events has none to spare for that.
const GUARD_FROM: u64 = 5;

/// A turn of each client.
fn slice_of(work: &TestWork) -> SliceSpec {
    let events = work.slice_events;
    let guard_events = if events < GUARD_FROM { 0 } else { events.div_ceil(GUARD_EACH) };
    SliceSpec { events, guard_events }
}

/// Windows of the same number repeat the same operations on every arm; those of another block are others, so that no
/// verdict rests on the keys that happened to be drawn.
pub(super) fn draws_of(block: u32, window: u32) -> u32 {
    block * DRAWS_OF_A_BLOCK + window
}
