//! Sequences of several passes: every pass is a replicate, and its arms advance in lockstep, all servers running and
//! all but one held still.

use crate::arm::ActiveArm;
use crate::control::RunControl;
use crate::error::Result;
use crate::run::Execution;
use rqps_builds::CpuSet;
use rqps_model::random::Stream;
use rqps_store::{Block, BlockArm, BlockStatus, Run, now_ms};
use std::collections::BTreeMap;

/// The servers that run, by index of the plan's arms.
#[derive(Default)]
pub(crate) struct Servers {
    arms: BTreeMap<usize, ActiveArm>,
}

impl Servers {
    pub fn is_empty(&self) -> bool {
        self.arms.is_empty()
    }

    pub fn has(&self, arm: usize) -> bool {
        self.arms.contains_key(&arm)
    }

    pub fn get(&mut self, arm: usize) -> Option<&mut ActiveArm> {
        self.arms.get_mut(&arm)
    }

    /// Those of these arms that run, in this order.
    pub fn in_order(&mut self, order: &[usize]) -> Vec<&mut ActiveArm> {
        let mut found: Vec<&mut ActiveArm> = self.arms.values_mut().collect();
        found.retain(|arm| order.contains(&arm.index));
        found.sort_by_key(|arm| order.iter().position(|index| *index == arm.index));
        found
    }

    pub fn put(&mut self, arm: ActiveArm) {
        self.arms.insert(arm.index, arm);
    }

    pub fn take(&mut self, arm: usize) -> Option<ActiveArm> {
        self.arms.remove(&arm)
    }

    /// Stops an arm's server, if it runs.
    pub fn drop_arm(&mut self, arm: usize) {
        self.arms.remove(&arm);
    }

    /// Holds all servers still but this arm's.
    pub fn only(&mut self, arm: usize, control: &RunControl<'_>) -> Result<()> {
        for (index, other) in &mut self.arms {
            if *index != arm {
                other.instance.freeze()?;
            }
        }
        if let Some(active) = self.arms.get_mut(&arm) {
            active.instance.thaw();
            control.serve(active);
        }
        Ok(())
    }
}

impl Execution {
    pub(crate) fn several_passes(&self) -> bool {
        self.plan().passes > 1
    }

    /// Notes that a pass has begun, unless it is noted.
    pub(crate) fn begin_pass(&mut self, pass: u32) -> Result<()> {
        if self.writer().last_block()?.unwrap_or(0) >= pass {
            return Ok(());
        }
        let cpus = CpuSet::online()?.to_string();
        let arm = |(at, arm): (usize, &rqps_plan::Arm)| BlockArm {
            arm: arm.name.clone(),
            start_position: at as u32 + 1,
            side: arm.name.clone(),
            cpus: cpus.clone(),
            data_seq: None,
        };
        let plan = self.plan();
        let block = Block {
            number: pass,
            seed: Stream::new(&[plan.seed, u64::from(pass)]).bits(),
            status: BlockStatus::Running,
            note: None,
            started_at_ms: now_ms(),
            finished_at_ms: None,
            restored_by: "load".to_owned(),
            tests: plan.steps().into_iter().map(|step| step.name().to_owned()).collect(),
            arms: plan.arms.iter().enumerate().map(arm).collect(),
        };
        Ok(self.writer().begin_block(&block)?)
    }

    /// Notes that a pass is done, once all of its actions are.
    pub(crate) fn end_pass(&mut self, pass: u32) -> Result<()> {
        let mut of_pass = self.schedule().actions.iter().filter(|action| action.pass == pass);
        if of_pass.all(|action| self.done().contains(&action.seq)) {
            self.writer().finish_block(pass, BlockStatus::Done, None)?;
        }
        Ok(())
    }

    /// Passes whose end was not noted: an earlier process was killed just before.
    pub(crate) fn end_passes(&mut self, run: &Run) -> Result<()> {
        let running = run.blocks.iter().filter(|block| block.status == BlockStatus::Running);
        running
            .map(|block| block.number)
            .collect::<Vec<_>>()
            .into_iter()
            .try_for_each(|pass| self.end_pass(pass))
    }
}
