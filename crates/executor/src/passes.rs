//! Sequences of several passes: every pass is a replicate. All servers stay running and all but one are
//! frozen, so that arms advance in lockstep.

use crate::arm::ActiveArm;
use crate::control::RunControl;
use crate::error::{Error, Result};
use crate::run::Execution;
use crate::spec::session_cpus;
use rqps_builds::CpuSet;
use rqps_model::random::Stream;
use rqps_plan::{Action, ActionKind, OnServerDeath};
use rqps_store::{Block, BlockArm, BlockStatus, Run, now_ms};
use std::collections::BTreeMap;

/// The running servers, by index in the plan's arms.
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

    /// The running ones of these arms, in this order.
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

    /// Freezes all servers but this arm's.
    pub fn run_only(&mut self, arm: usize, control: &RunControl<'_>) -> Result<()> {
        for (index, other) in &mut self.arms {
            if *index != arm {
                other.instance.freeze()?;
            }
        }
        if let Some(active) = self.arms.get_mut(&arm) {
            active.instance.thaw();
            control.set_current(active);
        }
        Ok(())
    }
}

/// The arms that the run continues without, by index in the plan's arms: for good, or only until the end of a pass. The
/// next one begins with a new load, so that what killed a server once does not cost the arm all passes.
#[derive(Default)]
pub(crate) struct GivenUp(BTreeMap<usize, (Option<u32>, Error)>);

impl From<BTreeMap<usize, Error>> for GivenUp {
    fn from(errors: BTreeMap<usize, Error>) -> Self {
        Self(errors.into_iter().map(|(arm, error)| (arm, (None, error))).collect())
    }
}

impl GivenUp {
    pub fn insert(&mut self, arm: usize, only_in: Option<u32>, error: Error) {
        self.0.insert(arm, (only_in, error));
    }

    /// Whether the arm was given up, be it only in a pass.
    pub fn has(&self, arm: usize) -> bool {
        self.0.contains_key(&arm)
    }

    pub fn leaves_out(&self, action: &Action) -> bool {
        let of_arm = self.0.get(&action.arm);
        of_arm.is_some_and(|(only_in, _)| only_in.is_none_or(|pass| pass == action.pass))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Of each arm the last one.
    pub fn into_errors(self) -> Vec<Error> {
        self.0.into_values().map(|(_, error)| error).collect()
    }
}

impl Execution {
    pub(crate) fn several_passes(&self) -> bool {
        self.plan().passes > 1
    }

    /// Records that a pass has begun, if that is not recorded yet.
    pub(crate) fn begin_pass(&mut self, pass: u32) -> Result<()> {
        if self.writer.last_block()?.unwrap_or(0) >= pass {
            return Ok(());
        }
        let online = CpuSet::online()?;
        let shared_cpu = session_cpus(&online, self.plan().workload.clients, pass - 1);
        let cpus = shared_cpu.unwrap_or(online).to_string();
        let arm = |(at, arm): (usize, &rqps_plan::Arm)| BlockArm {
            arm: arm.name.clone(),
            start_position: at as u32 + 1,
            side: arm.name.clone(),
            cpus: cpus.clone(),
            data_seq: None,
            copy: 1,
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
        Ok(self.writer.begin_block(&block)?)
    }

    /// Records that a pass is done once all of its actions are, but for those of arms that were given up.
    pub(crate) fn finish_pass(&mut self, pass: u32, given_up: &GivenUp) -> Result<()> {
        let actions = self.schedule().actions.iter();
        let mut of_pass = actions
            .filter(|action| action.pass == pass && !given_up.leaves_out(action))
            .map(|action| self.done().contains(&action.seq))
            .peekable();
        if of_pass.peek().is_some() && of_pass.all(|is_done| is_done) {
            self.writer.finish_block(pass, BlockStatus::Done, None)?;
        }
        Ok(())
    }

    /// Finishes passes in which nothing is left to do: an earlier process completed them but was killed before it
    /// recorded that, or the arm that they waited for was given up.
    pub(crate) fn finish_passes(&mut self, run: &Run, given_up: &GivenUp) -> Result<()> {
        let mut running = run.blocks.iter().filter(|block| block.status == BlockStatus::Running);
        running.try_for_each(|block| self.finish_pass(block.number, given_up))
    }

    pub(crate) fn note_given_up(
        &mut self,
        arm: usize,
        only_in: Option<u32>,
        error: &Error,
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        let until = match only_in {
            Some(pass) => format!(
                "given up in pass {pass}: pass {} measures it again; `rqps resume` completes its pass {pass} from the load, with \
                 figures that give no verdict",
                pass + 1
            ),
            None => "given up for now".to_owned(),
        };
        control.progress.note(&format!("{}; {until}", error.short_text()));
        let name = self.plan().arms[arm].name.clone();
        let note = format!("{}; {until}; see logs/{name}", error.short_text_of(&name));
        Ok(self.writer.add_note(Some(&name), &note)?)
    }

    /// Whether the run may continue without this arm. It may not without base if the others repeat base's
    /// work.
    pub(crate) fn may_give_up(&self, arm: usize) -> bool {
        let sets_work =
            arm == self.plan().base_index() && self.plan().work.repeats_base() && self.plan().arms.len() > 1;
        self.plan().on_server_death == OnServerDeath::NextArm && !sets_work
    }

    /// Whether the arm is base and nothing is measured yet: the others would have nothing to be compared with.
    pub(crate) fn is_useless_without(&self, arm: usize) -> bool {
        let plan = &self.plan();
        let is_measured = |action: &Action| {
            matches!(action.kind, ActionKind::Measure { .. }) && self.done().contains(&action.seq)
        };
        arm == plan.base_index() && plan.arms.len() > 1 && !self.schedule().actions.iter().any(is_measured)
    }

    /// Whether the pass after this action's can measure the arm without this one: not base if its first pass's work is
    /// repeated.
    pub(crate) fn next_pass_can_measure(&self, action: &Action) -> bool {
        let plan = &self.plan();
        let repeats_itself = action.arm == plan.base_index() && plan.work.repeats_base();
        action.pass < plan.passes && !(action.pass == 1 && repeats_itself)
    }
}
