//! Measures one block: every arm is restarted from the same data, and its windows run in mirrored order while
//! the other arms are frozen.

use super::data::{StartOptions, WARM_ROWS_MAX, in_parallel, side_letter};
use super::environment::{canaries, void_reason};
use super::{Begun, BlockContext, Blocks, Done, Ended};
use crate::arm::ActiveArm;
use crate::control::RunControl;
use crate::driver::{Driver, Job};
use crate::error::Result;
use crate::measure::{StepOutput, measure, measure_in_turns};
use crate::passes::Servers;
use rqps_builds::CpuSet;
use rqps_driver::Turn;
use rqps_model::{FixedWork, counted};
use rqps_plan::isolated::{BlockPlan, Turns, block as draw_block, counting_share};
use rqps_plan::{Plan, StepDef};
use rqps_store::{Block, BlockArm, BlockStatus, Measured, Moment, Observation, Placement, TestWork, now_ms};

impl Blocks<'_> {
    /// Measures one block of these tests.
    pub(super) fn block(
        &mut self,
        number: u32,
        (tests, windows_of_reads): (&[String], u32),
        context: &BlockContext<'_>,
        control: &mut RunControl<'_>,
    ) -> Result<Ended> {
        let drawn = self.draw(number, tests, windows_of_reads);
        self.writer.begin_block(&self.record(&drawn, context, tests))?;
        let folder = self.setup.place.path().unwrap_or(self.writer.folder().path()).to_owned();
        self.writer.put_canaries(&canaries(self.setup.host, (number, Moment::Before), &folder)?)?;
        self.measure_all(&drawn, context, control)?;
        self.writer.put_canaries(&canaries(self.setup.host, (number, Moment::After), &folder)?)?;
        let on_block_data =
            drawn.tests.iter().map(|turns| &turns.test).filter(|test| !self.ages_tables(test, context));
        let on_block_data: Vec<&StepDef> = on_block_data.collect();
        self.count((&drawn, &on_block_data), None, context, control)?;
        let run = self.writer.run()?;
        Ok(match void_reason(&run, number) {
            Some(why) => Ended::Void(why),
            None => Ended::Done,
        })
    }

    /// Draws the block for all arms, so that a seed gives the same draws whichever arms take part, then
    /// removes those that were given up.
    fn draw(&self, number: u32, tests: &[String], windows_of_reads: u32) -> BlockPlan {
        let mut drawn = draw_block(&self.setup.plan, number, tests, windows_of_reads);
        drawn.starts.retain(|arm| !self.given_up.contains_key(arm));
        for turns in &mut drawn.tests {
            turns.slots.retain(|slot| !self.given_up.contains_key(&slot.arm));
        }
        drawn
    }

    fn record(&self, drawn: &BlockPlan, context: &BlockContext<'_>, tests: &[String]) -> Block {
        let sessions = context.data.session_cpus(self.setup.plan.workload.clients, drawn.cpu_turn);
        let cpus = sessions.unwrap_or_else(|| context.data.online().clone()).to_string();
        let arm = |(index, arm): (usize, &rqps_plan::Arm)| BlockArm {
            arm: arm.name.clone(),
            start_position: drawn.starts.iter().position(|at| *at == index).unwrap_or(0) as u32 + 1,
            side: side_letter(drawn.sides[index]),
            cpus: cpus.clone(),
            data_seq: context.data.data_seq(index, drawn.load),
            copy: self.setup.ingredients[index].copy(drawn.copies[index]).0,
        };
        Block {
            number: drawn.number,
            seed: drawn.seed,
            status: BlockStatus::Running,
            note: None,
            started_at_ms: now_ms(),
            finished_at_ms: None,
            restored_by: context.data.restored_by.key().to_owned(),
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

    /// Reading tests share one restart; every writing test has its own. A test that changes much of the
    /// tables is counted on the data that it leaves.
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
            let open = context.progress.open.map(|open| format!("; {} open", counted(open, "test")));
            let (name, open) = (&turns.test.name, open.unwrap_or_default());
            let title = format!("{name} ({} of {}{open})", at + 1, drawn.tests.len());
            control.progress.action_started(&[drawn.number], &format!("block {}", drawn.number), &title);
            self.measure_test((drawn, turns, began_at_ms), &mut ready, context, control)?;
            let counting = match context.counting.counted_by.is_some() {
                true => counting_share(&self.setup.plan, drawn.tests.len()),
                false => 0.0,
            };
            let part = (at + 1) as f64 / drawn.tests.len() as f64 * (1.0 - counting);
            let (share, left) = context.progress.after(part);
            self.record_progress(share, left, control)?;
            self.foresee_in_block((part, left), control)?;
            if self.ages_tables(&turns.test, context) {
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
                (
                    arm,
                    StartOptions {
                        side,
                        cpu_turn,
                        load,
                        copy: drawn.copies[arm],
                        instrument: None,
                        reuses_data: false,
                    },
                )
            })
            .collect();
        let mut servers = Servers::default();
        for active in context.data.start_together(self, &arms, control)? {
            servers.put(active);
        }
        let mut arms = servers.in_order(&drawn.starts);
        let warmed = warm_together(self.setup.driver, &arms, &self.setup.plan, control);
        for (arm, warmed) in arms.iter_mut().zip(warmed) {
            let frozen = warmed.and_then(|()| Ok(arm.instance.freeze()?));
            frozen.map_err(|error| arm.failed("warm-up", error, control))?;
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
            control.check()?;
            let Some(arm) = servers.get(slot.arm) else {
                continue;
            };
            arm.instance.thaw();
            // Fails if the server was killed while it was frozen.
            arm.instance.pin_sessions(&cpus).map_err(|error| arm.diagnose(&turns.test.name, error.into()))?;
            let placement = Placement { block: drawn.number, window: slot.window, slot: at as u32 + 1 };
            // The first window's time includes the restart before a writing test.
            let started_at_ms = if at == 0 { began_at_ms } else { now_ms() };
            self.window(arm, (turns, work), (placement, started_at_ms), context, control)?;
            arm.instance.freeze().map_err(|error| arm.diagnose(&turns.test.name, error.into()))?;
        }
        Ok(())
    }

    /// Measures windows of equal number on all arms at the same time: arms take turns.
    fn measure_in_turns(
        &mut self,
        (drawn, turns, began_at_ms): (&BlockPlan, &Turns, i64),
        (work, cpus): (&TestWork, &CpuSet),
        servers: &mut Servers,
        context: &BlockContext<'_>,
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        let test = &turns.test;
        for window in 1..=turns.windows() {
            control.check()?;
            let slots: Vec<(u32, usize)> = (1..)
                .zip(&turns.slots)
                .filter(|(_, slot)| slot.window == window)
                .map(|(at, slot)| (at, slot.arm))
                .collect();
            let order: Vec<usize> = slots.iter().map(|(_, arm)| *arm).collect();
            let mut arms = servers.in_order(&order);
            for arm in &mut arms {
                arm.instance.thaw();
                let placed = arm.instance.pin_sessions(cpus);
                placed.map_err(|error| arm.diagnose(&test.name, error.into()))?;
                control.set_current(arm);
            }
            let started_at_ms = if window == 1 { began_at_ms } else { now_ms() };
            let keeps_state = context.keeps_state && window == 1;
            let draws = draws_of(drawn.number, window);
            let job = self.job((test, work), draws, window == turns.windows(), context);
            let job = Job { turn: Some(Turn::Events(work.slice_events)), ..job };
            let outputs = measure_in_turns(&mut arms, self.setup.driver, &job, keeps_state, control);
            let outputs = arms
                .into_iter()
                .zip(outputs)
                .map(|(arm, output)| output.map_err(|error| arm.failed(&test.name, error, control)));
            let outputs = outputs.collect::<Result<Vec<_>>>()?;
            control.check()?;
            for ((slot, arm), output) in slots.into_iter().zip(outputs) {
                let begun = self.begin()?;
                let name = &self.setup.plan.arms[arm].name;
                let placement = Placement { block: drawn.number, window, slot };
                self.keep_window(begun, (name, &test.name), (placement, started_at_ms), output, control)?;
            }
        }
        Ok(())
    }

    /// Measures one window and journals it.
    fn window(
        &mut self,
        arm: &mut ActiveArm,
        (turns, work): (&Turns, &TestWork),
        (placement, started_at_ms): (Placement, i64),
        context: &BlockContext<'_>,
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        let step = &turns.test;
        control.set_current(arm);
        let begun = self.begin()?;
        // Plans and state are the same in all blocks of a run: the first that is done has them.
        let keeps_state = context.keeps_state && placement.window == 1;
        let draws = draws_of(placement.block, placement.window);
        let job = self.job((step, work), draws, placement.window == turns.windows(), context);
        let output = measure(arm, self.setup.driver, job, keeps_state, control)
            .map_err(|error| arm.failed(&step.name, error, control))?;
        control.check()?;
        self.keep_window(begun, (&arm.name, &step.name), (placement, started_at_ms), output, control)
    }

    /// A window of a test.
    fn job<'a>(
        &'a self,
        (test, work): (&'a StepDef, &TestWork),
        draws: u32,
        is_last: bool,
        context: &BlockContext<'_>,
    ) -> Job<'a> {
        let plan = &self.setup.plan;
        Job {
            yields_cpu: context.data.session_cpus(test.clients, 0).is_some(),
            reads_counters: true,
            may_read_all: is_last,
            ..Job::of_work(plan, test, draws, fixed_work(work, test.clients))
        }
    }

    /// Journals a window. The first of a step and arm that is invalid is noted at once.
    fn keep_window(
        &mut self,
        begun: Begun,
        (arm, step): (&str, &str),
        (placement, started_at_ms): (Placement, i64),
        output: StepOutput,
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        if let Some(why) = &output.invalid
            && self.invalid.insert((arm.to_owned(), step.to_owned()))
        {
            control.progress.note(&format!("{step} on {arm}: INVALID: {why}"));
        }
        let observation = Observation { placement: Some(placement), ..output.observation };
        let done = Done { arm, kind: "measure", step, started_at_ms, invalid: output.invalid };
        self.finish(begun, done, Some(&observation))
    }

    /// Journals a count that took `took_ms` milliseconds.
    pub(super) fn keep_count(
        &mut self,
        (arm, invalid): (&str, Option<String>),
        observation: &Observation,
        took_ms: i64,
    ) -> Result<()> {
        let Measured::Count(count) = &observation.measured else {
            return Ok(());
        };
        let begun = self.begin()?;
        let started_at_ms = now_ms() - took_ms;
        let done = Done { arm, kind: "count", step: &count.test, started_at_ms, invalid };
        self.finish(begun, done, Some(observation))
    }
}

/// Reads the tables of all arms at the same time. When servers were started and warmed one after the other,
/// the first took 1.25 % more CPU time per point query than the fifth, presumably since it got the most
/// fragmented memory.
fn warm_together(
    driver: &dyn Driver,
    arms: &[&mut ActiveArm],
    plan: &Plan,
    control: &mut RunControl<'_>,
) -> Vec<Result<()>> {
    let works = arms.iter().map(|arm| || driver.warm(plan, arm, WARM_ROWS_MAX));
    in_parallel(works, |elapsed_s| control.progress.action_progress("warm-up", elapsed_s, None))
}

/// Range of `draws` of a block, which has at most 64 windows of a test.
pub(crate) const DRAWS_PER_BLOCK: u32 = 100;

/// The work of a window, split over its clients.
fn fixed_work(work: &TestWork, clients: u32) -> FixedWork {
    let each = |events: u64| vec![events.div_ceil(u64::from(clients)).max(1); clients as usize];
    FixedWork { warmup: each(work.warmup_events), window: each(work.window_events) }
}

/// Windows of equal number repeat the same operations on every arm. Each block draws others, so that no
/// verdict depends on the keys of one draw.
pub(super) fn draws_of(block: u32, window: u32) -> u32 {
    block * DRAWS_PER_BLOCK + window
}
