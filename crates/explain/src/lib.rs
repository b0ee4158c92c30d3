//! Explains why an arm is slower or faster than base: findings with their evidence, from a run folder and its
//! verdicts alone.
//!
//! [`explain`] looks at each test of each arm. A finding names a cause only if that cause's own evidence
//! differs by more than base differs from itself; the rest is reported as unexplained.

mod commits;
mod connections;
mod context;
mod counters;
mod debt;
mod decompose;
mod entry;
mod error;
mod figures;
mod foreground;
mod host;
mod mechanisms;
mod merge;
mod model;
mod only;
mod plans;
mod profile;
mod quantity;
mod queue;
mod rank;
pub mod renamed;
mod scale;
mod settings;
mod syncs;
mod time;
mod waits;
mod words;

use std::collections::BTreeSet;

use rqps_stats::{Class, Verdict};

use rqps_model::Group;
use rqps_store::{Arm, PlannedStep, Role, Run};
use rqps_verdicts::{MissedBy, RunVerdicts};

pub use commits::{promise_of, waiting_commits};
use context::Context;
pub use error::{Error, Result};
use figures::Reader;
pub use figures::{Windows, host_cpu_us};
pub use mechanisms::{can_act, is_of_developers};
pub use model::{
    Cause, Certainty, Commits, Decomposition, Difference, DifferenceKind, Evidence, ExplainRequest,
    Explanation, Finding, Part, PartName, RATIO_HIGH, RATIO_LOW, WaitingCommits, Word,
};
pub use plans::{Fingerprint, changes as plan_changes, shortened as shortened_plan};
pub use settings::{follows_machine, has_by_default, is_in_config, is_of_version, new_switches};

/// Explains the requested tests and arms, ordered by group, test and arm. `judged` holds the verdicts
/// relative to the requested base; `None` for a run without blocks.
///
/// # Errors
/// Returns an error if the run lacks a requested test or arm, or cannot be read.
pub fn explain(run: &Run, judged: Option<&RunVerdicts>, asked: &ExplainRequest) -> Result<Vec<Explanation>> {
    let base =
        asked.base.unwrap_or_else(|| run.arms.iter().position(|arm| arm.role == Role::Base).unwrap_or(0));
    let steps = steps(run);
    check(run, asked, base, &steps)?;
    let plans_base = run.arms.get(base).is_some_and(|arm| arm.role == Role::Base);
    let control =
        run.arms.iter().position(|arm| arm.control && arm.role != Role::Base).filter(|_| plans_base);
    let mut explanations = Vec::new();
    let windows = Windows::new(run);
    let mut reader = Reader::new(&windows)?;
    for (group, test) in steps.iter().filter(|(_, test)| asked.tests.is_empty() || asked.tests.contains(test))
    {
        for arm in (0..run.arms.len()).filter(|arm| *arm != base) {
            let is_selected =
                if asked.arms.is_empty() { Some(arm) != control } else { asked.arms.contains(&arm) };
            let missed = || queue::missed(&windows, test, [base, arm]);
            if !is_selected || (asked.tests.is_empty() && is_same(judged, test, arm) && !missed()) {
                continue;
            }
            let control = control.filter(|control| *control != arm);
            let figures = reader.figures(judged, test, [base, arm], control)?;
            let decomposition = decompose::decompose(&figures);
            let (windows, figures) = (&windows, &figures);
            let cx = Context { run, windows, judged, test, arm, base, control, figures, decomposition };
            if judged.is_some() || !asked.tests.is_empty() || is_changed(&cx) {
                explanations.push(of_test(&cx, group, !asked.tests.is_empty())?);
            }
        }
    }
    Ok(explanations)
}

/// What differs between two arms before anything is measured, by their indexes in [`Run::arms`].
///
/// # Errors
/// If the run cannot be read.
pub fn differences(run: &Run, base: usize, arm: usize) -> Result<Vec<Difference>> {
    settings::differences(run, None, (base, arm))
}

/// What differs between two directories as arms, also of two runs; nothing where either is no directory.
pub fn directory_differences(base: &Arm, arm: &Arm) -> Vec<Difference> {
    if base.is_directory() && arm.is_directory() { settings::directory(base, arm) } else { Vec::new() }
}

/// How the states differ in which a test of a sequence starts on an arm and on base: dead rows, sizes, the history list
/// and so on, a sentence each. Empty in runs of blocks, where tests leave nothing to each other.
///
/// # Errors
/// If the run cannot be read.
pub fn unlike_states(windows: &Windows<'_>, test: &str, base: usize, arm: usize) -> Result<Vec<String>> {
    match windows.run.meta.protocol == "isolated" {
        true => Ok(Vec::new()),
        false => debt::unlike_states(windows, test, base, arm),
    }
}

/// Whether two DBMSs, given by name, have the same kind of query plans and settings.
pub fn of_one_kind(one: &str, other: &str) -> bool {
    let kind = |name: &str| if name == "mariadb" { "mysql".to_owned() } else { name.to_owned() };
    kind(one) == kind(other)
}

/// Whether the verdicts leave nothing to explain. Undecided stalls or resources are no reason to look for
/// causes.
fn is_same(judged: Option<&RunVerdicts>, test: &str, arm: usize) -> bool {
    let is_unchanged = |verdict: &Verdict| match verdict.detector.is_rate_or_cost() {
        true => verdict.class == Class::Same,
        false => !verdict.class.is_change(),
    };
    judged.is_some_and(|judged| judged.of_arm(arm).filter(|verdict| verdict.test == test).all(is_unchanged))
}

/// Measured steps other than warm-ups, with their groups, in the order of tables.
fn steps(run: &Run) -> Vec<(String, String)> {
    let is_measured = |step: &&PlannedStep| {
        run.windows.iter().any(|window| window.action.step == step.name)
            && step.role != Some(rqps_model::Role::Warm)
    };
    let mut steps: Vec<(&PlannedStep, &Group)> =
        run.steps.iter().filter(is_measured).filter_map(|step| Some((step, step.group.as_ref()?))).collect();
    steps.sort_by(|(a, of_a), (b, of_b)| {
        of_a.order(&a.name, a.position).cmp(&of_b.order(&b.name, b.position))
    });
    // Each pass has planned it.
    let mut known = BTreeSet::new();
    steps.retain(|(step, _)| known.insert(&step.name));
    steps.into_iter().map(|(step, group)| (group.key.to_string(), step.name.clone())).collect()
}

fn check(run: &Run, asked: &ExplainRequest, base: usize, steps: &[(String, String)]) -> Result<()> {
    for test in &asked.tests {
        if !steps.iter().any(|(_, step)| step == test) {
            let known = steps.iter().map(|(_, step)| step.clone()).collect();
            return Err(Error::NoSuchTest { test: test.clone(), run: run.folder.name(), known });
        }
    }
    match asked.arms.iter().chain([&base]).find(|arm| **arm >= run.arms.len()) {
        Some(arm) => Err(Error::NoSuchArm { arm: *arm, run: run.folder.name(), arms: run.arms.len() }),
        None => Ok(()),
    }
}

fn of_test(cx: &Context<'_>, group: &str, is_named: bool) -> Result<Explanation> {
    let differences = settings::differences(cx.run, Some((cx.windows, cx.test)), (cx.base, cx.arm))?;
    let suspects = mechanisms::Suspects::find(cx, &differences)?;
    let may_be_chance = cx.judged.is_some() && !is_changed(cx);
    // A different query plan is a fact; among many figures some always exceed noise by chance.
    let searched = !may_be_chance || is_named && !is_same(cx.judged, cx.test, cx.arm);
    let (mut findings, remarks) =
        if searched { findings(cx, &differences, &suspects)? } else { (plans::findings(cx)?, Vec::new()) };
    if !only::name(cx, &differences, &mut findings) {
        suspects.attach(&mut findings);
    }
    // A share of a change that nobody knows of would be one of noise.
    let is_noise = cx.decomposition.as_ref().is_some_and(Decomposition::is_within_noise);
    let has_shares = cx.judged.is_none() || (cx.is_rate_changed() && !is_noise);
    if !has_shares {
        findings.iter_mut().for_each(|finding| finding.share = None);
    }
    Ok(Explanation {
        test: cx.test.to_owned(),
        group: group.to_owned(),
        arm: cx.arm,
        base: cx.base,
        searched,
        may_be_chance,
        findings,
        has_shares,
        decomposition: cx.decomposition.clone(),
        commits: commits::of_test(cx)?,
        differences,
        remarks,
    })
}

/// Whether there is a change to explain: a verdict, a missed rate of background writes, or a more expensive
/// queue.
fn is_changed(cx: &Context<'_>) -> bool {
    let has_missed = match cx.judged {
        // What happens now and then is the host's doing.
        Some(judged) => matches!(
            judged.missed_by(cx.run, cx.test, (cx.arm, cx.base)),
            Some(MissedBy::Arm | MissedBy::Base)
        ),
        None => queue::missed(cx.windows, cx.test, [cx.base, cx.arm]),
    };
    has_missed || cx.changed() || queue::is_more_expensive(cx)
}

/// Findings, and remarks on what was not measured.
fn findings(
    cx: &Context<'_>,
    differences: &[Difference],
    suspects: &mechanisms::Suspects,
) -> Result<(Vec<Finding>, Vec<String>)> {
    let mut found = queue::findings(cx);
    // If the arms did different work, their times per operation are not comparable.
    if found.iter().all(|finding| finding.word != Word::NotComparable) {
        found.extend(time::findings(cx));
    }
    found.extend(debt::findings(cx)?);
    found.extend(counters::findings(cx));
    found.extend(connections::findings(cx));
    found.extend(plans::findings(cx)?);
    found.extend(host::findings(cx));
    found.extend(syncs::findings(cx, differences));
    found.extend(waits::findings(cx)?);
    let mut remarks = remarks(cx);
    // No program serves a directory that could be profiled or counted.
    let profiles = match cx.candidate().is_directory() {
        true => profile::Found::default(),
        false => profile::compare(cx, &mut remarks)?,
    };
    found.extend(profiles.finding);
    // Beside what verdicts show, what they only find likely accounts for nothing.
    let is_aside = |finding: &Finding| cx.changed() && matches!(finding.certainty, Certainty::Likely { .. });
    let (likely, found) = found.into_iter().partition(is_aside);
    let mut ranked = rank::ranked(cx, found, suspects);
    rank::add_likely(cx, &mut ranked, likely);
    if let Some(new) = profiles.new {
        new.tell(&mut ranked);
    }
    Ok((ranked, remarks))
}

/// What was not measured, and how to measure it.
fn remarks(cx: &Context<'_>) -> Vec<String> {
    let repeats = match cx.has_independent_tests() {
        _ if cx.run.meta.is_imported() => "repeats of every arm, given to one import, show",
        true => "protocol \"isolated\" or `passes` in the plan measures",
        false => "`passes = 3` in the plan measures",
    };
    let one_pass = format!(
        "one pass: rates are explained from 5 % on, other figures named from 10 % on, and any of them may be noise; \
         {repeats} the noise"
    );
    let time_remark = match decompose::instructions_metric(cx.figures) {
        _ if cx.candidate().is_directory() => None,
        _ if cx.decomposition.is_none() => {
            Some("no CPU times per session, so the time per operation is not split".to_owned())
        }
        None => Some(format!(
            "no instruction counts{}; only server counters tell more work from slower work",
            why_not_counted(cx)
        )),
        Some(_) if decompose::is_counted_apart(cx.figures) => Some(
            "instructions were counted in a separate start of the server, not in the measured windows; where a test writes, or \
             executes 2 % more or fewer of them, CPU time that they do not account for is not called slower or faster work"
                .to_owned(),
        ),
        Some(_) => None,
    };
    let one_pass = (!cx.figures.replicated).then_some(one_pass);
    one_pass.into_iter().chain(after_resume(cx)).chain(time_remark).collect()
}

/// `: turned off by the plan (no hardware counters)`, as the run wrote it down.
fn why_not_counted<'r>(cx: &Context<'r>) -> &'r str {
    let why = cx.run.meta.method_of("instructions").and_then(|source| source.strip_prefix("none"));
    why.filter(|why| !why.is_empty()).unwrap_or(": there are no hardware counters")
}

/// What a resume measured after what it is compared with.
fn after_resume(cx: &Context<'_>) -> Option<String> {
    let apart = &cx.figures.apart;
    let (base, arm) = cx.names();
    let why = format!("a resume measured this test on one of {base} and {arm} when it was done on the other");
    let numbers: Vec<String> = apart.iter().map(u32::to_string).collect();
    match numbers.as_slice() {
        [] => None,
        _ if !cx.figures.leaves_apart_out => {
            Some(format!("in every pass, {why}: the host may have changed between"))
        }
        [one] => Some(format!("pass {one} is left out of these figures: {why}")),
        several => Some(format!("passes {} are left out of these figures: {why}", several.join(", "))),
    }
}
