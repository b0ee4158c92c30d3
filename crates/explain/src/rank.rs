//! Reduces all findings to those worth reporting: findings of one mechanism are merged, the heaviest comes
//! first, and the rest of the change is reported as unexplained.
//!
//! Counters move together: a plan that reads more blocks also executes more instructions. The finding closest
//! to a cause stays and takes the others' figures as evidence. It takes CPU time only if it can account for
//! it: see `merge.rs`.

use crate::context::Context;
use crate::counters;
use crate::decompose::time_per_op;
use crate::mechanisms::Suspects;
use crate::merge::{absorbs, merge_all};
use crate::model::{Cause, Certainty, Decomposition, Evidence, Finding, PartName, Word};
use crate::time::{MOST, find_part, share_of, unsteady_wait};
use crate::words;
use rqps_stats::Detector;

/// Maximum weight of a finding whose share of the change is unknown.
const UNSIZED: f64 = 0.25;
/// Minimum share of the change that is reported as unexplained.
const LEFT_OVER: f64 = 0.4;
/// What a share of 1 may exceed it by.
const ROUNDING: f64 = 0.005;
/// A longer wait that the arms' settings account for comes before the host from this share of the host's weight on.
const LEADING_WAIT: f64 = 0.5;

pub(crate) fn ranked(cx: &Context<'_>, found: Vec<Finding>, suspects: &Suspects) -> Vec<Finding> {
    let mut findings = merge_all(cx, found, suspects);
    same_work(cx, &mut findings);
    let rose = got_more_expensive(cx);
    for finding in &mut findings {
        finding.weight = weight(finding, rose);
    }
    findings.extend(left_over(cx, &findings, suspects));
    let wait = wait_of_settings(&findings, suspects);
    // What accounts for next to nothing, or for nobody knows how much, does not lead where most is not explained, nor
    // before the instructions that the change consists of.
    let is_left_over = |finding: &Finding| finding.word == Word::NotExplained && finding.weight >= LEFT_OVER;
    let has_left_over = findings.iter().any(is_left_over);
    let is_unexplained = |finding: &Finding| match has_left_over {
        true => is_left_over(finding),
        false => finding.cause == Cause::Instructions && cx.is_other_work() && finding.weight > 0.0,
    };
    let has_unexplained = !suspects.are_only_difference() && findings.iter().any(is_unexplained);
    let most_unexplained =
        findings.iter().filter(|one| is_unexplained(one)).map(|one| one.weight).fold(0.0, f64::max);
    let is_little = |finding: &Finding| match finding.share {
        // Both are shares of one CPU time.
        Some(share) if finding.cause == Cause::Background => (0.0..most_unexplained).contains(&share),
        Some(share) => (0.0..UNSIZED).contains(&share),
        None => is_figure(finding) && finding.weight >= 0.0,
    };
    let rank = |finding: &Finding| match finding.word {
        _ if has_unexplained && !is_unexplained(finding) && is_little(finding) => 3,
        // Whoever waits queues for a CPU afterwards, and leaves it to others meanwhile.
        Word::TheHost if finding.weight > 0.0 && finding.weight <= wait / LEADING_WAIT => 2,
        _ => rank(cx, finding, suspects),
    };
    findings.sort_by(|a, b| rank(a).cmp(&rank(b)).then(b.weight.total_cmp(&a.weight)));
    findings
}

/// Adds what verdicts find likely beside a change that they show, after all that explains it. What works against that
/// explains nothing, nor does a second figure of what is established.
pub(crate) fn add_likely(cx: &Context<'_>, ranked: &mut Vec<Finding>, found: Vec<Finding>) {
    let rose = got_more_expensive(cx);
    for mut finding in found {
        finding.weight = weight(&finding, rose);
        let is_told = |one: &Finding| match absorbs(one.cause, finding.cause) {
            true => one.direction().is_none_or(|more| Some(more) == finding.direction()),
            false => one.cause == finding.cause && one.direction() == finding.direction(),
        };
        if finding.weight >= 0.0 && !ranked.iter().any(is_told) {
            ranked.push(finding);
        }
    }
}

/// Order: what makes rates incomparable, explained findings, unexplained ones, waiting where only the cost changed,
/// then what works against the change. If the arms differ only in known settings, findings that those account for come
/// first and the others after them: they follow from something unseen, or are chance.
fn rank(cx: &Context<'_>, finding: &Finding, suspects: &Suspects) -> u8 {
    let against = u8::from(finding.weight < 0.0);
    let alone = suspects.are_only_difference();
    match finding.word {
        Word::NotComparable => 0,
        word if word.is_waiting() && cx.is_cost_alone() => 3 + against,
        Word::TheHost if alone && cx.is_other_work() => 2,
        word if alone && word != Word::TheHost => match finding.cause {
            Cause::Unknown => 3,
            _ if suspects.account_for(finding) => 1 + against,
            _ if is_wait_for_most(finding) => 2,
            _ => 4 + against,
        },
        // Different DBMSs do different work, which no counter that both have tells, unless what the machine did besides
        // accounts for most of the change.
        Word::TheHost if against == 0 && !cx.of_one_kind() && finding.weight < MOST => 2,
        Word::NotExplained if against == 0 && (cx.of_one_kind() || finding.cause == Cause::Unknown) => 2,
        _ => 1 + 3 * against,
    }
}

/// Whether it is a figure that merely differs: no fact such as another plan, and no state of the machine or the data.
fn is_figure(finding: &Finding) -> bool {
    let is_of_work = matches!(
        finding.word,
        Word::MoreWork
            | Word::LessWork
            | Word::MoreCpuTime
            | Word::LessCpuTime
            | Word::SlowerWork
            | Word::FasterWork
            | Word::MoreWaiting
            | Word::LessWaiting
    );
    is_of_work && finding.cause != Cause::TailEntries
}

/// Whether waiting of a kind that was measured makes up most of the change: it leads then, whatever may be unseen.
fn is_wait_for_most(finding: &Finding) -> bool {
    let is_measured = finding.word.is_waiting() && finding.cause != Cause::Waiting;
    is_measured && finding.weight >= MOST
}

/// The weight of a longer wait, beyond queueing for a CPU, if the arms differ only in known settings and these account
/// for it; else 0.
fn wait_of_settings(findings: &[Finding], suspects: &Suspects) -> f64 {
    let mut waits = findings.iter().filter(|finding| {
        finding.cause == Cause::Waiting && suspects.are_only_difference() && suspects.account_for(finding)
    });
    waits.next().map_or(0.0, |wait| wait.weight)
}

/// If no counter explains a change of instructions, names the work that stayed the same.
fn same_work(cx: &Context<'_>, findings: &mut [Finding]) {
    let same = counters::same_work(cx);
    let instructions = findings.iter_mut().find(|finding| finding.cause == Cause::Instructions);
    if let (Some(finding), false) = (instructions, same.is_empty()) {
        finding.sentence.push_str(&format!(", for the same {same}"));
    }
}

/// Whether an operation takes longer on the arm or, if its rate is undecided, costs more or uses more of a resource;
/// `None` if all are undecided.
fn got_more_expensive(cx: &Context<'_>) -> Option<bool> {
    let rate = cx.verdict(Detector::Rate).filter(|verdict| verdict.class.is_change());
    rate.map(|verdict| verdict.class.is_regression())
        .or_else(|| cx.costs_more())
        .or_else(|| cx.likely_got_more_expensive())
        .or_else(|| time_rose(cx))
        .or_else(|| rate_fell(cx))
}

/// Whether the arm's rate is lower in a run without verdicts; `None` if it hardly differs.
fn rate_fell(cx: &Context<'_>) -> Option<bool> {
    let ratio = cx.figures.ratio().filter(|_| cx.judged.is_none() && cx.changed());
    ratio.map(|ratio| ratio < 1.0)
}

/// Whether an operation takes longer on the arm; `None` if that is not significant.
fn time_rose(cx: &Context<'_>) -> Option<bool> {
    let split = cx.decomposition.as_ref()?;
    share_of(cx, split, 1.0).map(|_| split.change_us_per_op() > 0.0)
}

fn weight(finding: &Finding, got_more_expensive: Option<bool>) -> f64 {
    let agrees = finding.direction().zip(got_more_expensive).is_none_or(|(more, rose)| more == rose);
    match finding.share {
        Some(share) => share.clamp(-1.0, 1.0),
        None if matches!(finding.word, Word::AnotherPlan | Word::NotComparable) => finding.weight,
        // One of two sessions became more expensive, whatever the other session and the machine did to the
        // time.
        None if finding.cause == Cause::TailEntries => finding.weight,
        None => UNSIZED * finding.weight.clamp(0.0, 1.0) * if agrees { 1.0 } else { -1.0 },
    }
}

/// The unexplained part of a change of the rate.
fn left_over(cx: &Context<'_>, found: &[Finding], suspects: &Suspects) -> Option<Finding> {
    let is_comparable = found.iter().all(|finding| finding.word != Word::NotComparable);
    if !cx.changed() || !is_comparable {
        return None;
    }
    let (arm, base) = cx.names();
    let accounted = found.iter().any(|finding| suspects.account_for(finding));
    if let Some(unseen) = suspects.unseen(time_rose(cx)).filter(|_| !accounted) {
        let nothing = match found.iter().any(|finding| finding.share.is_some_and(|share| share > 0.0)) {
            true => format!("none of these figures is known to follow from how {arm} differs from {base}"),
            false => format!("no measured figure explains how {arm} differs from {base}"),
        };
        let sentence = format!("{nothing}; {unseen}");
        return Some(unexplained(cx, sentence, 1.0));
    }
    // What works against the change explains none of it, nor does waiting explain a cost.
    let is_beside = |finding: &Finding| finding.word.is_waiting() && cx.is_cost_alone();
    let explains = found.iter().any(|finding| finding.weight >= 0.0 && !is_beside(finding));
    let split = cx.decomposition.as_ref();
    let whole = split.and_then(|split| share_of(cx, split, split.change_us_per_op()));
    let Some((split, whole)) = split.zip(whole) else {
        // Files of rates alone have no figure that could.
        let has_figures = !cx.run.meta.is_imported()
            || cx.run.windows.iter().any(|one| one.action.step == cx.test && !one.metrics.is_empty());
        let sentence = match found {
            [] => format!("no measured figure differs between {arm} and {base} by more than noise"),
            _ => format!("no measured figure that differs between {arm} and {base} explains the change"),
        };
        return (has_figures && !explains).then(|| unexplained(cx, sentence, 1.0));
    };
    let left = whole - found.iter().filter_map(|finding| finding.share).sum::<f64>();
    // What is left of a time that is not known to have changed is not known either.
    if left < LEFT_OVER || !cx.is_rate_changed() || (explains && split.is_within_noise()) {
        return None;
    }
    let change = split.change_us_per_op();
    let left_us = words::number((left * change).abs());
    let is_all = (left - 1.0).abs() <= ROUNDING;
    let rest = match left {
        _ if is_all && explains => "no figure here accounts for any of that".to_owned(),
        _ if is_all => "that has no known cause".to_owned(),
        left => {
            let amount = match left > 1.0 {
                true => format!("{left_us} us, more than all of that since other parts offset it,"),
                false => format!("{left_us} us ({}) of that", words::percent(left)),
            };
            let cause = match explains {
                true => "cannot be attributed to any figure here",
                false => "has no known cause",
            };
            format!("{amount} {cause}")
        }
    };
    let sentence = format!(
        "{arm} takes {} us {} per {} than {base}; {rest}{}{}",
        words::number(change.abs()),
        if change > 0.0 { "longer" } else { "less" },
        cx.operation(),
        unsteady_wait(cx, split, left * change).unwrap_or_default(),
        advice(cx, split, left * change),
    );
    Some(unexplained(cx, sentence, left.min(1.0)))
}

fn advice(cx: &Context<'_>, split: &Decomposition, left_us: f64) -> String {
    let server = find_part(&split.parts, &[PartName::Server]).map_or(0.0, |part| part.change_us_per_op);
    let (run, test) = (cx.run.folder.name(), cx.test);
    match server / left_us > LEFT_OVER && cx.has_independent_tests() {
        true => format!("; `rqps profile {run} --test {test}` shows which server functions take it"),
        false => String::new(),
    }
}

fn unexplained(cx: &Context<'_>, sentence: String, weight: f64) -> Finding {
    let found = cx.figures.quantity(time_per_op);
    let evidence = found.map(|found| Evidence::figure("time per operation", cx.per_op("us"), &found));
    Finding {
        word: Word::NotExplained,
        cause: Cause::Unknown,
        sentence,
        weight,
        share: None,
        certainty: found.map_or(Certainty::SinglePass, |found| cx.certainty(&found)),
        evidence: evidence.into_iter().collect(),
    }
}
