//! Why an arm is slower or faster than base: findings with their evidence, from a run folder and its verdicts alone.
//!
//! [`explain`] looks at one test of one arm after the other. A finding names a cause only where that cause's own
//! evidence stands out of what base against itself varies; what is left is said to be not explained.

mod connections;
mod context;
mod counters;
mod debt;
mod decompose;
mod error;
mod figures;
mod host;
mod mechanisms;
mod merge;
mod model;
mod plans;
mod profile;
mod quantity;
mod queue;
mod rank;
mod settings;
mod time;
mod waits;
mod words;

use rqps_stats::{Class, Detector, Verdict};

use rqps_store::{Role, Run};
use rqps_verdicts::RunVerdicts;

use context::Context;
pub use error::{Error, Result};
use figures::Reader;
pub use model::{
    Asked, Cause, Certainty, Decomposition, Difference, DifferenceKind, Evidence, Explanation, Finding, Part,
    RATIO_HIGH, RATIO_LOW, Word,
};
pub use plans::{Fingerprint, changes as plan_changes};
use rank::Item;

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
    let mut reader = Reader::new(run)?;
    for (group, test) in steps.iter().filter(|(_, test)| asked.tests.is_empty() || asked.tests.contains(test))
    {
        for arm in (0..run.arms.len()).filter(|arm| *arm != base) {
            let is_its_arm =
                if asked.arms.is_empty() { Some(arm) != control } else { asked.arms.contains(&arm) };
            let missed = queue::missed(run, test, arm) || queue::missed(run, test, base);
            if !is_its_arm || (asked.tests.is_empty() && !missed && is_same(judged, test, arm)) {
                continue;
            }
            let figures = reader.figures(test, base, arm, control.filter(|control| *control != arm))?;
            let decomposition = decompose::decompose(&figures);
            let cx = Context { run, judged, test, arm, base, figures: &figures, decomposition };
            let is_asked = judged.is_some() || !asked.tests.is_empty();
            if is_asked || missed || cx.changed() || queue::is_dearer(&cx) {
                explanations.push(of_test(&cx, group)?);
            }
        }
    }
    Ok(explanations)
}

/// Whether two DBMSs, by their names, have query plans and settings of one kind.
pub fn of_one_kind(one: &str, other: &str) -> bool {
    let kind = |name: &str| if name == "mariadb" { "mysql".to_owned() } else { name.to_owned() };
    kind(one) == kind(other)
}

/// Whether verdicts say that there is nothing to explain. That stalls or resources are not decided is no reason to
/// look for causes.
fn is_same(judged: Option<&RunVerdicts>, test: &str, arm: usize) -> bool {
    let is_nothing = |verdict: &Verdict| match verdict.detector {
        Detector::Rate | Detector::Cost => verdict.class == Class::Same,
        _ => !verdict.class.is_change(),
    };
    judged.is_some_and(|judged| judged.of_arm(arm).filter(|verdict| verdict.test == test).all(is_nothing))
}

/// Measured steps that are no warm-up: by group and name, those that share a queue in their order, which is no
/// alphabetical one.
fn steps(run: &Run) -> Vec<(String, String)> {
    let mut steps: Vec<(usize, String, String)> = Vec::new();
    for window in &run.windows {
        let (step, group) = (&window.action.step, &window.result.group);
        if window.result.role == rqps_model::Role::Warm || steps.iter().any(|(_, _, name)| name == step) {
            continue;
        }
        let is_of_queue = queue::GROUPS.contains(&group.as_str());
        let at = run.steps.iter().position(|planned| planned.name == *step);
        let place = if is_of_queue { at.unwrap_or(0) + 1 } else { 0 };
        steps.push((place, group.clone(), step.clone()));
    }
    steps.sort();
    steps.into_iter().map(|(_, group, step)| (group, step)).collect()
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
    let differences = settings::of_test(cx)?;
    let suspects = mechanisms::Suspects::of(cx, &differences)?;
    let searched = is_shown(cx);
    // That the plan is another one is a fact; some figures always stand out by chance.
    let (mut findings, remarks) =
        if searched { findings(cx, &suspects)? } else { (plans::of_test(cx)?, Vec::new()) };
    suspects.attach(&mut findings);
    Ok(Explanation {
        test: cx.test.to_owned(),
        group: group.to_owned(),
        arm: cx.arm,
        base: cx.base,
        searched,
        findings,
        decomposition: cx.decomposition.clone(),
        differences,
        remarks,
    })
}

/// Whether there is something to explain: a verdict that shows a change, or a run that has none.
fn is_shown(cx: &Context<'_>) -> bool {
    let missed = queue::missed(cx.run, cx.test, cx.arm) || queue::missed(cx.run, cx.test, cx.base);
    cx.judged.is_none() || missed || cx.changed() || queue::is_dearer(cx)
}

/// What was found, and what could not be looked at.
fn findings(cx: &Context<'_>, suspects: &mechanisms::Suspects) -> Result<(Vec<Finding>, Vec<String>)> {
    let mut found: Vec<Item> = queue::of_test(cx).into_iter().map(Item::of).collect();
    // Where the two did not do the same, the time of an operation says nothing.
    if found.iter().all(|item| item.finding.word != Word::NotComparable) {
        found.extend(time::of_test(cx));
    }
    found.extend(debt::of_test(cx)?.into_iter().map(Item::of));
    found.extend(counters::of_test(cx).into_iter().map(Item::of));
    found.extend(connections::of_test(cx).into_iter().map(Item::of));
    found.extend(plans::of_test(cx)?.into_iter().map(Item::of));
    found.extend(host::of_test(cx).into_iter().map(Item::of));
    found.extend(waits::of_test(cx)?.into_iter().map(Item::of));
    let profiled = profile::of_test(cx)?;
    found.extend(profiled.findings.into_iter().map(Item::of));
    let findings = rank::tell(cx, found, suspects);
    let mut remarks = remarks(cx);
    remarks.extend(profiled.remarks);
    Ok((findings, remarks))
}

/// What could not be looked at, and what would make it visible.
fn remarks(cx: &Context<'_>) -> Vec<String> {
    let mut remarks = Vec::new();
    if !cx.figures.replicated {
        remarks.push(
            "one pass: only differences of 10 % and more are spoken of, and nothing tells them from noise; protocol \
             \"isolated\" or `passes` does"
                .to_owned(),
        );
    }
    if cx.decomposition.is_none() {
        remarks.push("no CPU times of sessions: the time per operation is not split".to_owned());
    } else if decompose::instructions_metric(cx.figures).is_none() {
        remarks.push(
            "no instructions: neither did the processor count them nor a program (`count_instructions` in \
             a plan of blocks); more work and slower work are told apart by counters only"
                .to_owned(),
        );
    } else if decompose::is_counted_apart(cx.figures) {
        remarks.push(
            "instructions were counted apart from the windows, in a start of their own: what they and CPU time do not \
             share is not said to be speed"
                .to_owned(),
        );
    }
    remarks
}
