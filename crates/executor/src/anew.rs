//! Which arms of a sequence start over from their load when it is resumed.
//!
//! An interrupted test that writes has changed an unknown part of its rows: what follows would run on other
//! data than on the other arms. Keeping a copy from before each such test would take as much disk again, and
//! stopping the server for it would change what is measured. Loading and repeating the same work takes time
//! alone and gives the same rows.
//!
//! In passes, windows are compared with those that other arms had right before or after. What an arm has measured
//! of its pass is then repeated for the data alone, and its results are kept.
//!
//! An arm whose database is damaged starts over too, with nothing kept, and so does one that was given up in a
//! pass: the next pass has replaced its data.
//!
//! The Insert Benchmark does not need this: its tables show how far a step came, so that the rest of its rows
//! can be written, and later steps find the data they expect. Only the figures of the interrupted step are
//! lost. Resuming the complete run measures them again, with everything else on that arm. A load may take
//! hours, so this is left to the user.

use crate::error::Result;
use crate::run::Execution;
use rqps_model::counted;
use rqps_plan::{Action, ActionKind, Plan, Schedule};
use rqps_store::{ActionRecord, Outcome, Run, Status};
use std::collections::{BTreeMap, BTreeSet};

/// Whether a step was interrupted and, when continued, gave no valid result.
fn lacks_result(action: &ActionRecord) -> bool {
    action.kind == "measure" && action.outcome == Outcome::Invalid && action.attempt > 1
}

/// Whether a complete run has steps without a result, which can be measured again.
pub(crate) fn lacks_results(run: &Run) -> bool {
    run.actions.iter().any(lacks_result)
}

/// Actions to repeat because of these steps of an arm.
struct Restart {
    arm: usize,
    steps: Vec<u32>,
    seqs: BTreeSet<u32>,
}

impl Restart {
    /// The steps that were interrupted: a resume that was cut off before it had repeated all steps for their data did
    /// not come to the one that was.
    fn interrupted(&self, run: &Run, schedule: &Schedule) -> String {
        let has_result: BTreeSet<u32> = run.actions.iter().map(|action| action.seq).collect();
        let name = |step: &u32| {
            let interrupted = self.seqs.range(step..).find(|seq| !has_result.contains(seq)).unwrap_or(step);
            schedule.actions[*interrupted as usize].kind.name()
        };
        self.steps.iter().map(name).collect::<Vec<_>>().join(", ")
    }
}

impl Execution {
    /// Removes the actions that must be repeated from the journal, but for results that are kept. Returns the run
    /// without them, or `None` if there are none.
    pub(crate) fn restart_arms(&mut self, run: &Run) -> Result<Option<Run>> {
        let steps = match run.status.status {
            Status::Complete => {
                run.actions.iter().filter(|action| lacks_result(action)).map(|a| a.seq).collect()
            }
            Status::Running | Status::Failed | Status::Interrupted => {
                let cut_off = self.writer.cut_off_actions()?;
                let done = self.writer.done_actions()?.into_iter().collect();
                let mut steps = interrupted_writes(self.plan(), self.schedule(), &cut_off);
                steps.extend(without_data(self.schedule(), &done));
                steps
            }
        };
        if steps.is_empty() {
            return Ok(None);
        }
        // First of all: a run with actions left must never be recorded as complete.
        self.writer.set_status(Status::Running, None)?;
        let schedule = self.schedule().clone();
        let keeps = self.several_passes()
            && !self.plan().work.can_continue()
            && run.status.status != Status::Complete;
        for restart in restarts(self.plan(), &schedule, &steps, keeps) {
            let steps = restart.interrupted(run, &schedule);
            let Restart { arm, seqs, .. } = restart;
            let done = run.actions.iter().filter(|action| seqs.contains(&action.seq));
            let measured: BTreeSet<u32> =
                done.filter(|action| action.kind == "measure").map(|action| action.seq).collect();
            let pass = seqs.first().map_or(1, |seq| schedule.actions[*seq as usize].pass);
            let of_pass = if self.several_passes() { format!(" of pass {pass}") } else { String::new() };
            let of_measured = match (measured.len(), keeps) {
                (0, _) => String::new(),
                (count, false) => format!("; {} had been measured", counted(count, "step")),
                (1, true) => "; the step before it is repeated for its data and keeps its result".to_owned(),
                (count, true) => {
                    format!(
                        "; the {count} steps before it are repeated for their data and keep their results"
                    )
                }
            };
            let apart = match self.several_passes() {
                true => {
                    "; what it measures later than other arms gives no verdict on rate, CPU time and stalls"
                }
                false => "",
            };
            let text = format!(
                "starts over from the load{of_pass} because {steps} was interrupted{of_measured}{apart}"
            );
            let kept = if keeps { measured } else { BTreeSet::new() };
            let name = self.forget(arm, (&seqs, &kept), &text)?;
            self.add_note(format!("arm {name} {text}"));
        }
        Ok(Some(self.writer.run()?))
    }

    /// Removes the actions of an arm whose data are damaged from the journal: the next resume loads them anew.
    pub(crate) fn load_anew(&mut self, action: &Action) -> Result<()> {
        let schedule = self.schedule().clone();
        for Restart { arm, seqs, .. } in
            restarts(self.plan(), &schedule, &BTreeSet::from([action.seq]), false)
        {
            self.forget(
                arm,
                (&seqs, &BTreeSet::new()),
                "its database is damaged: `rqps resume` starts it over from the load",
            )?;
        }
        Ok(())
    }

    /// Removes actions of an arm from the journal, or keeps their results, with a note that says why. Returns the arm's
    /// name.
    fn forget(
        &mut self,
        arm: usize,
        (seqs, kept): (&BTreeSet<u32>, &BTreeSet<u32>),
        why: &str,
    ) -> Result<String> {
        let name = self.plan().arms[arm].name.clone();
        self.writer.forget_actions(seqs, kept)?;
        self.writer.add_note(Some(&name), why)?;
        Ok(name)
    }
}

/// Those of the interrupted steps that leave their tables in an unknown state.
fn interrupted_writes(plan: &Plan, schedule: &Schedule, cut_off: &BTreeSet<u32>) -> BTreeSet<u32> {
    if plan.work.can_continue() {
        return BTreeSet::new();
    }
    let changes_rows = |action: &&Action| matches!(&action.kind, ActionKind::Measure(step) if step.writes);
    let interrupted = schedule.actions.iter().filter(|action| cut_off.contains(&action.seq));
    interrupted.filter(changes_rows).map(|action| action.seq).collect()
}

/// Where parts of the schedule stopped whose data are gone when they are continued: the arm was given up in a pass and
/// loaded anew for the next, or an earlier pass is measured first. Of each part its first action that is not done.
fn without_data(schedule: &Schedule, done: &BTreeSet<u32>) -> BTreeSet<u32> {
    // Of each arm its parts, with their actions.
    let mut parts: BTreeMap<(usize, u32, usize), Vec<u32>> = BTreeMap::new();
    for action in &schedule.actions {
        let part = (action.arm, action.pass, part_of(schedule, action));
        parts.entry(part).or_default().push(action.seq);
    }
    let of_arm = |arm: usize, is_done: bool| {
        let actions = schedule.actions.iter().filter(move |action| action.arm == arm);
        actions.map(|action| action.seq).filter(move |seq| done.contains(seq) == is_done)
    };
    let stopped = parts.into_iter().filter_map(|((arm, ..), seqs)| {
        let next = *seqs.iter().find(|seq| !done.contains(seq))?;
        let begun = seqs.iter().any(|seq| done.contains(seq));
        let has_data = of_arm(arm, true).max().is_some_and(|last| seqs.contains(&last));
        let is_next = of_arm(arm, false).min() == Some(next);
        let needs_data = !matches!(schedule.actions[next as usize].kind, ActionKind::Stop);
        (begun && needs_data && !(has_data && is_next)).then_some(next)
    });
    stopped.collect()
}

/// The actions to repeat because of these steps: all of the step's arm in its pass, from the start of its server on, or
/// of all arms if they repeat the work that base did in it, unless base `keeps` its results and repeats them itself. Of
/// tests with loads of their own each has its own start.
fn restarts(plan: &Plan, schedule: &Schedule, steps: &BTreeSet<u32>, keeps: bool) -> Vec<Restart> {
    let mut all: Vec<Restart> = Vec::new();
    for step in schedule.actions.iter().filter(|action| steps.contains(&action.seq)) {
        if let Some(earlier) = all.iter_mut().find(|one| one.seqs.contains(&step.seq)) {
            earlier.steps.push(step.seq);
            continue;
        }
        let sets_work = !keeps && step.arm == plan.base_index() && step.pass == 1 && plan.work.repeats_base();
        let part = part_of(schedule, step);
        let repeats = |action: &&Action| {
            action.pass == step.pass
                && (sets_work || action.arm == step.arm)
                && part_of(schedule, action) == part
        };
        let seqs = schedule.actions.iter().filter(repeats).map(|action| action.seq).collect();
        all.push(Restart { arm: step.arm, steps: vec![step.seq], seqs });
    }
    all
}

/// How many times the action's arm has started its server in the pass, up to this action.
fn part_of(schedule: &Schedule, action: &Action) -> usize {
    let of_arm = schedule.actions.iter().filter(|one| (one.arm, one.pass) == (action.arm, action.pass));
    of_arm.filter(|one| one.seq <= action.seq && matches!(one.kind, ActionKind::Start)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rqps_plan::{PlanContext, schedule};

    fn plan(top: &str, workload: &str) -> Plan {
        let mut text = format!("base = \"a\"\n{top}\n[workload]\n{workload}\n");
        for name in ["a", "b"] {
            text += &format!("[[arm]]\nname = \"{name}\"\nbuild = \"postgres-18\"\nconfig = \"sized\"\n");
        }
        Plan::parse(&text, "t.toml", &PlanContext::trusting(rqps_workloads::BENCHMARKS)).unwrap().plan
    }

    /// Arm, pass and name of the actions that are repeated after this step, of an arm in a pass, was
    /// interrupted.
    fn repeated(plan: &Plan, (arm, pass, step): (usize, u32, &str)) -> Vec<(usize, u32, String)> {
        let schedule = schedule(plan);
        let mut actions = schedule.actions.iter();
        let cut_off = actions.find(|a| (a.arm, a.pass, a.kind.name()) == (arm, pass, step)).unwrap().seq;
        let writes = interrupted_writes(plan, &schedule, &BTreeSet::from([cut_off]));
        let restarts = restarts(plan, &schedule, &writes, false);
        let seqs: BTreeSet<u32> = restarts.into_iter().flat_map(|one| one.seqs).collect();
        let named = |seq: u32| {
            let action = &schedule.actions[seq as usize];
            (action.arm, action.pass, action.kind.name().to_owned())
        };
        seqs.into_iter().map(named).collect()
    }

    const STEPS: &str = "rows = 1000\nsteps = [\"point-query\", \"update-index\", \"settle\", \"scan\"]";

    #[test]
    fn an_interrupted_write_restarts_its_arm_unless_the_step_can_continue() {
        let whole = ["start", "load", "point-query", "update-index", "settle-1", "scan", "stop"];
        let one_pass = plan("", STEPS);
        let of_b: Vec<_> = whole.iter().map(|name| (1, 1, (*name).to_owned())).collect();
        assert_eq!(repeated(&one_pass, (1, 1, "update-index")), of_b);
        for step in ["start", "load", "point-query", "settle-1", "scan", "stop"] {
            assert_eq!(repeated(&one_pass, (1, 1, step)), [], "{step}");
        }
        let cells = plan("", "benchmark = \"tproc-c\"\n[tproc-c]\nwarehouses = 1\nvirtual_users = [1, 2]");
        let of_test = ["start", "load-w1-vu2", "vacuum", "settle-2", "w1-vu2", "stop"];
        let of_test: Vec<_> = of_test.iter().map(|name| (1, 1, (*name).to_owned())).collect();
        assert_eq!(repeated(&cells, (1, 1, "w1-vu2")), of_test, "the first test is done");
        let queue = plan(
            "",
            "benchmark = \"insert\"\nsteps = [\"l.i0\", \"l.x\", \"l.i1\"]\n[insert]\nsize = \"smoke\"",
        );
        assert_eq!(repeated(&queue, (1, 1, "l.i1")), []);
    }

    #[test]
    fn only_base_s_first_pass_restarts_other_arms_and_only_if_they_repeat_its_work() {
        let count = |plan: &Plan, cut_off| {
            let repeated = repeated(plan, cut_off);
            let of = |arm, pass| repeated.iter().filter(|(a, p, _)| (*a, *p) == (arm, pass)).count();
            [of(0, 1), of(1, 1), of(0, 2), of(1, 2)]
        };
        let as_base = plan("passes = 2", STEPS);
        assert_eq!(count(&as_base, (0, 1, "update-index")), [7, 7, 0, 0]);
        assert_eq!(count(&as_base, (1, 1, "update-index")), [0, 7, 0, 0]);
        assert_eq!(count(&as_base, (0, 2, "update-index")), [0, 0, 7, 0], "base repeats its own work");
        let by_time = plan("passes = 2", &format!("write_work = \"time\"\n{STEPS}"));
        assert_eq!(count(&by_time, (0, 1, "update-index")), [7, 0, 0, 0]);
    }
}
