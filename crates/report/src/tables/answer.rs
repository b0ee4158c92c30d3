//! The answer in a sentence or two, before everything else: `new is slower than old in 2 of 32 tests, …`.

use std::collections::BTreeSet;

use rqps_model::Role;
use rqps_stats::{Detector, Metric, Tag, Verdict, together};
use rqps_store::Run;
use rqps_verdicts::Tally;

use crate::number;
use crate::tables::{undecided, unpaired};
use crate::verdict_lines::{Judged, Line};
use crate::words;

/// Up to one in this many tests may be inconclusive where the cost is said not to have changed.
const FEW: usize = 8;
/// Changes of a kind that are named, and of each of several arms.
const LIKELY_MAX: usize = 4;
const LIKELY_MAX_OF_SEVERAL: usize = 2;
/// A p value below it is not told more exactly.
const P_TOLD_MIN: f64 = 0.001;

/// Whether an arm got worse or better than base, in how many tests of a run.
pub(crate) fn text(
    judged: &Judged<'_>,
    arm: usize,
    (label, base): (&str, &str),
    lines: &[Line<'_>],
) -> String {
    let unpaired = unpaired::sentence(&judged.unpaired(arm), label, base);
    let lines: Vec<Line<'_>> = { lines.iter() }
        .filter(|line| !judged.lack_results(&line.all().collect::<Vec<_>>()))
        .cloned()
        .collect();
    let mut all = judged.verdicts.judgement.verdicts.iter();
    let has_rates = all.any(|one| one.arm == arm && one.detector == Detector::Rate);
    let of_lines = || {
        let n = rqps_model::counted(lines.len(), "test");
        let answer = match judged.has_verdicts() || lines.is_empty() {
            true => of_lines((judged.run, has_rates), label, base, &lines),
            false => format!("{label} against {base}, {n}: {NO_VERDICT_YET}."),
        };
        let first =
            undecided::before_verdicts(judged, &lines).map(|text| format!(" {}.", words::capitalized(&text)));
        answer
            + &first.unwrap_or_default()
            + &invalid_in_part(judged.run, arm)
            + &together_in_words(judged, base, &lines)
    };
    match unpaired {
        Some(why) if lines.is_empty() => format!("{label} against {base}: {why}. {}", unpaired::REMEDY),
        Some(why) => format!("{} There is {why}. {}", of_lines(), unpaired::REMEDY),
        None => of_lines(),
    }
}

fn of_lines((run, has_rates): (&Run, bool), label: &str, base: &str, lines: &[Line<'_>]) -> String {
    let all: Vec<&Verdict> = lines.iter().flat_map(Line::all).collect();
    let (rate, cost) = (Answer::on(lines, Detector::Rate), Answer::on(lines, Detector::Cost));
    let n = rqps_model::counted(lines.len(), "test");
    let (metric, less) = cost_metrics(lines);
    let undecided = cost.tally.inconclusive;
    let is_same = cost.tally.same > 0 && !cost.changed() && undecided * FEW <= lines.len();
    if lines.is_empty() {
        let missing = without_result(run, lines);
        return format!("{label} against {base}: no test has a rate to judge.{missing}");
    }
    let rates = match rate.is_empty() {
        true if has_rates => " Rate: not asked for by `--fail-on`.".to_owned(),
        true => " Rate: not judged.".to_owned(),
        false => format!(" Rate: {}.", rate.list(("slower", "faster"))),
    };
    let costs = match cost.is_empty() {
        true if !run.terms().has_program => String::new(),
        true => " Cost per operation: not judged.".to_owned(),
        false => cost.costs(&metric, less),
    };
    let first = if rate.changed() {
        format!(
            "{label} is {}.{costs}",
            rate.changes(("slower than", "faster than"), ("slower", "faster"), base, &n)
        )
    } else if cost.changed() {
        let verbs = (&*format!("costs more {metric} than"), &*format!("costs {less} {metric} than"));
        format!("{label} {}.{rates}", cost.changes(verbs, ("more", less), base, &n))
    } else if is_same {
        let Answer { tally, within } = &cost;
        let open = inconclusive(undecided);
        let shifted =
            all.iter().filter(|one| one.detector == Detector::Cost && one.tags.contains(&Tag::TinyShift));
        let largest = shifted.max_by(|a, b| a.ratio.ln().abs().total_cmp(&b.ratio.ln().abs()));
        let (nothing, largest) = match largest {
            Some(one) => {
                ("that matters", format!("; the largest: {}, {}", one.test, words::change_in_short(one)))
            }
            None => ("measurable", String::new()),
        };
        format!(
            "{label} costs nothing {nothing} against {base}: {} of {n} the same{within} {metric}{largest}{open}.{rates}",
            tally.same
        )
    } else {
        format!("{label} against {base}, {n}.{rates}{costs}")
    };
    let judged = Detector::resources().filter_map(|detector| judged_resource(detector, lines));
    let judged = judged.collect::<String>();
    // With too few blocks of all tests nothing was looked at.
    let of_stalls = || all.iter().copied().filter(|verdict| verdict.detector == Detector::Stalls);
    let are_seen = of_stalls().any(|verdict| verdict.looks_reached > 0);
    let stalls_seen = Answer::of(of_stalls().filter(|_| are_seen));
    let likely = likely(lines, LIKELY_MAX).map(|named| format!(" Likely, not established: {named}."));
    format!(
        "{first}{judged}{}{}{}{}",
        likely.unwrap_or_default(),
        stalls(is_lsm(run), &stalls_seen),
        other_resources(lines),
        without_result(run, lines)
    )
}

/// Before the first look, when nothing can be inconclusive.
const NO_VERDICT_YET: &str = "no verdict yet";

/// `range-covered-si (5 % more CPU time), …`: changes that are likely and not established, the largest first.
fn likely(lines: &[Line<'_>], most: usize) -> Option<String> {
    largest(lines, most, |line| line.likely().collect())
}

/// The tests with the largest of these changes, the largest first.
fn largest(
    lines: &[Line<'_>],
    most: usize,
    changes_of: impl for<'l> Fn(&'l Line<'_>) -> Vec<&'l Verdict>,
) -> Option<String> {
    let mut all: Vec<(f64, String)> = Vec::new();
    for line in lines {
        let changes = changes_of(line);
        let Some(largest) = changes.iter().map(|one| undecided::distance(one)).reduce(f64::max) else {
            continue;
        };
        let changes: Vec<String> = changes.into_iter().map(words::change_in_short).collect();
        all.push((largest, format!("{} ({})", line.test, changes.join(", "))));
    }
    all.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let named: Vec<String> = all.into_iter().map(|(_, text)| text).collect();
    (!named.is_empty()).then(|| words::names(&named, most))
}

/// ` 11 of 12 inconclusive costs (instructions) are below old's …`: what verdicts show that single tests do not.
fn together_in_words(judged: &Judged<'_>, base: &str, lines: &[Line<'_>]) -> String {
    let of_metric = |metric: Metric| {
        let verdicts = || lines.iter().flat_map(Line::judged).filter(move |one| one.metric == metric);
        let found = together(&judged.verdicts.experiment, verdicts())?;
        let name = metric.measure().label;
        let what = match verdicts().next()?.detector {
            Detector::Rate => "rates".to_owned(),
            Detector::Cost => format!("costs ({name})"),
            _ => format!("verdicts on {name}"),
        };
        let side = if found.is_below { "below" } else { "above" };
        let p = match found.p < P_TOLD_MIN {
            true => format!("< {P_TOLD_MIN}"),
            false => format!("= {}", number::significant(found.p, 1)),
        };
        Some(format!(
            " {} of {} inconclusive {what} are {side} {base}'s (p {p}, over tests and over blocks): together they may be a \
             change that single tests cannot show.",
            found.count, found.of
        ))
    };
    Metric::ALL.into_iter().filter_map(of_metric).collect()
}

/// ` 1 test has invalid windows.`, of an arm that has valid ones as well.
fn invalid_in_part(run: &Run, arm: usize) -> String {
    let name = &run.arms[arm].name;
    match run.invalid_in_part().iter().filter(|one| one.arm == name && is_test(run, one.step)).count() {
        0 => String::new(),
        1 => " 1 test has invalid windows.".to_owned(),
        count => format!(" {count} tests have invalid windows."),
    }
}

/// ` 2 tests have no valid result.`, so no verdict either.
fn without_result(run: &Run, lines: &[Line<'_>]) -> String {
    let missing = run.without_result().into_iter().map(|one| one.step);
    let missing: BTreeSet<&str> = missing.filter(|step| is_test(run, step)).collect();
    match missing.into_iter().filter(|step| lines.iter().all(|line| line.test != *step)).count() {
        0 => String::new(),
        1 => " 1 test has no valid result.".to_owned(),
        count => format!(" {count} tests have no valid result."),
    }
}

fn is_test(run: &Run, step: &str) -> bool {
    run.step(step).is_some_and(|step| step.role == Some(Role::Test))
}

/// In short, of several arms, what is established first: `scan (4 % slower); likely, not established: insert (2.6 %
/// slower); rate slower in 1, inconclusive in 31; cost the same within 0.5 % in 32`.
pub(crate) fn brief(judged: &Judged<'_>, arm: usize, lines: &[Line<'_>]) -> String {
    let (run, name) = (judged.run, &judged.run.arms[arm].name);
    let missing = run.without_result();
    let is_missing = |test: &str| missing.iter().any(|one| one.arm == name && one.step == test);
    let list = |detector, name: &str, words| {
        let answer = Answer::on(lines.iter().filter(|line| !is_missing(line.test)), detector);
        (!answer.is_empty()).then(|| format!("{name} {}", answer.list(words)))
    };
    let are_judged = judged.has_verdicts() || lines.iter().all(|line| is_missing(line.test));
    let none_yet = (!are_judged).then(|| NO_VERDICT_YET.to_owned());
    let rate = list(Detector::Rate, "rate", ("slower", "faster")).filter(|_| are_judged);
    let cost = list(Detector::Cost, "cost", ("more", "less")).filter(|_| are_judged);
    let unpaired = judged.unpaired(arm).len();
    let unpaired = (unpaired > 0).then(|| format!("repeats that cannot be paired with base's in {unpaired}"));
    let invalid = missing.iter().filter(|one| one.arm == name && is_test(run, one.step)).count();
    let invalid = (invalid > 0).then(|| format!("no valid result in {invalid}"));
    let shown = largest(lines, LIKELY_MAX_OF_SEVERAL, |line| {
        line.verdicts().filter(|one| one.class.is_change()).collect()
    });
    let likely =
        likely(lines, LIKELY_MAX_OF_SEVERAL).map(|named| format!("likely, not established: {named}"));
    let first = undecided::before_verdicts(judged, lines);
    let parts = [shown, likely, none_yet, rate, cost, first, invalid, unpaired]
        .into_iter()
        .flatten()
        .collect::<Vec<String>>();
    if parts.is_empty() { "nothing judged".to_owned() } else { parts.join("; ") }
}

/// Arms that a sentence on several names.
const ARMS_MAX: usize = 5;

/// Of several arms, what matters most: `Slower than old: v18 in 10 of 32 tests, v17 in 2; faster: v16 in 5. …`
pub(crate) fn of_several(judged: &Judged<'_>, arms: &[(&str, &[Line<'_>])], base: &str) -> String {
    if !judged.has_verdicts() {
        return format!("There is no verdict yet. Against {base}:");
    }
    let all: Vec<Line<'_>> = arms.iter().flat_map(|(_, lines)| lines.iter()).cloned().collect();
    let (metric, less) = cost_metrics(&all);
    let more = format!("more {metric} per operation");
    let rates = across(arms, Detector::Rate, base, ["slower", "faster"]);
    let costs = across(arms, Detector::Cost, base, [&more, less]);
    rates.into_iter().chain(costs).collect::<Vec<_>>().join(" ")
}

/// On which arms the most tests got worse, and on which better; None if nothing is judged.
fn across(
    arms: &[(&str, &[Line<'_>])],
    detector: Detector,
    base: &str,
    [worse, better]: [&str; 2],
) -> Option<String> {
    let judged: Vec<(&str, usize, Tally)> = { arms.iter() }
        .map(|(name, lines)| (*name, lines.len(), Answer::on(*lines, detector).tally))
        .filter(|(.., tally)| *tally != Tally::default())
        .collect();
    let mut told_of = false;
    let mut on_arms = |count: fn(&Tally) -> usize| {
        let mut counts: Vec<(usize, usize, &str)> =
            judged.iter().map(|(name, of, tally)| (count(tally), *of, *name)).collect();
        counts.retain(|(count, ..)| *count > 0);
        counts.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
        let on_arm = |(count, of, name): (usize, usize, &str)| match std::mem::replace(&mut told_of, true) {
            true => format!("{name} in {count}"),
            false => format!("{name} in {count} of {}", rqps_model::counted(of, "test")),
        };
        let named: Vec<String> = counts.into_iter().map(on_arm).collect();
        (!named.is_empty()).then(|| words::names(&named, ARMS_MAX))
    };
    let shown = |named: Option<String>| named.unwrap_or_else(|| "none shown".to_owned());
    let on_worse = shown(on_arms(|tally| tally.regressions));
    let on_better = shown(on_arms(|tally| tally.improvements));
    let on_mixed = on_arms(|tally| tally.mixed).map(|named| format!("; mixed: {named}")).unwrap_or_default();
    let text = format!("{worse} than {base}: {on_worse}; {better}: {on_better}{on_mixed}.");
    (!judged.is_empty()).then(|| words::capitalized(&text))
}

/// Like [`text`], of rates or costs alone and in one sentence.
pub(crate) fn of_one(
    detector: Detector,
    (judged, arm): (&Judged<'_>, usize),
    (label, base): (&str, &str),
    lines: &[Line<'_>],
) -> String {
    let answer = Answer::on(lines, detector);
    let n = rqps_model::counted(lines.len(), "test");
    let (metric, less) = cost_metrics(lines);
    let (verbs, words, subject) = match detector {
        Detector::Rate => {
            let verbs = ["is slower than", "is faster than"].map(str::to_owned);
            (verbs, ("slower", "faster"), String::new())
        }
        _ => {
            let verbs = ["more", less].map(|word| format!("costs {word} {metric} than"));
            (verbs, ("more", less), format!("{metric} "))
        }
    };
    match answer.changed() {
        true => format!("{label} {}", answer.changes((&verbs[0], &verbs[1]), words, base, &n)),
        false if lines.is_empty() => {
            let unpaired = unpaired::sentence(&judged.unpaired(arm), label, base);
            format!(
                "{label} against {base}: {}",
                unpaired.unwrap_or_else(|| "no test has a rate to judge".to_owned())
            )
        }
        false => format!("{label} against {base}, {n}: {subject}{}", answer.list(words)),
    }
}

/// The verdicts of one detector.
struct Answer {
    tally: Tally,
    /// ` within 2 %`, ` within 0.01 per operation`: what `same` means; empty if it differs between tests.
    within: String,
}

impl Answer {
    fn on<'a, 'l: 'a>(lines: impl IntoIterator<Item = &'a Line<'l>>, detector: Detector) -> Self {
        let verdicts = lines.into_iter().flat_map(Line::all).filter(|verdict| verdict.detector == detector);
        Self::of(verdicts.collect::<Vec<_>>().into_iter())
    }

    fn of<'a>(verdicts: impl Iterator<Item = &'a Verdict> + Clone) -> Self {
        let limit = |verdict: &Verdict| match verdict.mei_is_per_op {
            true => words::what_matters(verdict),
            false => format!("{} %", (verdict.mei * 1e4).round() / 100.0),
        };
        let limits: BTreeSet<String> = verdicts.clone().map(limit).collect();
        let within = match limits.len() {
            1 => limits.iter().map(|limit| format!(" within {limit}")).collect(),
            _ => String::new(),
        };
        Self { tally: Tally::of(verdicts), within }
    }

    fn is_empty(&self) -> bool {
        self.tally == Tally::default()
    }

    fn changed(&self) -> bool {
        self.tally.regressions + self.tally.improvements + self.tally.mixed > 0
    }

    /// `slower than old in 2 of 32 tests, faster in 4, …`: what got worse first, unless nothing did.
    fn changes(&self, verbs: (&str, &str), words: (&str, &str), base: &str, n: &str) -> String {
        let Tally { regressions, improvements, mixed, .. } = self.tally;
        let (first, count, other) = match regressions {
            0 if improvements > 0 => (verbs.1, improvements, (words.0, regressions)),
            _ => (verbs.0, regressions, (words.1, improvements)),
        };
        let number = |count: usize| if count == 0 { "none".to_owned() } else { count.to_string() };
        let mixed = if mixed > 0 { format!(", mixed in {mixed}") } else { String::new() };
        let unchanged = self.unchanged();
        format!(
            "{first} {base} in {} of {n}, {} in {}{mixed}{}",
            number(count),
            other.0,
            number(other.1),
            unchanged.iter().map(|part| format!(", {part}")).collect::<String>()
        )
    }

    /// `slower in 2, the same within 2 % in 20, inconclusive in 10`.
    fn list(&self, (worse, better): (&str, &str)) -> String {
        let Tally { regressions, improvements, mixed, .. } = self.tally;
        let changed = [(regressions, worse), (improvements, better), (mixed, "mixed")];
        let changed = changed.into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> =
            changed.map(|(count, word)| format!("{word} in {count}")).chain(self.unchanged()).collect();
        if parts.is_empty() { "nothing measured".to_owned() } else { parts.join(", ") }
    }

    /// ` An operation costs more CPU time in 5 tests, less in 6, …`, beside an answer on rates.
    fn costs(&self, metric: &str, less: &str) -> String {
        let Tally { regressions, improvements, mixed, .. } = self.tally;
        let (first, count, second) = match (regressions, improvements) {
            (0, 0) => return format!(" Cost per operation ({metric}): {}.", self.list(("more", less))),
            (0, fewer) => (less, fewer, "more in none".to_owned()),
            (more, 0) => ("more", more, format!("{less} in none")),
            (more, fewer) => ("more", more, format!("{less} in {fewer}")),
        };
        let mixed = (mixed > 0).then(|| format!("mixed in {mixed}"));
        let rest: Vec<String> = std::iter::once(second).chain(mixed).chain(self.unchanged()).collect();
        let tests = rqps_model::counted(count, "test");
        format!(" An operation costs {first} {metric} in {tests}, {}.", rest.join(", "))
    }

    fn unchanged(&self) -> Vec<String> {
        let Tally { same, inconclusive, .. } = self.tally;
        let parts = [
            (same, format!("the same{} in {same}", self.within)),
            (inconclusive, format!("inconclusive in {inconclusive}")),
        ];
        parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect()
    }
}

fn inconclusive(count: usize) -> String {
    if count == 0 { String::new() } else { format!(", {count} inconclusive") }
}

/// Metrics of the cost: `instructions`, `CPU time`, or both if tests differ; and what is said of a lower one.
fn cost_metrics(lines: &[Line<'_>]) -> (String, &'static str) {
    let mut metrics: Vec<Metric> = lines.iter().filter_map(|line| Some(line.cost?.metric)).collect();
    metrics.sort_unstable();
    metrics.dedup();
    let names: Vec<&str> = metrics.iter().map(|metric| metric.measure().label).collect();
    let name = if names.is_empty() { "nothing measured".to_owned() } else { names.join(" or ") };
    (name, words::less(&metrics))
}

/// A resource that is to be decided: ` CPU time: the same within 2 % in 5, inconclusive in 2.`
fn judged_resource(detector: Detector, lines: &[Line<'_>]) -> Option<String> {
    let judged = lines.iter().flat_map(|line| line.judged_resources.iter().copied());
    let judged: Vec<&Verdict> = judged.filter(|verdict| verdict.detector == detector).collect();
    let metric = judged.first()?.metric;
    let answer = Answer::of(judged.into_iter());
    Some(format!(" {}: {}.", metric.measure().label, answer.list(("more", words::less(&[metric])))))
}

/// Other resources that changed: ` Other resources: CPU time less in 2; WAL bytes more in 1.`
fn other_resources(lines: &[Line<'_>]) -> String {
    let part = |detector: Detector| {
        let is_other = |line: &&Line<'_>| line.judged_resources.iter().all(|one| one.detector != detector);
        let changed = || {
            let changed = lines.iter().filter(is_other).flat_map(Line::changed_resources);
            changed.filter(|one| one.detector == detector && one.class.is_change())
        };
        let metric = changed().next()?.metric;
        let more = changed().filter(|one| one.class.is_regression()).count();
        let parts = [(more, "more"), (changed().count() - more, words::less(&[metric]))];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{word} in {count}"))
            .collect();
        Some(format!("{} {}", metric.measure().label, parts.join(", ")))
    };
    let all: Vec<String> = Detector::resources().filter_map(part).collect();
    if all.is_empty() { String::new() } else { format!(" Other resources: {}.", all.join("; ")) }
}

/// Whether stalls of the engine itself, of its writes, are something else: tables have them for LSM trees.
fn is_lsm(run: &Run) -> bool {
    run.arms.iter().any(|arm| arm.dbms == "rocksdb")
}

/// A sentence on stalls; empty if there are no verdicts on them.
fn stalls(is_lsm: bool, answer: &Answer) -> String {
    let name = if is_lsm { "Operations over 20 ms" } else { "Stalls" };
    match answer.tally {
        none if none == Tally::default() => String::new(),
        _ => format!(" {name}: {}.", answer.list(("more", "fewer"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_of_operations_are_told_from_write_stalls() {
        let seen = |regressions| Answer {
            tally: Tally { regressions, inconclusive: 3, ..Tally::default() },
            within: String::new(),
        };
        assert!(stalls(false, &seen(0)).starts_with(" Stalls: "));
        assert_eq!(stalls(true, &seen(0)), " Operations over 20 ms: inconclusive in 3.");
        assert!(stalls(true, &seen(2)).starts_with(" Operations over 20 ms: more in 2"));
    }

    #[test]
    fn what_got_worse_comes_first() {
        let changes = |regressions, improvements, mixed| {
            let tally = Tally { regressions, improvements, mixed, same: 3, ..Tally::default() };
            let answer = Answer { tally, within: " within 2 %".to_owned() };
            answer.changes(("is slower than", "is faster than"), ("slower", "faster"), "old", "8 tests")
        };
        assert_eq!(
            changes(2, 3, 0),
            "is slower than old in 2 of 8 tests, faster in 3, the same within 2 % in 3"
        );
        assert_eq!(
            changes(0, 5, 0),
            "is faster than old in 5 of 8 tests, slower in none, the same within 2 % in 3"
        );
        assert_eq!(
            changes(0, 0, 5),
            "is slower than old in none of 8 tests, faster in none, mixed in 5, the same within 2 % in 3"
        );
    }
}
