//! The summary of the gate: outcome, changes, inconclusive verdicts, how far to trust them, and all verdicts
//! collapsed.

use rqps_model::sentence;
use rqps_stats::Detector;
use rqps_store::{Run, Status};

use crate::comparison::Comparison;
use crate::document::{Block, Document};
use crate::error::Result;
use crate::gate::decided::Decided;
use crate::gate::{ArmAtGate, Found, GateRules, Outcome, build};
use crate::tables::{arrivals, conditions, disturbed, trust, undecided, unpaired, verdicts};
use crate::verdict_lines::{Judged, Line};

pub(super) fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Regressed => "FAILED",
        Outcome::Incomplete => "FAILED, incomplete",
        Outcome::Undecided => "undecided, which is no pass",
    }
}

/// Why an imported run has no verdict.
pub(super) fn too_few_repeats(run: &Run, base: usize, (repeats, least): (usize, usize)) -> String {
    match run.arms.len() {
        1 => format!("There is no other arm to compare {} with.", run.arms[base].name),
        _ => format!(
            "The run has too few repeats for any verdict ({repeats}; it takes {least} of every arm): import more."
        ),
    }
}

/// Which arms have no verdict in a run that has blocks enough.
fn without_verdict(judged: &Judged<'_>, unjudged: &[usize]) -> String {
    let names: Vec<&str> = unjudged.iter().map(|arm| &*judged.run.arms[*arm].name).collect();
    let is_invalid = |arm: &usize| judged.verdicts.mostly_invalid.iter().any(|(_, of)| of == arm);
    let why = match unjudged.iter().all(is_invalid) {
        true => "its windows, or base's, are invalid in half of the blocks or more",
        false => "too few blocks have both it and base",
    };
    format!("There is no verdict on {}: {why} ({} blocks are needed).", names.join(", "), judged.blocks_min())
}

/// What was asked for and cannot be judged.
fn without_figures(judged: &Judged<'_>, unmeasured: &[Detector]) -> String {
    let names: Vec<&str> = unmeasured.iter().map(|detector| detector.key()).collect();
    let has_rates = unmeasured.contains(&Detector::Rate) && !judged.verdicts.rules.rates;
    let why = if has_rates { "Its plan keeps the run from judging" } else { "The run has no figures of" };
    format!("{why} {}, so whether that regressed is not known.", names.join(", "))
}

/// Of a gate that still measures: what its files say stays there if it is killed.
const WHEN_WRITTEN: &str = "The run was not complete when this was written";
const UNLESS_RUNNING: &str = "Unless it still runs, it was";

/// Why nothing, or not everything, could be judged.
pub(super) fn reasons(judged: &Judged<'_>, has_no_arms: bool, found: &Found<'_>) -> Vec<String> {
    let run = judged.run;
    let ended =
        found.cut_off.or(run.status.reason.as_deref().filter(|_| run.status.status == Status::Failed));
    let ended = ended.map(|why| {
        sentence(&match run.state() {
            Status::Running => {
                format!("{WHEN_WRITTEN}; judged is what it had measured. {UNLESS_RUNNING} {why}")
            }
            _ => format!("The run is not complete; judged is what it measured. It ended: {why}"),
        })
    });
    let no_verdict = || {
        let of_tests = judged.verdicts.judgement.verdicts.iter().map(|verdict| verdict.blocks);
        let blocks = of_tests.max().unwrap_or(judged.verdicts.blocks_done);
        let unpaired = found.unjudged.iter().any(|arm| !judged.unpaired(*arm).is_empty());
        match run.meta.is_imported() {
            // What is said of each arm tells more.
            true if unpaired => "There is no verdict on repeats that cannot be paired.".to_owned(),
            true => too_few_repeats(run, judged.base, (blocks, judged.blocks_min())),
            false if blocks < judged.blocks_min() || has_no_arms => format!(
                "The run has too few valid blocks for any verdict ({blocks}; it takes {}).",
                judged.blocks_min()
            ),
            false => without_verdict(judged, found.unjudged),
        }
    };
    let no_verdict = (has_no_arms || !found.unjudged.is_empty()).then(no_verdict);
    let unmeasured = (!found.unmeasured.is_empty()).then(|| without_figures(judged, found.unmeasured));
    ended.into_iter().chain(no_verdict).chain(unmeasured).collect()
}

/// The summary of a run that was imported without repeats.
pub(super) fn without_repeats(run: &Run, why: &str, outcome: Outcome) -> Document {
    let mut document = Document::default();
    document.push(Block::Heading(2, format!("rqps gate: {}", word(outcome))));
    document.push(Block::Text(why.to_owned()));
    document.extend(verdicts::without_result(run, |_| true));
    document
}

/// The summary of a run that ended before there was anything to judge.
pub(super) fn failed(run: &Run, why: &str) -> Document {
    let mut document = Document::default();
    document.push(Block::Heading(2, format!("rqps gate: {}", word(Outcome::Incomplete))));
    document.push(Block::Text(match run.state() {
        Status::Running => format!("{WHEN_WRITTEN}; nothing was judged. {UNLESS_RUNNING} {why}"),
        _ => format!("The run ended before anything was judged: {why}"),
    }));
    document
}

fn is_same_as_base(judged: &Judged<'_>, arm: usize) -> bool {
    judged.run.arms[arm].is_same_as(&judged.run.arms[judged.base])
}

/// `base and head are the same build with the same config`
fn names_of_same(judged: &Judged<'_>, same: &[usize]) -> String {
    let names: Vec<&str> =
        std::iter::once(&judged.base).chain(same).map(|arm| &*judged.run.arms[*arm].name).collect();
    format!("{} are the same build with the same config", names.join(" and "))
}

pub(super) fn document(
    judged: &Judged<'_>,
    comparison: &Comparison<'_>,
    arms: &[ArmAtGate<'_>],
    rules: &GateRules,
    found: &Found<'_>,
) -> Result<Document> {
    let is_judged = !arms.is_empty() && found.unjudged.is_empty();
    let warnings = comparison.warnings();
    let mut document = Document::default();
    let decided = Decided::of(judged, arms, rules);
    let regressed = decided.regressed();
    let share = if is_judged && regressed.is_empty() { decided.heading() } else { String::new() };
    let same: Vec<usize> =
        arms.iter().map(|one| one.arm).filter(|arm| is_same_as_base(judged, *arm)).collect();
    let are_all_same = !arms.is_empty() && same.len() == arms.len();
    let noise = match are_all_same {
        true => format!("; {}, so any difference is noise", names_of_same(judged, &same)),
        false => String::new(),
    };
    document.push(Block::Heading(2, format!("rqps gate: {}{regressed}{share}{noise}", word(found.outcome))));
    document.extend(reasons(judged, arms.is_empty(), found).into_iter().map(Block::Text));
    for ArmAtGate { arm, lines, .. } in arms {
        let fails =
            |line: &&Line<'_>| line.missed.as_ref().is_some_and(|missed| rules.fails_on_missed(missed));
        let tests: Vec<&str> = lines.iter().filter(fails).map(|line| line.test).collect();
        if !tests.is_empty() {
            let [arm, base] = [*arm, judged.base].map(|arm| &judged.run.arms[arm].name);
            document.push(Block::Text(format!(
                "REGRESSION: {arm} missed the target rate of background writes in every block of {}; {base} met it.",
                tests.join(", ")
            )));
        }
    }
    document.extend(disturbed::of_passes(comparison).into_iter().map(Block::Alarm));
    document.push_warnings(&warnings);
    let base = judged.label(comparison, judged.base);
    for (at, ArmAtGate { arm, lines, .. }) in arms.iter().enumerate() {
        let label = judged.label(comparison, *arm);
        let conditions = if at == 0 { conditions::blocks(&[(judged.run, judged.base)]) } else { Vec::new() };
        let first = (at == 0, conditions, verdicts::CHANGES_MAX);
        document.extend(verdicts::opening(judged, *arm, lines, (&label, &base), first));
        document.extend(undecided::open(judged, lines).map(Block::Text));
    }
    if is_judged {
        document.extend(decided.sentence().map(Block::Text));
    }
    let run = judged.run;
    let of_arms = std::iter::once(judged.base).chain(arms.iter().map(|one| one.arm));
    let builds = of_arms.filter_map(|arm| build(&run.arms[arm]));
    let builds: Vec<String> = builds.collect();
    document.extend((!builds.is_empty()).then_some(Block::Items(builds)));
    if !same.is_empty() && !are_all_same {
        let text = format!("{}: what differs in their results is noise.", names_of_same(judged, &same));
        document.push(Block::Text(text));
    }
    for ArmAtGate { arm, lines, .. } in arms {
        let label = judged.label(comparison, *arm);
        document.extend(unpaired::table(&judged.unpaired(*arm), &label, &base).block());
        if lines.is_empty() {
            continue;
        }
        let table = verdicts::table(judged, *arm, lines, &label, &base);
        let tables = std::iter::once(table).chain(verdicts::resources(judged, lines, &label, &base));
        document.push(Block::Fold(format!("All verdicts on {label}"), tables.map(Block::Table).collect()));
    }
    for row in judged.versions()? {
        document.push(arrivals::block(judged, row)?);
    }
    if !arms.is_empty() {
        document.push(Block::Text("How far to trust these verdicts:".to_owned()));
        document.push(trust::items(judged));
    }
    Ok(document)
}
