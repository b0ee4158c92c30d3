//! From everything that stands out to what is worth saying: findings of one mechanism become one, in the order of their
//! weight, and what is left of the change is named.
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
/// Share of the change that has to be left over before it is spoken of.
const LEFT_OVER: f64 = 0.4;

/// A finding with the share of the change in time per operation that it stands for, where that is known.
pub(crate) struct Item {
    pub finding: Finding,
    /// Its share; negative where it works against the change.
    pub share: Option<f64>,
}

impl Item {
    /// A finding whose share of the time cannot be said.
    pub fn of(finding: Finding) -> Self {
        Self { finding, share: None }
    }

    /// Values of its first figure; none where that is text.
    pub fn figure(&self) -> Option<(f64, f64)> {
        self.finding.figure()
    }

    /// Whether it says that the arm has more of something; none for what has no direction.
    pub fn direction(&self) -> Option<bool> {
        self.finding.direction()
    }
}

pub(crate) fn tell(cx: &Context<'_>, found: Vec<Item>, suspects: &Suspects) -> Vec<Finding> {
    let mut items = merge_all(cx, found, suspects);
    same_work(cx, &mut items);
    let left = left_over(cx, &items, suspects);
    let rose = got_more_expensive(cx);
    let mut findings: Vec<Finding> = items.into_iter().map(|item| weighed(item, rose)).collect();
    findings.extend(left);
    let place = |finding: &Finding| place(cx, finding, suspects);
    findings.sort_by(|a, b| place(a).cmp(&place(b)).then(b.weight.total_cmp(&a.weight)));
    findings
}

/// What makes rates incomparable goes before everything, what is explained before what is not, and all of that before
/// what works against the change. Where nothing but known differences was varied, what they account for goes first,
/// and what they do not account for comes behind them: it follows from something that is not seen, or is chance.
fn place(cx: &Context<'_>, finding: &Finding, suspects: &Suspects) -> u8 {
    let along = finding.weight >= 0.0;
    if finding.word == Word::NotComparable {
        return 0;
    }
    if suspects.are_alone() && finding.word == Word::TheHost && is_other_work(cx) {
        return 2;
    }
    if suspects.are_alone() && finding.word != Word::TheHost {
        return match finding.cause {
            Cause::Unknown => 3,
            _ if suspects.account_for(finding) => {
                if along {
                    1
                } else {
                    2
                }
            }
            _ => {
                if along {
                    4
                } else {
                    5
                }
            }
        };
    }
    match (along, finding.word) {
        (true, Word::NotExplained) => 2,
        (true, _) => 1,
        (false, _) => 4,
    }
}

/// Whether the arm is shown to execute more or fewer instructions: no busy host makes it do that.
fn is_other_work(cx: &Context<'_>) -> bool {
    let cost = cx.verdict(Detector::Cost);
    cost.is_some_and(|cost| cost.metric == Metric::Instructions && cost.class.is_change())
}

/// Instructions that no counter goes with: said what work is the same.
fn same_work(cx: &Context<'_>, items: &mut [Item]) {
    let same = counters::same_work(cx);
    let its = items.iter_mut().find(|item| item.finding.cause == Cause::Instructions);
    if let (Some(item), false) = (its, same.is_empty()) {
        item.finding.sentence.push_str(&format!(", for the same {same}"));
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
fn weighed(item: Item, got_more_expensive: Option<bool>) -> Finding {
    let is_along = item.direction().zip(got_more_expensive).is_none_or(|(more, rose)| more == rose);
    let mut finding = item.finding;
    finding.weight = match item.share {
        Some(share) => share.clamp(-1.0, 1.0),
        None if matches!(finding.word, Word::AnotherPlan | Word::NotComparable) => finding.weight,
        // One of two sessions became more expensive, whatever the other and the machine made of the time.
        None if finding.cause == Cause::TailEntries => finding.weight,
        None => UNSIZED * finding.weight.clamp(0.0, 1.0) * if is_along { 1.0 } else { -1.0 },
    };
    finding
}

/// What no finding accounts for, where a change of the rate is to be explained.
fn left_over(cx: &Context<'_>, items: &[Item], suspects: &Suspects) -> Option<Finding> {
    let is_comparable = !items.iter().any(|item| item.finding.word == Word::NotComparable);
    if !cx.changed() || !is_comparable {
        return None;
    }
    let (arm, base) = (&cx.its_arm().name, &cx.base_arm().name);
    let accounted = items.iter().any(|item| suspects.account_for(&item.finding));
    if let Some(remain) = suspects.remain(time_rose(cx)).filter(|_| !accounted) {
        let sentence =
            format!("no figure that was looked at accounts for how {arm} differs from {base}; {remain}");
        return Some(unexplained(cx, sentence, 1.0));
    }
    let split = cx.decomposition.as_ref();
    let whole = split.and_then(|split| share_of(cx, split, split.change_us_per_op()));
    let Some((split, whole)) = split.zip(whole) else {
        let sentence =
            format!("nothing that was looked at differs between {arm} and {base} by more than noise");
        return items.is_empty().then(|| unexplained(cx, sentence, 1.0));
    };
    let left = whole - items.iter().filter_map(|item| item.share).sum::<f64>();
    if left < LEFT_OVER || !cx.is_rate_changed() {
        return None;
    }
    let change = split.change_us_per_op();
    let sentence = format!(
        "of the {} us that {arm} takes {} per {} than {base}, {} us ({}) could not be traced to anything beyond noise{}",
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
    if server / left_us > LEFT_OVER {
        format!(
            "; `rqps profile {} --test {}` shows which functions of the server take it",
            cx.run.folder.name(),
            cx.test
        )
    } else {
        String::new()
    }
}

fn unexplained(cx: &Context<'_>, sentence: String, weight: f64) -> Finding {
    let certainty = cx.figures.of(time_per_op).map_or(Certainty::SinglePass, |found| cx.certainty(&found));
    let evidence =
        cx.figures.of(time_per_op).map(|found| Evidence::of("time per operation", cx.per_op("us"), &found));
    Finding {
        word: Word::NotExplained,
        cause: Cause::Unknown,
        sentence,
        weight,
        certainty,
        evidence: evidence.into_iter().collect(),
    }
}
