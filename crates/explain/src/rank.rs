//! From everything that stands out to what is worth saying: findings of one mechanism become one, in the order of their
//! weight, and what is left of the change is named.
//!
//! Counters move together: a plan that reads more blocks also executes more instructions. The finding that is nearest to
//! a cause stays, and takes the figures of the others as its evidence. It does so only where its own figure changed by
//! as much as a good part of theirs, since otherwise two things changed.

use crate::context::Context;
use crate::model::{Cause, Certainty, Decomposition, Evidence, Finding, Word};
use crate::time::{part, share_of};
use crate::words;

/// A cause explains another finding's change only if its own figure changed by at least this much of it.
const DRIVES: f64 = 0.5;
/// What a figure weighs whose share of the change cannot be said.
const UNSIZED: f64 = 0.5;
/// Share of the change that has to be left over before it is spoken of.
const LEFT_OVER: f64 = 0.4;

/// A finding with the share of the change in time per operation that it stands for, where that is known.
pub(crate) struct Item {
    /// The finding.
    pub finding: Finding,
    /// Its share; negative where it works against the change.
    pub share: Option<f64>,
}

/// Which findings take others in, the nearest to a cause first.
const MERGES: [(Cause, &[Cause]); 12] = [
    (
        Cause::QueryPlan,
        &[
            Cause::Rows,
            Cause::HeapBlocks,
            Cause::DeadRows,
            Cause::TempFiles,
            Cause::Background,
            Cause::Instructions,
            Cause::CpuTime,
        ],
    ),
    (Cause::DeadRows, &[Cause::HeapBlocks, Cause::Rows, Cause::Size, Cause::Instructions, Cause::CpuTime]),
    (Cause::Size, &[Cause::HeapBlocks, Cause::Instructions, Cause::CpuTime]),
    (Cause::HotUpdates, &[Cause::HeapBlocks, Cause::Wal, Cause::Instructions, Cause::CpuTime]),
    (Cause::Function, &[Cause::Instructions, Cause::CpuTime]),
    (Cause::Rows, &[Cause::HeapBlocks, Cause::Instructions, Cause::CpuTime]),
    (Cause::TempFiles, &[Cause::Instructions, Cause::CpuTime]),
    (Cause::HeapBlocks, &[Cause::Instructions, Cause::CpuTime]),
    (Cause::BufferMisses, &[Cause::BackendWrites, Cause::KernelTime, Cause::Instructions, Cause::CpuTime]),
    (Cause::Wal, &[Cause::Instructions, Cause::CpuTime]),
    (Cause::Checkpoint, &[]),
    (Cause::Autovacuum, &[]),
];

/// Causes that wait, in the order in which they are believed.
const WAITS: [Cause; 3] = [Cause::Fsync, Cause::Reads, Cause::Locks];

/// Merges and orders.
pub(crate) fn tell(cx: &Context<'_>, found: Vec<Item>) -> Vec<Finding> {
    let mut items = same_cause(found);
    for (cause, takes) in MERGES {
        merge(&mut items, cause, takes);
    }
    full_page_images(&mut items);
    waiting(cx, &mut items);
    let left = left_over(cx, &items);
    let rose = cx.decomposition.as_ref().is_none_or(|split| split.change_us_per_op() >= 0.0);
    let mut findings: Vec<Finding> = items.into_iter().map(|item| weighed(item, rose)).collect();
    findings.extend(left);
    findings.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    findings
}

/// Findings of one cause that point the same way are one: the clearest speaks, the others are its evidence.
fn same_cause(found: Vec<Item>) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    for item in found {
        let alike = items.iter_mut().find(|known| {
            known.finding.cause == item.finding.cause && known.finding.word == item.finding.word
        });
        match alike {
            Some(known) => {
                let (mut speaks, quiet) = if relative(&item.finding) > relative(&known.finding)
                    && item.finding.cause != Cause::Wal
                {
                    (item, std::mem::replace(known, empty()))
                } else {
                    (std::mem::replace(known, empty()), item)
                };
                take(&mut speaks, quiet);
                *known = speaks;
            }
            None => items.push(item),
        }
    }
    items
}

fn empty() -> Item {
    let finding = Finding {
        word: Word::NotExplained,
        cause: Cause::Unknown,
        sentence: String::new(),
        weight: 0.0,
        certainty: Certainty::Fact,
        evidence: Vec::new(),
    };
    Item { finding, share: None }
}

/// By how much a finding's first figure changed, as a share of the smaller value; infinite from nothing.
fn relative(finding: &Finding) -> f64 {
    match finding.evidence.first() {
        Some(Evidence { base: Some(base), arm: Some(arm), .. }) => {
            (arm - base).abs() / base.abs().min(arm.abs()).max(f64::MIN_POSITIVE)
        }
        // A plan or a profile has no such figure, and may change anything.
        _ => f64::INFINITY,
    }
}

fn take(taker: &mut Item, taken: Item) {
    taker.finding.evidence.extend(taken.finding.evidence);
    taker.share = match (taker.share, taken.share) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    };
}

/// Whether a finding says that the arm does more; none for those that have no direction.
fn is_more(word: Word) -> Option<bool> {
    match word {
        Word::MoreWork | Word::SlowerWork | Word::MoreWaiting | Word::InheritedDebt => Some(true),
        Word::LessWork | Word::FasterWork | Word::LessWaiting => Some(false),
        Word::AnotherPlan | Word::TheHost | Word::NotExplained => None,
    }
}

/// CPU time that nobody can tell apart has a direction of its own.
fn direction(finding: &Finding) -> Option<bool> {
    match (finding.cause, finding.evidence.first()) {
        (Cause::CpuTime, Some(Evidence { base: Some(base), arm: Some(arm), .. })) => Some(arm > base),
        _ => is_more(finding.word),
    }
}

fn merge(items: &mut Vec<Item>, cause: Cause, takes: &[Cause]) {
    let Some(at) = items.iter().position(|item| item.finding.cause == cause) else { return };
    let mut taker = items.remove(at);
    let (its_direction, its_change) = (direction(&taker.finding), relative(&taker.finding));
    let mut kept = Vec::new();
    for item in items.drain(..) {
        let agrees = its_direction.is_none() || direction(&item.finding) == its_direction;
        let is_driven = its_change >= DRIVES * relative(&item.finding);
        if takes.contains(&item.finding.cause) && agrees && is_driven {
            also(&mut taker.finding, &item.finding);
            take(&mut taker, item);
        } else {
            kept.push(item);
        }
    }
    *items = kept;
    items.insert(at.min(items.len()), taker);
}

/// What the sentence gains when instructions or CPU time belong to it.
fn also(taker: &mut Finding, taken: &Finding) {
    let Some(Evidence { base: Some(base), arm: Some(arm), .. }) = taken.evidence.first() else { return };
    let what = match taken.cause {
        Cause::Instructions => "instructions",
        Cause::CpuTime => "CPU time",
        _ => return,
    };
    let share = words::percent((arm / base - 1.0).abs());
    let direction = if arm > base { "up" } else { "down" };
    taker.sentence.push_str(&format!("; {what} per operation {direction} {share}"));
}

/// Log that grew by full-page images says so, and whether a checkpoint made them necessary.
fn full_page_images(items: &mut Vec<Item>) {
    let checkpoint = items.iter().position(|item| item.finding.cause == Cause::Checkpoint);
    let Some(wal) = items.iter().position(|item| item.finding.cause == Cause::Wal) else { return };
    let images =
        items[wal].finding.evidence.iter().find(|figure| figure.what.starts_with("full-page images"));
    let Some(Evidence { base: Some(base), arm: Some(arm), .. }) = images else { return };
    if items[wal].finding.sentence.contains("full-page images") {
        return;
    }
    let (said, rose) =
        (format!("; {} full-page images, base {}", words::number(*arm), words::number(*base)), arm > base);
    items[wal].finding.sentence.push_str(&said);
    if let Some(at) = checkpoint.filter(|at| direction(&items[*at].finding) == Some(rose)) {
        let because = format!("; {}", items[at].finding.sentence);
        items[wal].finding.sentence.push_str(&because);
        let taken = items.remove(at);
        let wal = if at < wal { wal - 1 } else { wal };
        take(&mut items[wal], taken);
    }
}

/// A counter of something to wait for is waiting only where clients do wait longer; else it is work. And waiting that
/// nobody measured is for what the counters show.
fn waiting(cx: &Context<'_>, items: &mut Vec<Item>) {
    let at = items.iter().position(|item| item.finding.cause == Cause::Waiting);
    let more = at.and_then(|at| direction(&items[at].finding));
    let cause = WAITS.into_iter().find(|cause| {
        items
            .iter()
            .any(|item| item.finding.cause == *cause && more.is_some() && direction(&item.finding) == more)
    });
    if let (Some(at), Some(cause)) = (at, cause) {
        let waits = items.remove(at);
        if let Some(item) = items.iter_mut().find(|item| item.finding.cause == cause) {
            if let Some(Evidence { base: Some(base), arm: Some(arm), .. }) = waits.finding.evidence.first() {
                let (change, operation) = (words::number((arm - base).abs()), cx.operation());
                let longer = if arm > base { "longer" } else { "less" };
                item.finding
                    .sentence
                    .push_str(&format!("; its clients wait {change} us {longer} per {operation}"));
            }
            take(item, waits);
        }
        return;
    }
    let is_wait = |finding: &Finding| matches!(finding.word, Word::MoreWaiting | Word::LessWaiting);
    for item in items.iter_mut().filter(|item| is_wait(&item.finding) && item.share.is_none()) {
        item.finding.word = Word::work(item.finding.word == Word::MoreWaiting);
    }
}

/// The weight that findings are ordered by.
fn weighed(item: Item, time_rose: bool) -> Finding {
    let mut finding = item.finding;
    let along = direction(&finding).is_none_or(|more| more == time_rose);
    finding.weight = match item.share {
        Some(share) => share,
        None if finding.word == Word::AnotherPlan => finding.weight,
        None => UNSIZED * finding.weight.clamp(0.0, 1.0) * if along { 1.0 } else { -1.0 },
    };
    finding
}

/// What no finding accounts for, where a change of the rate is to be explained.
fn left_over(cx: &Context<'_>, items: &[Item]) -> Option<Finding> {
    if !cx.changed() {
        return None;
    }
    let (arm, base) = (&cx.its_arm().name, &cx.base_arm().name);
    let split = cx.decomposition.as_ref();
    let Some((split, whole)) =
        split.and_then(|split| share_of(split, split.change_us_per_op()).map(|all| (split, all)))
    else {
        let sentence =
            format!("nothing that was looked at differs between {arm} and {base} by more than noise");
        return items.is_empty().then(|| unexplained(cx, sentence, 1.0));
    };
    let explained: f64 = items.iter().filter_map(|item| item.share).sum();
    let left = whole - explained;
    if left < LEFT_OVER || !cx.is_rate_changed() {
        return None;
    }
    let change = split.change_us_per_op();
    let longer = if change > 0.0 { "longer" } else { "less" };
    let sentence = format!(
        "of the {} us that {arm} takes {longer} per {} than {base}, {} us ({}) belong to nothing above that stands out \
         of noise{}",
        words::number(change.abs()),
        cx.operation(),
        words::number((left * change).abs()),
        words::percent(left),
        advice(cx, split, left * change),
    );
    Some(unexplained(cx, sentence, left.min(1.0)))
}

/// Where to look further.
fn advice(cx: &Context<'_>, split: &Decomposition, left_us: f64) -> String {
    let server = part(&split.parts, &[crate::decompose::SERVER]).map_or(0.0, |part| part.change_us_per_op);
    let in_server = server / left_us;
    if in_server > LEFT_OVER {
        format!(
            "; `rqps profile {} {}` shows which functions of the server take it",
            cx.run.folder.name(),
            cx.test
        )
    } else {
        "; it is spent neither by the server's sessions nor by the client".to_owned()
    }
}

fn unexplained(cx: &Context<'_>, sentence: String, weight: f64) -> Finding {
    let certainty = match cx.figures.of(crate::decompose::time_per_op) {
        Some(found) => cx.certainty(&found),
        None => Certainty::SinglePass,
    };
    Finding {
        word: Word::NotExplained,
        cause: Cause::Unknown,
        sentence,
        weight,
        certainty,
        evidence: Vec::new(),
    }
}
