//! Which arms of a sequence begin anew when it is resumed, from their load.
//!
//! A test that writes and was cut off has changed some of its rows, and nobody knows which: what runs after it would
//! run on other data than on the other arms. To keep a copy from before each such test would take as much disk again,
//! and stopping the server for it would change what is measured. Loading again and doing the same work again takes time
//! alone, and gives the same rows.
//!
//! The queue of the Insert Benchmark is another case: its tables say where a step was, so that the rest of its rows can
//! be written, and later steps find what they should. Only the figures of that step are lost. They are measured, with
//! all else on that arm, when a run that is complete is resumed: a load may take hours, so that is for the user to say.

use crate::error::Result;
use crate::run::Execution;
use rqps_plan::{Action, ActionKind, Plan, Schedule};
use rqps_store::{ActionRecord, Outcome, Run, Status, counted};
use std::collections::BTreeSet;

/// Whether a step was cut off and what was left of it gave no result.
fn lost(action: &ActionRecord) -> bool {
    action.kind == "measure" && action.outcome == Outcome::Invalid && action.attempt > 1
}

/// Whether a run that is complete has steps that can be measured all the same.
pub(crate) fn lacks_results(run: &Run) -> bool {
    run.actions.iter().any(lost)
}

/// What is to be done again because of these steps of an arm.
struct Anew<'a> {
    arm: usize,
    steps: Vec<&'a str>,
    seqs: BTreeSet<u32>,
}

impl Execution {
    /// Forgets what has to be done again, and returns the run as it is then.
    pub(crate) fn begin_anew(&mut self, run: &Run) -> Result<Option<Run>> {
        let steps = match run.status.status {
            Status::Complete => run.actions.iter().filter(|action| lost(action)).map(|a| a.seq).collect(),
            Status::Running | Status::Failed | Status::Interrupted => {
                let cut_off = self.writer().cut_off_actions()?;
                cut_writes(self.plan(), self.schedule(), &cut_off)
            }
        };
        if steps.is_empty() {
            return Ok(None);
        }
        // Before anything is forgotten: a run with actions to be done never says that it is complete.
        self.writer().set_status(Status::Running, None)?;
        let schedule = self.schedule().clone();
        for Anew { arm, steps, seqs } in anew(self.plan(), &schedule, &steps) {
            let done = run.actions.iter().filter(|action| seqs.contains(&action.seq));
            let measured = done.filter(|action| action.kind == "measure").count();
            let steps = steps.join(", ");
            let measured = counted(measured, "step");
            let text = format!(
                "starts over from the load because {steps} was interrupted; {measured} had been measured"
            );
            let name = self.plan().arms[arm].name.clone();
            self.writer().forget_actions(&seqs)?;
            self.writer().add_note(Some(&name), &text)?;
            self.tell(format!("arm {name} {text}"));
        }
        Ok(Some(self.writer().run()?))
    }
}

/// Of the steps that were cut off, those that leave data which nobody knows.
fn cut_writes(plan: &Plan, schedule: &Schedule, cut_off: &BTreeSet<u32>) -> BTreeSet<u32> {
    if plan.work.can_continue() {
        return BTreeSet::new();
    }
    let changes_rows = |action: &&Action| matches!(&action.kind, ActionKind::Measure(step) if step.writes);
    let of_schedule = schedule.actions.iter().filter(|action| cut_off.contains(&action.seq));
    of_schedule.filter(changes_rows).map(|action| action.seq).collect()
}

/// What has to be done again for these steps: all of the arm's pass; of all arms where it is base's work that they
/// repeat.
fn anew<'a>(plan: &Plan, schedule: &'a Schedule, steps: &BTreeSet<u32>) -> Vec<Anew<'a>> {
    let mut all: Vec<Anew<'a>> = Vec::new();
    for of in schedule.actions.iter().filter(|action| steps.contains(&action.seq)) {
        if let Some(earlier) = all.iter_mut().find(|one| one.seqs.contains(&of.seq)) {
            earlier.steps.push(of.kind.name());
            continue;
        }
        let sets_work = of.arm == plan.base_index() && of.pass == 1 && plan.work.repeats_base();
        let again = |action: &&Action| action.pass == of.pass && (sets_work || action.arm == of.arm);
        let seqs = schedule.actions.iter().filter(again).map(|action| action.seq).collect();
        all.push(Anew { arm: of.arm, steps: vec![of.kind.name()], seqs });
    }
    all
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
        Plan::parse(&text, "t.toml", &PlanContext::trusting(&rqps_workloads::BENCHMARKS)).unwrap().plan
    }

    /// The arm, pass and name of what is done again after this step of an arm, in this pass, was cut off.
    fn again(plan: &Plan, (arm, pass, step): (usize, u32, &str)) -> Vec<(usize, u32, String)> {
        let schedule = schedule(plan);
        let mut of_step = schedule.actions.iter();
        let cut = of_step.find(|a| (a.arm, a.pass, a.kind.name()) == (arm, pass, step)).unwrap().seq;
        let anew = anew(plan, &schedule, &cut_writes(plan, &schedule, &BTreeSet::from([cut])));
        let seqs: BTreeSet<u32> = anew.into_iter().flat_map(|one| one.seqs).collect();
        let named = |seq: u32| {
            let action = &schedule.actions[seq as usize];
            (action.arm, action.pass, action.kind.name().to_owned())
        };
        seqs.into_iter().map(named).collect()
    }

    const STEPS: &str = "rows = 1000\nsteps = [\"point-query\", \"update-index\", \"settle\", \"scan\"]";

    #[test]
    fn only_a_step_that_writes_and_does_not_tell_its_place_has_its_arm_begin_anew() {
        let whole = ["start", "load", "point-query", "update-index", "settle-1", "scan", "stop"];
        let plan_of_one_pass = plan("", STEPS);
        let of_b: Vec<_> = whole.iter().map(|name| (1, 1, (*name).to_owned())).collect();
        assert_eq!(again(&plan_of_one_pass, (1, 1, "update-index")), of_b);
        for step in ["start", "load", "point-query", "settle-1", "scan", "stop"] {
            assert_eq!(again(&plan_of_one_pass, (1, 1, step)), [], "{step}");
        }
        let queue = plan(
            "",
            "benchmark = \"insert\"\nsteps = [\"l.i0\", \"l.x\", \"l.i1\"]\n[insert]\nsize = \"smoke\"",
        );
        assert_eq!(again(&queue, (1, 1, "l.i1")), []);
    }

    #[test]
    fn in_several_passes_only_what_hangs_on_base_s_work_takes_the_others_along() {
        let count = |plan: &Plan, cut| {
            let again = again(plan, cut);
            let of = |arm, pass| again.iter().filter(|(a, p, _)| (*a, *p) == (arm, pass)).count();
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
