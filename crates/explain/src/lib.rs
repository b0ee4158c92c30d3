//! Why an arm is slower or faster than base: findings with their evidence, from a run folder and its verdicts alone.
//!
//! [`explain`] looks at one test of one arm after the other. A finding names a cause only where that cause's own evidence
//! stands out of what base against itself varies; what is left is said to be not explained.

mod context;
mod error;
mod figures;
mod model;
mod quantity;

use std::collections::BTreeMap;

use rqps_store::{Role, Run};
use rqps_verdicts::RunVerdicts;

use context::Context;
pub use error::{Error, Result};
use figures::Figures;
pub use model::{
    Asked, Cause, Certainty, Decomposition, Difference, DifferenceKind, Evidence, Explanation, Finding, Part,
    RATIO_HIGH, RATIO_LOW, Word,
};

/// Explains what is asked for, ordered by group, test and arm. `judged` are the verdicts relative to the base that is
/// asked for; none in a run without blocks.
///
/// # Errors
/// When a test or an arm that is asked for is not in the run, or the run cannot be read.
pub fn explain(run: &Run, judged: Option<&RunVerdicts>, asked: &Asked) -> Result<Vec<Explanation>> {
    let base =
        asked.base.unwrap_or_else(|| run.arms.iter().position(|arm| arm.role == Role::Base).unwrap_or(0));
    let steps = steps(run);
    check(run, asked, base, &steps)?;
    let plans_base = run.arms.get(base).is_some_and(|arm| arm.role == Role::Base);
    let control =
        run.arms.iter().position(|arm| arm.control && arm.role != Role::Base).filter(|_| plans_base);
    let mut explanations = Vec::new();
    for ((group, test), arm) in steps
        .iter()
        .flat_map(|step| (0..run.arms.len()).map(move |arm| (step, arm)))
        .filter(|(_, arm)| *arm != base)
    {
        let is_asked = asked.tests.contains(test) || asked.tests.is_empty();
        let is_its_arm = if asked.arms.is_empty() { Some(arm) != control } else { asked.arms.contains(&arm) };
        if !is_asked || !is_its_arm {
            continue;
        }
        let figures = Figures::read(run, test, base, arm, control.filter(|control| *control != arm))?;
        let cx = Context { run, judged, test, arm, base, figures: &figures };
        if asked.tests.contains(test) || cx.is_open() {
            explanations.push(of_test(&cx, group)?);
        }
    }
    Ok(explanations)
}

/// Measured steps that are no warm-up, by group and name.
fn steps(run: &Run) -> Vec<(String, String)> {
    let steps: BTreeMap<(String, String), ()> = run
        .windows
        .iter()
        .filter(|window| !window.action.step.ends_with(".warm") && !window.action.step.ends_with(".warmpre"))
        .map(|window| ((window.result.group.clone(), window.action.step.clone()), ()))
        .collect();
    steps.into_keys().collect()
}

fn check(run: &Run, asked: &Asked, base: usize, steps: &[(String, String)]) -> Result<()> {
    for test in &asked.tests {
        if !steps.iter().any(|(_, step)| step == test) {
            let known: Vec<&str> = steps.iter().map(|(_, step)| step.as_str()).collect();
            return Err(Error::NoSuchTest {
                test: test.clone(),
                run: run.folder.name(),
                known: known.join(", "),
            });
        }
    }
    match asked.arms.iter().chain([&base]).find(|arm| **arm >= run.arms.len()) {
        Some(arm) => Err(Error::NoSuchArm { arm: *arm, run: run.folder.name(), arms: run.arms.len() }),
        None => Ok(()),
    }
}

fn of_test(cx: &Context<'_>, group: &str) -> Result<Explanation> {
    Ok(Explanation {
        test: cx.test.to_owned(),
        group: group.to_owned(),
        arm: cx.arm,
        base: cx.base,
        decomposition: None,
        findings: Vec::new(),
        differences: Vec::new(),
        remarks: Vec::new(),
    })
}
