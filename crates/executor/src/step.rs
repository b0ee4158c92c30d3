//! Measured steps of a sequence: of one arm, or in passes of all that can take turns of some milliseconds, with the
//! same events. While others have their turn an instance is frozen, so that it neither vacuums nor flushes in their
//! time.

use crate::arm::ActiveArm;
use crate::control::RunControl;
use crate::driver::Job;
use crate::error::Result;
use crate::measure::{StepOutput, measure, measure_in_turns};
use crate::passes::{GivenUp, Servers};
use crate::run::{Execution, ended};
use crate::spec::session_cpus;
use crate::work::Done;
use rqps_builds::{CpuSet, pin_this_thread};
use rqps_driver::Turn;
use rqps_model::{FixedWork, Limit};
use rqps_plan::{Action, ActionKind, StepDef};
use rqps_store::{Placement, now_ms};
use std::time::Duration;

/// Freezing and thawing an instance takes some milliseconds.
const TURN: Duration = Duration::from_millis(50);

impl Execution {
    /// Measures a step on one arm.
    pub(crate) fn measure(
        &mut self,
        arm: &mut ActiveArm,
        step: &StepDef,
        (action, attempt): (&Action, u32),
        control: &mut RunControl<'_>,
    ) -> Result<Done> {
        let (plan, pass) = (self.plan(), action.pass);
        let replay = self.replays.get(&action.seq);
        let sets_work = arm.name == plan.base && pass == 1 && replay.is_none();
        let base = self.base_steps.get(&step.name).filter(|_| step.as_base && !sets_work);
        let lacks_work = step.as_base && matches!(step.limit, Limit::Time(_)) && base.is_none();
        let leaves_work = step.writes && !step.writes_by_time && matches!(step.limit, Limit::Time(_));
        let own = replay.and_then(Option::as_ref).filter(|_| leaves_work);
        let work = own.or(base).cloned();
        let job = Job { repeats: attempt > 1 && replay.is_none(), ..self.job(step, work) };
        let output = measure(arm, self.driver(), job, true, control)?;
        if sets_work {
            self.base_steps.insert(step.name.clone(), output.work.clone());
        }
        let note = lacks_work.then(|| "base has no result: ran by time".to_owned());
        Ok(Done { note, ..self.measured(output, pass) })
    }

    /// A window of a step that repeats this work, or else goes on until the step's limit.
    fn job<'a>(&'a self, step: &'a StepDef, work: Option<FixedWork>) -> Job<'a> {
        let plan = self.plan();
        let limit = work.map_or_else(|| step.limit.clone(), Limit::Work);
        let removed_rows_max =
            step.removed_share_max.map(|share| (plan.work.rows_total() as f64 * share) as u64);
        Job { removed_rows_max, reads_counters: true, ..Job::of(plan, step, 1, limit, step.warmup) }
    }

    /// The result of a window in a pass.
    fn measured(&self, output: StepOutput, pass: u32) -> Done {
        let mut observation = output.observation;
        observation.placement =
            self.several_passes().then_some(Placement { block: pass, window: 1, slot: 1 });
        let StepOutput { invalid, summary, .. } = output;
        Done { observation: Some(observation), invalid, note: None, summary }
    }

    /// The actions of the step that starts with this one, base's first, if its arms can take turns in it; otherwise
    /// none.
    pub(crate) fn in_turns(&self, action: &Action, given_up: &GivenUp) -> Vec<Action> {
        let ActionKind::Measure(step) = &action.kind else { return Vec::new() };
        if !self.several_passes() || !self.driver().takes_turns(step) {
            return Vec::new();
        }
        let is_of_step = |one: &&Action| {
            let is_same = |other: &StepDef| (&other.name, other.position) == (&step.name, step.position);
            one.pass == action.pass && matches!(&one.kind, ActionKind::Measure(other) if is_same(other))
        };
        let all = self.schedule().actions.iter().filter(is_of_step);
        let left = all.filter(|one| !self.done().contains(&one.seq) && !given_up.leaves_out(one));
        let mut left: Vec<Action> = left.cloned().collect();
        let base = self.plan().base_index();
        left.sort_by_key(|one| one.arm != base);
        let has_base = left.first().is_some_and(|first| first.arm == base);
        let as_base = self.plan().step(&step.name).is_some_and(|step| step.as_base);
        let has_work = match action.pass {
            _ if !as_base => true,
            1 => has_base,
            _ => self.base_steps.contains_key(&step.name),
        };
        let can = left.len() > 1
            && (as_base || !step.writes)
            && has_work
            && !left.iter().any(|one| self.replays.contains_key(&one.seq));
        if can { left } else { Vec::new() }
    }

    /// Measures a step of several arms in turns. Returns their outcomes, in order.
    pub(crate) fn run_in_turns(
        &mut self,
        actions: &[Action],
        active: &mut Servers,
        control: &mut RunControl<'_>,
    ) -> Result<Vec<Result<()>>> {
        let Some(Action { pass, kind: kind @ ActionKind::Measure(step), .. }) = actions.first() else {
            return Ok(Vec::new());
        };
        self.begin_pass(*pass)?;
        let mut begun = Vec::new();
        for action in actions {
            let prepared = self.prepare(action, active, control);
            begun.push(prepared.and_then(|()| Ok(self.writer.begin_action(action.seq)?)));
        }
        let taking_part: Vec<usize> = actions
            .iter()
            .zip(&begun)
            .filter(|(_, begun)| begun.is_ok())
            .map(|(action, _)| action.arm)
            .collect();
        let seqs: Vec<u32> = actions.iter().map(|action| action.seq).collect();
        let names: Vec<&str> = taking_part.iter().map(|arm| self.plan().arms[*arm].name.as_str()).collect();
        control.progress.action_started(&seqs, &names.join(", "), &step.name);
        let started_at_ms = now_ms();
        let online = CpuSet::online()?;
        let shared_cpu = session_cpus(&online, step.clients, *pass - 1);
        let _pinned = shared_cpu.as_ref().map(pin_this_thread).transpose()?;
        let mut arms = active.in_order(&taking_part);
        for arm in &mut arms {
            arm.instance.thaw();
            // Fails if the server was killed while it was frozen, which its session will tell.
            let _placed = arm.instance.pin_sessions(shared_cpu.as_ref().unwrap_or(&online));
            control.set_current(arm);
        }
        // In the first pass base's events are new, and the others do as many.
        let work = self.base_steps.get(&step.name).filter(|_| *pass > 1 && step.as_base).cloned();
        let repeats = begun.iter().flatten().any(|attempt| *attempt > 1);
        let job = Job {
            turn: Some(Turn::Time(TURN)),
            freezes: true,
            yields_cpu: shared_cpu.is_some(),
            repeats,
            ..self.job(step, work)
        };
        let outputs = measure_in_turns(&mut arms, self.driver(), &job, true, control);
        let outputs: Vec<Result<_>> = arms
            .into_iter()
            .zip(outputs)
            .map(|(arm, output)| {
                let unpinned = output.and_then(|output| {
                    arm.instance.pin_sessions(&online)?;
                    Ok(output)
                });
                ended(arm, kind, unpinned, control)
            })
            .collect();
        // A stop may have cut the step short, even if it reports success.
        control.check()?;
        let mut outputs = outputs.into_iter();
        let mut outcomes = Vec::new();
        for (action, attempt) in actions.iter().zip(begun) {
            let output = attempt.and_then(|attempt| Ok((attempt, outputs.next().transpose()?)));
            outcomes.push(match output {
                Ok((attempt, Some(output))) => {
                    if action.arm == self.plan().base_index() && *pass == 1 {
                        self.base_steps.insert(step.name.clone(), output.work.clone());
                    }
                    let done = self.measured(output, *pass);
                    self.journal(action, (attempt, started_at_ms, done), control)
                }
                Ok((_, None)) => Ok(()),
                Err(error) => Err(error),
            });
        }
        Ok(outcomes)
    }
}
