//! Chooses the tests and arms to profile.

use super::ProfiledTests;
use crate::error::{Error, Result};
use rqps_model::Role;
use rqps_plan::{Plan, Step, StepDef};
use rqps_stats::Class;
use rqps_store::{Outcome, Run};
use rqps_verdicts::{has_blocks, judge_run, rules_of};
use std::collections::BTreeSet;

/// Ratios of rates outside of which a test counts as changed in a run without verdicts.
const UNCHANGED: std::ops::RangeInclusive<f64> = 0.95..=1.05;

/// The tests, in the order in which the run measures them.
pub(super) fn tests(run: &Run, plan: &Plan, request: &ProfiledTests) -> Result<Vec<StepDef>> {
    let known = known(plan);
    let chosen: BTreeSet<String> = match request {
        ProfiledTests::All => return Ok(known),
        ProfiledTests::Changed if has_blocks(run) => by_verdicts(run)?,
        ProfiledTests::Changed => by_rates(run, plan),
        ProfiledTests::Named(names) => {
            check_names("test", names, known.iter().map(|test| test.name.as_str()))?;
            names.iter().cloned().collect()
        }
    };
    Ok(known.into_iter().filter(|test| chosen.contains(&test.name)).collect())
}

/// Indices of the arms of these names, or of all arms but the control if there are no names.
pub(super) fn arms(plan: &Plan, names: &[String]) -> Result<Vec<usize>> {
    check_names("arm", names, plan.arms.iter().map(|arm| arm.name.as_str()))?;
    let is_requested = |arm: &rqps_plan::Arm| match names {
        [] => !arm.control,
        names => names.contains(&arm.name),
    };
    Ok(plan.arms.iter().enumerate().filter(|(_, arm)| is_requested(arm)).map(|(index, _)| index).collect())
}

/// Fails if one of the names is not known.
fn check_names<'a>(what: &'static str, names: &[String], known: impl Iterator<Item = &'a str>) -> Result<()> {
    let known: Vec<&str> = known.collect();
    match names.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(Error::NotInRun { what, name: name.clone(), known: known.join(", ") }),
        None => Ok(()),
    }
}

/// Each test of the plan once, whatever the names of its steps.
fn known(plan: &Plan) -> Vec<StepDef> {
    let mut tests: Vec<StepDef> = Vec::new();
    for step in plan.steps() {
        if let Step::Measure(step) = step
            && !tests.iter().any(|known| known.name == step.test)
        {
            tests.extend(plan.step(&step.test));
        }
    }
    tests
}

fn by_verdicts(run: &Run) -> Result<BTreeSet<String>> {
    let judged = judge_run(run, &rules_of(run)?)?;
    let changed = judged
        .on_candidates()
        .filter(|verdict| matches!(verdict.class, Class::Regression { .. } | Class::Improvement { .. }));
    Ok(changed.map(|verdict| test_of(run, &verdict.test)).collect())
}

/// Tests whose rate on any candidate differs from base's.
fn by_rates(run: &Run, plan: &Plan) -> BTreeSet<String> {
    let is_result = |window: &&rqps_store::Recorded<rqps_store::Window>| {
        window.action.outcome == Outcome::Done && window.result.role != Role::Warm
    };
    let rate = |step: &str, arm: &str| {
        let mut windows = run.windows.iter().filter(is_result);
        windows.find(|window| window.action.step == step && window.action.arm == arm)?.result.rate()
    };
    let is_control = |name: &str| plan.arms.iter().any(|arm| arm.control && arm.name == name);
    let on_candidates = run.windows.iter().filter(is_result).filter(|window| !is_control(&window.action.arm));
    let changed = on_candidates.filter(|window| {
        let ratio =
            window.result.rate().zip(rate(&window.action.step, &plan.base)).map(|(arm, base)| arm / base);
        ratio.is_some_and(|ratio| !UNCHANGED.contains(&ratio))
    });
    changed.map(|window| window.result.test.clone()).collect()
}

/// The test of a step: `scan` of `scan.pre`.
fn test_of(run: &Run, step: &str) -> String {
    let test = run.steps.iter().find(|one| one.name == step).and_then(|one| one.test.clone());
    test.unwrap_or_else(|| step.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rqps_plan::PlanContext;
    use rqps_store::RunFolder;
    use rqps_verdicts::testing::{Spec, write_run};

    fn names(run: &Run, plan: &Plan, request: &ProfiledTests) -> Vec<String> {
        tests(run, plan, request).unwrap().into_iter().map(|test| test.name).collect()
    }

    #[test]
    fn changed_tests_are_chosen_by_verdicts_or_else_by_rates() {
        let dir = tempfile::tempdir().unwrap();
        // Verdicts detect a change of cost alone, rates do not.
        let effects =
            vec![(2, "update-index", 0.85, 1.0), (2, "hot-points", 1.0, 1.03), (1, "insert", 0.9, 1.1)];
        let spec = Spec { effects, block_sd: 0.002, ..Spec::default() };
        let mut run = RunFolder::open(&write_run(dir.path(), &spec).unwrap()).unwrap();
        let text = "base = \"old\"\n[workload]\nrows = 1000\n\
            steps = [\"hot-points.warm\", \"hot-points.pre\", \"update-index\", \"settle\", \"hot-points\", \"insert\"]\n\
            [[arm]]\nname = \"old\"\nbuild = \"postgres-17\"\nconfig = \"sized\"\n\
            [[arm]]\nname = \"control\"\ncontrol = true\nbuild = \"postgres-17\"\nconfig = \"sized\"\n\
            [[arm]]\nname = \"new\"\nbuild = \"postgres-18\"\nconfig = \"sized\"\n";
        let plan =
            Plan::parse(text, "p.toml", &PlanContext::trusting(rqps_workloads::BENCHMARKS)).unwrap().plan;
        assert_eq!(names(&run, &plan, &ProfiledTests::All), ["hot-points", "update-index", "insert"]);
        // A difference of the control is not a change.
        assert_eq!(names(&run, &plan, &ProfiledTests::Changed), ["hot-points", "update-index"]);
        run.blocks.clear();
        assert_eq!(names(&run, &plan, &ProfiledTests::Changed), ["update-index"]);
        assert_eq!(arms(&plan, &[]).unwrap(), [0, 2]);
        assert_eq!(arms(&plan, &["control".to_owned()]).unwrap(), [1]);
        let unknown = tests(&run, &plan, &ProfiledTests::Named(vec!["scan".to_owned()])).unwrap_err();
        assert!(unknown.to_string().contains("it has hot-points, update-index, insert"), "{unknown}");
    }
}
