//! What an explanation begins with: how many tests changed, and how often each cause is the first.

use rqps_explain::{Cause, Decomposition, ExplainRequest, Explanation, Finding, Part, Word};
use rqps_model::counted;
use rqps_stats::{Detector, Tag, Verdict};
use rqps_store::Run;
use serde_json::{Value, json};
use std::collections::BTreeSet;

use crate::comparison::Comparison;
use crate::document::Block;
use crate::explain::pair;
use crate::invalid;
use crate::number::significant;
use crate::tables::{answer, undecided, verdicts};
use crate::verdict_lines::{Judged, Line};
use crate::words;

/// Most tests that a note names.
const NOTED_MAX: usize = 4;

/// What is to be explained: whether an arm got slower or costlier, and in how many tests. Of these arms, or of all.
pub(crate) fn answers(comparison: &Comparison<'_>, judged: &Judged<'_>, arms: &[usize]) -> Vec<Block> {
    let arms = judged.measured().filter(|arm| arms.is_empty() || arms.contains(arm)).collect::<Vec<_>>();
    match arms.as_slice() {
        [] => Vec::new(),
        [arm] => {
            let [label, base] = [*arm, judged.base].map(|arm| judged.label(comparison, arm));
            let text = answer::text(judged, *arm, (&label, &base), &judged.lines(*arm, |_| true));
            vec![Block::Text(text)]
        }
        several => verdicts::of_several(comparison, judged, several).into(),
    }
}

/// What the text begins with, for programs: whether an arm got slower or costlier; else how often which cause is the
/// first, how the only test differs, or why there is nothing to explain.
pub(crate) fn headline(
    run: &Run,
    (comparison, judged): (&Comparison<'_>, Option<&Judged<'_>>),
    asked: &ExplainRequest,
    found: &[Explanation],
) -> String {
    let answer = judged
        .filter(|_| asked.tests.is_empty())
        .map(|judged| answers(comparison, judged, &asked.arms))
        .map(|blocks| blocks.iter().flat_map(Block::texts).collect::<Vec<_>>().join("\n"))
        .filter(|text| !text.is_empty());
    let of_first = || {
        let first = found.first()?;
        Some(format!("{}: {}", first.test, difference(comparison, judged, first)?))
    };
    let none = || no_explanations(run, judged, !asked.tests.is_empty(), invalid::has_ratios(comparison));
    answer.or_else(|| Summary::of(found).text()).or_else(of_first).unwrap_or_else(none)
}

/// A sentence on how a test differs from base.
pub(crate) fn difference(
    comparison: &Comparison<'_>,
    judged: Option<&Judged<'_>>,
    one: &Explanation,
) -> Option<String> {
    match judged {
        Some(judged) => verdicts_of(judged, one),
        None => rate_of(comparison, one).map(|rate| format!("{rate}, in one pass.")),
    }
}

/// `pg18 is at 0.93 times pg17's rate`, of all windows.
pub(crate) fn rate_of(comparison: &Comparison<'_>, one: &Explanation) -> Option<String> {
    let ratio = ratio_of(comparison, one)?;
    let [base, arm] = [one.base, one.arm].map(|at| &comparison.runs()[0].arms[at].name);
    Some(format!("{arm} is at {} times {base}'s rate", significant(ratio, 3)))
}

/// Of all windows.
pub(crate) fn ratio_of(comparison: &Comparison<'_>, one: &Explanation) -> Option<f64> {
    let arm = comparison.find(&comparison.runs()[0].arms[one.arm])?;
    comparison.pair(*arm).ratio(&one.test)
}

/// A sentence with the verdicts on the test.
fn verdicts_of(judged: &Judged<'_>, one: &Explanation) -> Option<String> {
    let line = line_of(judged, one)?;
    let verdicts = line.verdicts().chain(line.changed_stalls()).chain(line.changed_resources());
    let verdicts = verdicts.map(|verdict| line.part(verdict, judged));
    let missed = line.missed.iter().map(|missed| missed.text.clone());
    let parts: Vec<String> = missed.chain(verdicts).chain(likely_changes(&line, &one.findings)).collect();
    (!parts.is_empty()).then(|| format!("{}.", parts.join("; ")))
}

/// Changes that are likely and not established, and why not; without resources of which findings tell.
fn likely_changes(line: &Line<'_>, findings: &[Finding]) -> Option<String> {
    let is_told = |one: &Verdict| {
        let cause = match one.detector {
            Detector::Blocks => Cause::BlocksTouched,
            Detector::Rows => Cause::Rows,
            Detector::Wal => Cause::Wal,
            _ => return false,
        };
        findings.iter().any(|finding| finding.cause == cause)
    };
    let is_judged =
        |one: &Verdict| line.judged_resources.iter().any(|judged| judged.detector == one.detector);
    let resources = || line.likely_resources().filter(|one| !is_told(one) && !is_judged(one));
    let likely = || line.likely().chain(resources());
    let all: Vec<String> = likely().map(words::change_in_short).collect();
    let counted = likely().find(|one| one.tags.contains(&Tag::FewBlocks));
    let why = counted.map(|one| format!(" ({})", words::few_blocks(one))).unwrap_or_default();
    (!all.is_empty()).then(|| format!("likely, not established: {}{why}", all.join(", ")))
}

/// Of an undecided test, what is only true if it changed: nothing of a test that a verdict shows to have changed, or
/// in which no causes were searched for.
pub(crate) fn if_real(judged: &Judged<'_>, one: &Explanation) -> Option<String> {
    let line = line_of(judged, one).filter(|_| one.searched && one.may_be_chance)?;
    let blocks = line.judged().map(|verdict| verdict.blocks).max().unwrap_or(0);
    let undecided = format!("Undecided after {}", counted(blocks, judged.sample()));
    let likely = likely(&line);
    // Times may be clear where the verdict on the rate is not.
    let is_clear = one.decomposition.as_ref().is_some_and(Decomposition::is_beyond_noise);
    let in_short = |rate: &Verdict| match rate.ratio >= FACTOR_FROM {
        true => format!("{} times base's rate", significant(rate.ratio, 2)),
        false => words::change_in_short(rate),
    };
    let rate = line.rate.filter(|rate| is_clear && rate.ratio.is_finite()).map(in_short);
    match (likely.or(rate), one.findings.as_slice()) {
        (None, []) => None,
        (Some(change), []) => Some(format!("{undecided}; if real, the change is: {change}.")),
        (Some(change), _) => {
            Some(format!("{undecided}; if real, the change is: {change}. What would explain it:"))
        }
        (None, _) => Some(format!(
            "{undecided}: these figures differ by more than their noise, but whether rate or cost changed with them is not \
             known."
        )),
    }
}

/// From here on a rate is told as a multiple: an undecided one has no digits to lose.
const FACTOR_FROM: f64 = 2.0;

/// Changes of a test that are likely and not established.
fn likely(line: &Line<'_>) -> Option<String> {
    let likely: Vec<String> = line.likely().map(words::change_in_short).collect();
    (!likely.is_empty()).then(|| likely.join(", "))
}

/// Why there is no explanation.
pub(crate) fn no_explanations(
    run: &Run,
    judged: Option<&Judged<'_>>,
    named_tests: bool,
    has_ratios: bool,
) -> String {
    let name = run.folder.name();
    if run.arms.len() < 2 {
        return format!(
            "There is no other arm to compare {} with, so there is nothing to explain.",
            run.arms.first().map_or("base", |arm| &arm.name)
        );
    }
    if named_tests {
        return "These tests have no result on two arms, so there is nothing to explain.".to_owned();
    }
    if is_without_blocks_yet(run) {
        return NO_BLOCK_YET.to_owned();
    }
    if judged.is_none() && !has_ratios {
        return "No test has a valid result both on base and on another arm, so there is nothing to explain."
            .to_owned();
    }
    let reason = match judged {
        Some(judged) if judged.verdicts.blocks_done == 0 => {
            return NO_BLOCK_YET.to_owned();
        }
        Some(_) => "No verdict shows a change",
        None => "No rate differs by 5 % or more",
    };
    format!("{reason}, so there is nothing to explain. `rqps explain {name} TEST` examines a test anyway.")
}

fn first_of(one: &Explanation) -> First {
    one.findings.first().map(|first| match first.word {
        word @ (Word::NotExplained | Word::OnlyDifference) => (word, None),
        word => (word, Some(first.cause.key())),
    })
}

/// What makes tests alike, so that one line may tell of them: word and cause of the first finding, and whether the test
/// got worse. What got better is not like that, nor is what only uses another amount of a resource.
pub(crate) fn likeness(
    judged: Option<&Judged<'_>>,
    one: &Explanation,
) -> (Option<(Word, Cause)>, Option<bool>) {
    let got_worse = || Some(line_of(judged?, one)?.shown()?.class.is_regression());
    (one.findings.first().map(|first| (first.word, first.cause)), got_worse())
}

/// Explanations with the same key, in the order of the first of each.
pub(crate) fn groups<'e, K: PartialEq>(
    all: impl IntoIterator<Item = &'e Explanation>,
    key: impl Fn(&Explanation) -> K,
) -> Vec<Vec<&'e Explanation>> {
    let mut groups: Vec<(K, Vec<&Explanation>)> = Vec::new();
    for one in all {
        let own = key(one);
        match groups.iter_mut().find(|(key, _)| *key == own) {
            Some((_, group)) => group.push(one),
            None => groups.push((own, vec![one])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Most tests that a line names besides its first one.
const LIKEWISE_MAX: usize = 3;

/// A line for the tests of an arm with the same first finding, with the finding on the most changed one, and where the
/// figures are.
pub(crate) fn in_short(
    (run, comparison): (&Run, &Comparison<'_>),
    judged: Option<&Judged<'_>>,
    shown: &[&Explanation],
) -> [Block; 2] {
    let missed = |one: &Explanation| Some(judged?.missed(one.arm, &one.test)?.text);
    let item = |group: &Vec<&Explanation>| {
        let (one, others) = group.split_first()?;
        let told = |first: &Finding| sentence_of_group(first, others.len());
        let first = one.findings.first().map(told).or_else(|| missed(one));
        let first = first.unwrap_or_else(|| "no cause found".to_owned());
        let more = match one.findings.len() {
            0 | 1 => String::new(),
            count => format!(" (and {} more)", count - 1),
        };
        let size = match judged {
            Some(judged) => line_of(judged, one).as_ref().and_then(changes),
            None => rate_of(comparison, one),
        };
        let size = size.map_or_else(String::new, |size| size + "; ");
        let others: Vec<String> = others.iter().map(|one| briefly((comparison, judged), one)).collect();
        let likewise = match others.len() {
            0 => String::new(),
            count => {
                let tests = words::plural(count, "other test");
                format!("; likewise {tests}: {}", words::names(&others, LIKEWISE_MAX))
            }
        };
        Some(format!("{} ({}): {size}{first}{more}{likewise}", one.test, pair(run, one)))
    };
    let alike = groups(shown.iter().copied(), |one| (one.arm, likeness(judged, one), missed(one)));
    let items = alike.iter().filter_map(item).collect();
    let run = run.folder.name();
    let text = format!(
        "`rqps explain {run} TEST` shows the figures behind the changes of a test, and what differs between the arms; \
         `rqps explain {run} --all` those of all tests."
    );
    [Block::Items(items), Block::Text(text)]
}

fn line_of<'j>(judged: &'j Judged<'_>, one: &Explanation) -> Option<Line<'j>> {
    judged.lines(one.arm, |test| test == one.test).into_iter().next()
}

/// How rate and cost changed; if neither is known to have, which resource is used more or less.
fn changes(line: &Line<'_>) -> Option<String> {
    let of_resources = || {
        let changed: Vec<String> = line.changed_resources().map(words::change_in_short).collect();
        (!changed.is_empty()).then(|| format!("{}, rate and cost undecided or the same", changed.join(", ")))
    };
    line.changes_in_short().or_else(of_resources)
}

/// `hot-points 5 % slower`.
fn briefly((comparison, judged): (&Comparison<'_>, Option<&Judged<'_>>), one: &Explanation) -> String {
    let size = match judged {
        Some(judged) => line_of(judged, one).as_ref().and_then(changes).map(|changes| format!(" {changes}")),
        None => ratio_of(comparison, one).map(|ratio| format!(" at {}", significant(ratio, 3))),
    };
    format!("{}{}", one.test, size.unwrap_or_default())
}

/// The first findings on what changed.
pub(crate) struct Summary {
    tests: usize,
    arms: usize,
    changes: usize,
    /// The most frequent first, what is not explained last.
    causes: Vec<(First, usize)>,
}

/// Word and cause of a first finding; None if there is none.
type First = Option<(Word, Option<&'static str>)>;

impl Summary {
    /// Of the tests that changed.
    pub fn of(found: &[Explanation]) -> Self {
        // What is not comparable is not known to have changed.
        let is_comparable =
            |one: &&Explanation| one.findings.iter().all(|found| found.word != Word::NotComparable);
        let searched: Vec<&Explanation> =
            found.iter().filter(|one| one.searched && !one.may_be_chance).filter(is_comparable).collect();
        let mut causes: Vec<(First, usize)> = Vec::new();
        for one in &searched {
            let first = first_of(one);
            match causes.iter_mut().find(|(known, _)| *known == first) {
                Some((_, count)) => *count += 1,
                None => causes.push((first, 1)),
            }
        }
        causes.sort_by_key(|(first, count)| (!is_known(first), std::cmp::Reverse(*count)));
        let tests: BTreeSet<&str> = searched.iter().map(|one| one.test.as_str()).collect();
        let arms: BTreeSet<usize> = searched.iter().map(|one| one.arm).collect();
        Self { tests: tests.len(), arms: arms.len(), changes: searched.len(), causes }
    }

    /// `9 tests changed. Main cause: less work (blocks-touched) in 5, … Cause unknown in 4 (more instructions in
    /// 3).`; of several arms `9 tests changed, 14 changes on 3 arms. …`. None for one change.
    pub fn text(&self) -> Option<String> {
        let (known, unknown): (Vec<_>, Vec<_>) = self.causes.iter().partition(|(first, _)| is_known(first));
        let all: Vec<String> =
            known.iter().map(|(first, count)| format!("{} in {count}", name(first))).collect();
        let known = if all.is_empty() { String::new() } else { format!(" Main cause: {}.", all.join(", ")) };
        let count: usize = unknown.iter().map(|(_, count)| count).sum();
        let of_what = unknown.iter().filter_map(|(first, count)| {
            let changed = instructions(first)?;
            Some(if unknown.len() == 1 { changed.to_owned() } else { format!("{changed} in {count}") })
        });
        let of_what = of_what.collect::<Vec<_>>().join(", ");
        let unknown = match (count, of_what.is_empty()) {
            (0, _) => String::new(),
            (_, true) => format!(" Cause unknown in {count}."),
            (_, false) => format!(" Cause unknown in {count} ({of_what})."),
        };
        let on_arms = match self.arms > 1 {
            true => format!(", {} on {} arms", counted(self.changes, "change"), self.arms),
            false => String::new(),
        };
        (self.changes > 1)
            .then(|| format!("{} changed{on_arms}.{known}{unknown}", counted(self.tests, "test")))
    }

    /// The most frequent cause by name; `None` without a change.
    pub fn main(&self) -> Option<String> {
        self.causes.first().map(|(first, _)| name(first))
    }

    pub fn json(&self) -> Value {
        let cause = |(first, count): &(First, usize)| {
            json!({
                "word": first.map(|(word, _)| word.key()),
                "cause": first.and_then(|(_, cause)| cause),
                "changes": count,
            })
        };
        json!({
            "tests_changed": self.tests,
            "arms": self.arms,
            "changes": self.changes,
            "first_causes": self.causes.iter().map(cause).collect::<Vec<_>>(),
            "text": self.text(),
        })
    }
}

fn is_known(first: &First) -> bool {
    matches!(first, Some((word, _)) if *word != Word::NotExplained) && instructions(first).is_none()
}

/// What is known of a change of instructions that no counter explains.
fn instructions(first: &First) -> Option<&'static str> {
    let (word, cause) = (*first)?;
    let is_more = word == Word::MoreWork;
    is_unknown(word, cause?).then_some(if is_more { "more instructions" } else { "fewer instructions" })
}

/// `less work (blocks touched)`
fn name(first: &First) -> String {
    match first {
        first if let Some(changed) = instructions(first) => format!("{changed} of unknown cause"),
        Some((word, Some(cause))) => format!("{word} ({})", cause.replace('-', " ")),
        Some((word, None)) => word.to_string(),
        None => "no cause found".to_owned(),
    }
}

/// That no verdict shows a change, and what it would take to decide those that are open.
pub(crate) fn without_change(run: &Run, judged: Option<&Judged<'_>>) -> Vec<Block> {
    let open = judged.and_then(|judged| undecided::open(judged, &judged.all_lines()));
    let host = judged.and_then(undecided::not_quiet);
    let has_verdicts = judged.is_none_or(Judged::has_verdicts);
    [Some(unchanged(run, has_verdicts, "any test")), host, open]
        .into_iter()
        .flatten()
        .map(Block::Text)
        .collect()
}

pub(crate) fn unchanged(run: &Run, has_verdicts: bool, tests: &str) -> String {
    let run = run.folder.name();
    let state = match has_verdicts {
        true => format!("No verdict shows a change of {tests}"),
        false => "There is no verdict yet".to_owned(),
    };
    format!("{state}; `rqps explain {run} TEST` shows where the time of a test goes.")
}

const NO_BLOCK_YET: &str = "No block is done yet, so there are no verdicts to explain.";

/// Whether a run of blocks has begun none.
pub(crate) fn is_without_blocks_yet(run: &Run) -> bool {
    run.meta.protocol == "isolated" && run.blocks.is_empty()
}

/// Changed query plans of tests without a change that a verdict shows: facts all the same. Of an arm with several such
/// tests the first one's, unless all are asked for.
pub(crate) fn changed_plans<'a>(
    run: &Run,
    judged: Option<&Judged<'_>>,
    unchanged: impl Iterator<Item = &'a Explanation>,
    all: bool,
) -> Option<Block> {
    let plan = |one: &'a Explanation| one.findings.iter().find(|finding| finding.word == Word::AnotherPlan);
    let changed = unchanged.filter(|one| plan(one).is_some());
    let by_arm = groups(changed, |one| (one.arm, all.then(|| one.test.clone())));
    let item = |of_arm: &Vec<&'a Explanation>| {
        let (one, others) = of_arm.split_first()?;
        let names: Vec<&str> = others.iter().map(|one| one.test.as_str()).collect();
        let others = match names.len() {
            0 => String::new(),
            count => {
                format!("; also in {}: {}", counted(count, "other test"), words::names(&names, LIKEWISE_MAX))
            }
        };
        let effect = judged.map(|judged| effect(judged, one)).unwrap_or_default();
        Some(format!("{} ({}): {}{effect}{others}", one.test, pair(run, one), sentence(plan(one)?)))
    };
    let items: Vec<String> = by_arm.iter().filter_map(item).collect();
    (!items.is_empty()).then_some(Block::Items(items))
}

/// What is known of the effect of a changed plan, where no verdict shows a change.
fn effect(judged: &Judged<'_>, one: &Explanation) -> String {
    let line = line_of(judged, one);
    let is_open = |line: &Line<'_>| line.verdicts().any(|verdict| !verdict.class.is_decided());
    match (line.as_ref().and_then(likely), line.as_ref().is_some_and(is_open)) {
        (Some(change), _) => format!("; likely, not established: {change}"),
        (None, true) => "; whether rate or cost changed is undecided".to_owned(),
        (None, false) => "; no change of rate or cost is shown".to_owned(),
    }
}

/// Remarks on what was not examined, each once, with the tests that it is about if these are not all.
pub(crate) fn notes(found: &[Explanation]) -> Vec<Block> {
    let mut notes: Vec<(String, BTreeSet<&str>)> = Vec::new();
    for (one, remark) in found.iter().flat_map(|one| one.remarks.iter().map(move |remark| (one, remark))) {
        let note = match found {
            [_] => remark.clone(),
            _ => remark.replace(&format!("--test {}", one.test), "--test TEST"),
        };
        match notes.iter_mut().find(|(known, _)| *known == note) {
            Some((_, tests)) => _ = tests.insert(&one.test),
            None => notes.push((note, BTreeSet::from([one.test.as_str()]))),
        }
    }
    let all = found.iter().map(|one| one.test.as_str()).collect::<BTreeSet<_>>().len();
    let item = |(note, tests): (String, BTreeSet<&str>)| match tests.len() {
        some if some < all && some <= NOTED_MAX => {
            format!("note on {}: {note}", tests.into_iter().collect::<Vec<_>>().join(", "))
        }
        _ => format!("note: {note}"),
    };
    let items: Vec<String> = notes.into_iter().map(item).collect();
    (!items.is_empty()).then_some(Block::Items(items)).into_iter().collect()
}

/// `more work (62 % of the change): pg18 writes 412 bytes of WAL per query, 31 % more than pg17 (315)`.
pub(crate) fn sentence(finding: &Finding) -> String {
    let share = match finding.share() {
        Some(share) if share >= SHARE_MIN => format!(" ({} % of the change)", percent(share)),
        _ if finding.weight <= -SHARE_MIN => " (against the change)".to_owned(),
        _ => String::new(),
    };
    format!("{}{share}: {}", start(finding), finding.sentence)
}

/// Instructions are what changed, and no counter tells why.
fn is_unknown(word: Word, cause: &str) -> bool {
    matches!(word, Word::MoreWork | Word::LessWork) && cause == Cause::Instructions.key()
}

fn start(finding: &Finding) -> &'static str {
    if is_unknown(finding.word, finding.cause.key()) { "cause unknown" } else { finding.word.key() }
}

/// The same on the first of a group of tests. Each of several has a share of its own.
pub(crate) fn sentence_of_group(finding: &Finding, others: usize) -> String {
    match others {
        0 => sentence(finding),
        _ => format!("{}: {}", start(finding), finding.sentence),
    }
}

/// A smaller share of a change is none.
const SHARE_MIN: f64 = 0.005;

fn percent(share: f64) -> f64 {
    (100.0 * share).round()
}

/// Why the shares of a test's findings are more than the whole.
pub(crate) fn more_than_whole(one: &Explanation) -> Option<String> {
    let shares: Vec<f64> = one.findings.iter().filter_map(Finding::share).collect();
    let is_opposed =
        one.decomposition.as_ref().is_some_and(|split| has_opposed(&split.parts, split.change_us_per_op()));
    sum_of_shares(&shares, is_opposed)
}

/// What shares add up to, if that is more than the whole, beyond rounding.
fn sum_of_shares(shares: &[f64], is_opposed: bool) -> Option<String> {
    let told = || shares.iter().copied().filter(|share| *share >= SHARE_MIN);
    let is_opposed = is_opposed || shares.iter().any(|share| *share <= -SHARE_MIN);
    let why =
        if is_opposed { "other parts of the time work against the change" } else { "these causes overlap" };
    let sum: f64 = told().map(percent).sum();
    (told().sum::<f64>() > 1.0 + SHARE_MIN).then(|| format!("The shares add up to {sum} %: {why}."))
}

/// Whether a part of the time changed in the other direction than the whole.
fn has_opposed(parts: &[Part], total: f64) -> bool {
    parts.iter().any(|part| part.change_us_per_op / total <= -SHARE_MIN || has_opposed(&part.of, total))
}

#[cfg(test)]
mod tests {
    use super::sum_of_shares;

    #[test]
    fn shares_of_more_than_the_whole_say_why() {
        let of = |shares: &[f64]| sum_of_shares(shares, false).unwrap_or_default();
        assert_eq!(
            of(&[0.9, 0.4, -0.3]),
            "The shares add up to 130 %: other parts of the time work against the change."
        );
        assert_eq!(of(&[0.9, 0.4]), "The shares add up to 130 %: these causes overlap.");
        let opposed = sum_of_shares(&[0.9, 0.4], true).unwrap();
        assert!(opposed.contains("work against the change"), "by what no finding names: {opposed}");
        // Rounding may make 101 % of it.
        assert_eq!([of(&[0.667, 0.336]), of(&[0.8, 0.2]), of(&[1.0, -0.4]), of(&[])], [""; 4]);
    }
}
