//! From everything that stands out to what is worth reporting: findings of one mechanism become one, the weightiest
//! comes first, and the rest of the change is reported as unexplained.
//!
//! Counters move together: a plan that reads more blocks also executes more instructions. The finding that is nearest
//! to a cause stays, and takes the figures of the others as its evidence. It takes CPU time only where it can account
//! for it: see `merge.rs`.

use crate::context::Context;
use crate::counters;
use crate::decompose::time_per_op;
use crate::mechanisms::Suspects;
use crate::merge::merge_all;
use crate::model::{Cause, Certainty, Decomposition, Evidence, Finding, PartName, Word};
use crate::time::{part, share_of};
use crate::words;
use rqps_stats::{Detector, Metric};

/// What a figure weighs whose share of the change cannot be said.
const UNSIZED: f64 = 0.25;
/// Share of the change that has to be left over before it is reported as unexplained.
const LEFT_OVER: f64 = 0.4;

pub(crate) fn ranked(cx: &Context<'_>, found: Vec<Finding>, suspects: &Suspects) -> Vec<Finding> {
    let mut findings = merge_all(cx, found, suspects);
    same_work(cx, &mut findings);
    let left = left_over(cx, &findings, suspects);
    let rose = got_more_expensive(cx);
    for finding in &mut findings {
        finding.weight = weight(finding, rose);
    }
    findings.extend(left);
    let place = |finding: &Finding| place(cx, finding, suspects);
    findings.sort_by(|a, b| place(a).cmp(&place(b)).then(b.weight.total_cmp(&a.weight)));
    findings
}

/// What makes rates incomparable goes before everything, what is explained before what is not, and all of that before
/// what works against the change. Where nothing but known differences was varied, what they account for goes first,
/// and what they do not account for comes behind them: it follows from something unseen, or is chance.
fn place(cx: &Context<'_>, finding: &Finding, suspects: &Suspects) -> u8 {
    let against = u8::from(finding.weight < 0.0);
    let alone = suspects.are_alone();
    match finding.word {
        Word::NotComparable => 0,
        Word::TheHost if alone && is_other_work(cx) => 2,
        word if alone && word != Word::TheHost => match finding.cause {
            Cause::Unknown => 3,
            _ if suspects.account_for(finding) => 1 + against,
            _ => 4 + against,
        },
        Word::NotExplained if against == 0 => 2,
        _ => 1 + 3 * against,
    }
}

/// Whether the arm is shown to execute more or fewer instructions: no busy host makes it do that.
fn is_other_work(cx: &Context<'_>) -> bool {
    let cost = cx.verdict(Detector::Cost);
    cost.is_some_and(|cost| cost.metric == Metric::Instructions && cost.class.is_change())
}

/// Instructions that no counter goes with: which work stayed the same.
fn same_work(cx: &Context<'_>, findings: &mut [Finding]) {
    let same = counters::same_work(cx);
    let its = findings.iter_mut().find(|finding| finding.cause == Cause::Instructions);
    if let (Some(finding), false) = (its, same.is_empty()) {
        finding.sentence.push_str(&format!(", for the same {same}"));
    }
}

/// Whether an operation takes longer on the arm, or costs more where its time is not decided; none where neither is.
fn got_more_expensive(cx: &Context<'_>) -> Option<bool> {
    let cost = cx.verdict(Detector::Cost).filter(|verdict| verdict.class.is_change());
    time_rose(cx).or_else(|| cost.map(|verdict| verdict.class.is_regression()))
}

/// Whether an operation takes longer on the arm; none where that is not shown.
fn time_rose(cx: &Context<'_>) -> Option<bool> {
    let split = cx.decomposition.as_ref()?;
    share_of(cx, split, 1.0).map(|_| split.change_us_per_op() > 0.0)
}

/// The weight that findings are ordered by.
fn weight(finding: &Finding, got_more_expensive: Option<bool>) -> f64 {
    let is_along = finding.direction().zip(got_more_expensive).is_none_or(|(more, rose)| more == rose);
    match finding.share {
        Some(share) => share.clamp(-1.0, 1.0),
        None if matches!(finding.word, Word::AnotherPlan | Word::NotComparable) => finding.weight,
        // One of two sessions became more expensive, whatever the other and the machine made of the time.
        None if finding.cause == Cause::TailEntries => finding.weight,
        None => UNSIZED * finding.weight.clamp(0.0, 1.0) * if is_along { 1.0 } else { -1.0 },
    }
}

/// What no finding accounts for, where a change of the rate is to be explained.
fn left_over(cx: &Context<'_>, found: &[Finding], suspects: &Suspects) -> Option<Finding> {
    let is_comparable = found.iter().all(|finding| finding.word != Word::NotComparable);
    if !cx.changed() || !is_comparable {
        return None;
    }
    let (arm, base) = cx.names();
    let accounted = found.iter().any(|finding| suspects.account_for(finding));
    if let Some(remain) = suspects.remain(time_rose(cx)).filter(|_| !accounted) {
        let sentence = format!("no measured figure explains how {arm} differs from {base}; {remain}");
        return Some(unexplained(cx, sentence, 1.0));
    }
    let split = cx.decomposition.as_ref();
    let whole = split.and_then(|split| share_of(cx, split, split.change_us_per_op()));
    let Some((split, whole)) = split.zip(whole) else {
        let sentence = format!("no measured figure differs between {arm} and {base} by more than noise");
        return found.is_empty().then(|| unexplained(cx, sentence, 1.0));
    };
    let left = whole - found.iter().filter_map(|finding| finding.share).sum::<f64>();
    if left < LEFT_OVER || !cx.is_rate_changed() {
        return None;
    }
    let change = split.change_us_per_op();
    let sentence = format!(
        "{arm} takes {} us {} per {} than {base}; {} us ({}) of that is unexplained{}",
        words::number(change.abs()),
        if change > 0.0 { "longer" } else { "less" },
        cx.operation(),
        words::number((left * change).abs()),
        words::percent(left.min(1.0)),
        advice(cx, split, left * change),
    );
    Some(unexplained(cx, sentence, left.min(1.0)))
}

fn advice(cx: &Context<'_>, split: &Decomposition, left_us: f64) -> String {
    let server = part(&split.parts, &[PartName::Server]).map_or(0.0, |part| part.change_us_per_op);
    let (run, test) = (cx.run.folder.name(), cx.test);
    match server / left_us > LEFT_OVER {
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
