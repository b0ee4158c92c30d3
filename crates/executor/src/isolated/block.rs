//! One block: every arm restarted from the same data, its windows in mirrored order, the others held still meanwhile.

use super::data::{Seat, WARM_ROWS_MAX, side_letter, warm};
use super::environment::{canaries, spoilt};
use super::{Blocks, Done, Ended, Hand};
use crate::arm::ActiveArm;
use crate::error::{Error, Result};
use crate::measure::{Specified, StepOutput, Visit, measure_as};
use crate::outside::Outside;
use crate::passes::Servers;
use rqps_model::{FixedWork, Limit, Warmup};
use rqps_plan::StepDef;
use rqps_plan::isolated::{BlockPlan, Turns, block as draw};
use rqps_store::{Block, BlockArm, BlockStatus, Measured, Moment, Observation, Placement, TestWork, now_ms};
use std::time::Duration;

impl Blocks<'_> {
    /// Measures one block of these tests.
    pub(super) fn block(
        &mut self,
        number: u32,
        tests: &[String],
        hand: &Hand<'_>,
        outside: &mut Outside<'_>,
    ) -> Result<Ended> {
        let drawn = self.drawn(number, tests);
        self.writer.begin_block(&self.entry(&drawn, hand, tests))?;
        let folder = self.place.path().unwrap_or(self.writer.folder().path()).to_owned();
        self.writer.put_canaries(&canaries(number, Moment::Before, &folder)?)?;
        self.measure_all(&drawn, hand, outside)?;
        self.writer.put_canaries(&canaries(number, Moment::After, &folder)?)?;
        let of_block = drawn.tests.iter().map(|turns| &turns.test).filter(|test| !self.ages(test, hand));
        let of_block: Vec<&StepDef> = of_block.collect();
        self.count((&drawn, &of_block), None, hand, outside)?;
        let run = rqps_store::RunFolder::open(self.writer.folder().path())?;
        Ok(match spoilt(&run, number) {
            Some(why) => Ended::Void(why),
            None => Ended::Done,
        })
    }

    /// Drawn for all arms, so that a seed means the same whoever takes part; then without those that were given up.
    fn drawn(&self, number: u32, tests: &[String]) -> BlockPlan {
        let mut drawn = draw(self.plan, number, tests);
        drawn.starts.retain(|arm| !self.given_up.contains_key(arm));
        for turns in &mut drawn.tests {
            turns.slots.retain(|slot| !self.given_up.contains_key(&slot.arm));
        }
        drawn
    }

    fn entry(&self, drawn: &BlockPlan, hand: &Hand<'_>, tests: &[String]) -> Block {
        let sessions = hand.data.session_cpus(self.plan.workload.clients, drawn.cpu_turn);
        let cpus = sessions.unwrap_or_else(|| hand.data.online().clone()).to_string();
        let arm = |(index, arm): (usize, &rqps_plan::Arm)| BlockArm {
            arm: arm.name.clone(),
            start_position: drawn.starts.iter().position(|at| *at == index).unwrap_or(0) as u32 + 1,
            side: side_letter(drawn.sides[index]),
            cpus: cpus.clone(),
            data_seq: hand.data.data_seq(index, drawn.load),
        };
        Block {
            number: drawn.number,
            seed: drawn.seed,
            status: BlockStatus::Running,
            note: None,
            started_at_ms: now_ms(),
            finished_at_ms: None,
            restored_by: hand.data.restored_by.name().to_owned(),
            tests: tests.to_vec(),
            arms: self
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
    fn measure_all(&mut self, drawn: &BlockPlan, hand: &Hand<'_>, outside: &mut Outside<'_>) -> Result<()> {
        let mut servers: Option<Servers> = None;
        for (at, turns) in drawn.tests.iter().enumerate() {
            let began_at_ms = now_ms();
            if turns.test.writes {
                servers = None;
            }
            let mut ready = match servers.take() {
                Some(ready) => ready,
                None => self.start_all(drawn, hand, outside)?,
            };
            let title = format!("{} ({} of {})", turns.test.name, at + 1, drawn.tests.len());
            outside.watcher.begins(drawn.number, &format!("block {}", drawn.number), &title);
            self.measure_test((drawn, turns, began_at_ms), &mut ready, hand, outside)?;
            if self.ages(&turns.test, hand) {
                self.count((drawn, &[&turns.test]), Some(ready), hand, outside)?;
            } else {
                servers = Some(ready);
            }
        }
        Ok(())
    }

    fn start_all(
        &mut self,
        drawn: &BlockPlan,
        hand: &Hand<'_>,
        outside: &mut Outside<'_>,
    ) -> Result<Servers> {
        let mut servers = Servers::default();
        for &arm in &drawn.starts {
            Self::go_on(outside)?;
            let seat = Seat {
                side: drawn.sides[arm],
                cpu_turn: drawn.cpu_turn,
                load: drawn.load,
                instrument: None,
                as_left: false,
            };
            let mut active = hand.data.start(self, arm, &seat, outside)?;
            warm(&active, self.plan, WARM_ROWS_MAX).and_then(|()| Ok(active.server.freeze()?)).map_err(
                |failure| {
                    if outside.stopped() { Error::Interrupted } else { active.judge("warm-up", failure) }
                },
            )?;
            servers.put(active);
        }
        Ok(servers)
    }

    fn measure_test(
        &mut self,
        (drawn, turns, began_at_ms): (&BlockPlan, &Turns, i64),
        servers: &mut Servers,
        hand: &Hand<'_>,
        outside: &mut Outside<'_>,
    ) -> Result<()> {
        let Some(work) = hand.works.get(&turns.test.name) else {
            return Ok(());
        };
        let clients = turns.test.clients;
        let _pinned = hand.data.pin(clients, drawn.cpu_turn)?;
        let shared = hand.data.session_cpus(clients, drawn.cpu_turn);
        let cpus = shared.unwrap_or_else(|| hand.data.online().clone());
        for (at, slot) in turns.slots.iter().enumerate() {
            Self::go_on(outside)?;
            let Some(arm) = servers.get(slot.arm) else {
                continue;
            };
            arm.server.thaw();
            // A server that was killed while it stood still is not there to be placed.
            arm.server.place_sessions(&cpus).map_err(|error| arm.judge(&turns.test.name, error.into()))?;
            let placement = Placement { block: drawn.number, window: slot.window, slot: at as u32 + 1 };
            // The restart before a test that writes is part of what its first window takes.
            let started_at_ms = if at == 0 { began_at_ms } else { now_ms() };
            self.window(arm, (&turns.test, work), (placement, started_at_ms), hand, outside)?;
            arm.server.freeze().map_err(|error| arm.judge(&turns.test.name, error.into()))?;
        }
        Ok(())
    }

    /// One window, journaled.
    fn window(
        &mut self,
        arm: &mut ActiveArm,
        (step, work): (&StepDef, &TestWork),
        (placement, started_at_ms): (Placement, i64),
        hand: &Hand<'_>,
        outside: &mut Outside<'_>,
    ) -> Result<()> {
        outside.serve(arm);
        let begun = self.begin()?;
        let visit = Visit::fixed(work, step.clients, (placement.block, placement.window));
        // Plans and state are the same all over a run: the first block that counts shows them.
        let describes = hand.describes && placement.window == 1;
        let gives_way = hand.data.session_cpus(step.clients, 0).is_some();
        let how =
            Specified { spec: visit.spec(self.plan, step, arm.adapter.dialect())?, describes, gives_way };
        let output = measure_as(arm, self.plan, step, how, outside).map_err(|failure| {
            if outside.stopped() { Error::Interrupted } else { arm.judge(&step.name, failure) }
        })?;
        Self::go_on(outside)?;
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

/// Numbers of draws that a block has; it has at most 64 windows of a test.
pub(crate) const DRAWS_OF_A_BLOCK: u32 = 100;

impl Visit {
    /// The fixed work of a window.
    fn fixed(work: &TestWork, clients: u32, (block, window): (u32, u32)) -> Self {
        let each = |events: u64| vec![events.div_ceil(u64::from(clients)).max(1); clients as usize];
        let work = FixedWork { warmup: each(work.warmup_events), window: each(work.window_events) };
        let draws = draws_of(block, window);
        Self { draws, limit: Limit::Work(work), warmup: Warmup::Time(Duration::ZERO) }
    }
}

/// Windows of the same number repeat the same operations on every arm; those of another block are others, so that no
/// verdict rests on the keys that happened to be drawn.
pub(super) fn draws_of(block: u32, window: u32) -> u32 {
    block * DRAWS_OF_A_BLOCK + window
}
