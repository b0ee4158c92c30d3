//! Which repeats of an arm were measured together with which of base: those of one number, which files or their names
//! tell. The place in a list is no number: after one that is missing, all others would be paired wrongly.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rqps_model::clipped;

use crate::error::{Error, Result};
use crate::path_classes::{numbers, numbers_of_repeats};
use crate::placed::{Assembled, Findings};

/// A larger number in a name is a time or a process: the repeat is numbered by its place.
const NUMBER_MAX: u32 = 9999;
/// With fewer repeats there is no verdict.
const FOR_VERDICT: usize = 3;
/// Of files or tests that a message names.
const NAMES_CHARS_MAX: usize = 300;

/// A repeat of an arm and test.
struct Repeat {
    /// Its place in the results.
    at: usize,
    /// The numbers and dates of its path, or the number that its file tells.
    numbers: Vec<String>,
    /// Its own number, if it is told.
    own: Option<u32>,
    /// For messages.
    name: String,
}

/// What is said of the pairs of an arm.
#[derive(Default)]
struct Unpaired {
    /// Repeats that only the arm or base has.
    lone: Vec<String>,
    /// Tests whose repeats nobody can pair.
    tests: Vec<String>,
}

/// Gives repeats of one number, in files or in names, the same number; where names have none in common, pairs as many
/// repeats in their order. Returns what is not paired. `are_given`: the user has numbered repeats.
///
/// # Errors
/// If an arm has no repeat in common with another, though the user numbered them.
pub fn pair(assembled: &mut Assembled, paths: &[PathBuf], are_given: bool) -> Result<Findings> {
    let mut of_step: BTreeMap<usize, BTreeMap<usize, Vec<usize>>> = BTreeMap::new();
    for (at, one) in assembled.results.iter().enumerate() {
        of_step.entry(one.step).or_default().entry(one.arm).or_default().push(at);
    }
    let mut unpaired: BTreeMap<usize, Unpaired> = BTreeMap::new();
    for (step, of_arm) in of_step {
        let mut arms: BTreeMap<usize, Vec<Repeat>> = BTreeMap::new();
        for (arm, mut places) in of_arm {
            places.sort_by_key(|at| assembled.results[*at].repeat);
            arms.insert(arm, repeats(assembled, &places, paths, are_given));
        }
        match are_given {
            true => expect_common(assembled, step, &arms)?,
            false => take_told(&mut arms, assembled, paths),
        }
        let Some(first) = arms.keys().next().copied() else { continue };
        let base = if arms.contains_key(&assembled.base) { assembled.base } else { first };
        let Some(of_base) = arms.remove(&base) else { continue };
        let numbers = numbers_of_base(&of_base);
        let mut fresh =
            arms.values().flatten().filter_map(|one| one.own).chain(numbers.iter().copied()).max();
        for (one, number) in of_base.iter().zip(&numbers) {
            assembled.results[one.at].repeat = *number;
        }
        for (arm, repeats) in arms {
            let told = unpaired.entry(arm).or_default();
            let partners = match are_given {
                true => Some(of_number(&of_base, &repeats)),
                false => partners(&of_base, &repeats),
            };
            if partners.is_none() {
                told.tests.push(format!(
                    "{} ({} and {})",
                    assembled.steps[step].name,
                    repeats.len(),
                    of_base.len()
                ));
            }
            // No verdict rests on so few, and a ratio is better than none.
            let is_few = of_base.len().min(repeats.len()) < FOR_VERDICT;
            let in_order =
                || (0..repeats.len()).map(|at| (is_few && at < of_base.len()).then_some(at)).collect();
            let are_named = partners.is_some();
            let partners: Vec<Option<usize>> = partners.unwrap_or_else(in_order);
            if are_named {
                let lone = repeats.iter().zip(&partners).filter(|(_, partner)| partner.is_none());
                told.lone.extend(lone.map(|(one, _)| one.name.clone()));
                let of_base = of_base.iter().enumerate().filter(|(at, _)| !partners.contains(&Some(*at)));
                told.lone.extend(of_base.map(|(_, one)| one.name.clone()));
            }
            for (one, partner) in repeats.iter().zip(partners) {
                let own = one.own.filter(|own| are_named && !numbers.contains(own));
                assembled.results[one.at].repeat = match (partner, own) {
                    (Some(partner), _) => numbers[partner],
                    (None, Some(own)) => own,
                    (None, None) => {
                        let next = fresh.map_or(1, |most| most.saturating_add(1));
                        *fresh.insert(next)
                    }
                };
            }
        }
    }
    Ok(unpaired.iter().flat_map(|(arm, told)| told.findings(assembled, *arm)).collect())
}

impl Unpaired {
    fn findings(&self, assembled: &Assembled, arm: usize) -> Findings {
        let (own, base) = (&assembled.arms[arm].name, &assembled.arms[assembled.base].name);
        let mut findings = Findings::new();
        if !self.lone.is_empty() {
            // A file may have several tests.
            let mut lone: Vec<&str> = Vec::new();
            for name in &self.lone {
                if !lone.contains(&name.as_str()) {
                    lone.push(name);
                }
            }
            let text = format!(
                "left out of verdicts on {own}, since only one of {own} and {base} has a repeat of that number: {}",
                clipped(&lone.join(", "), NAMES_CHARS_MAX)
            );
            findings.push((Some(arm), text));
        }
        if !self.tests.is_empty() {
            let text = format!(
                "no verdicts on {own}, since its repeats cannot be paired with those of {base}: their names have no numbers in \
                 common, and they are not equally many: {}; name files after their repeats, such as t-1.txt, those of \
                 other settings after these, too, such as t-lz4-1.txt, or give each repeat of all arms as --repeat PATH",
                clipped(&self.tests.join(", "), NAMES_CHARS_MAX)
            );
            findings.push((Some(arm), text));
        }
        findings
    }
}

fn repeats(assembled: &Assembled, places: &[usize], paths: &[PathBuf], are_given: bool) -> Vec<Repeat> {
    let result = |at: &usize| &assembled.results[*at];
    let sources: BTreeSet<usize> = places.iter().map(|at| result(at).source).collect();
    let are_told = are_given || places.iter().all(|at| result(at).measurement.repeat.is_some());
    let repeat = |at: &usize| {
        let (one, path) = (result(at), &paths[result(at).source]);
        let arm = &assembled.arms[one.arm];
        let own = are_told.then_some(one.repeat);
        let numbers = match own {
            Some(own) => vec![own.to_string()],
            // In a file of several results their order is all that is known.
            None if sources.len() < places.len() => Vec::new(),
            None => numbers(path, [&arm.raw, &arm.name]),
        };
        let file = Path::new(&assembled.sources[one.source].path);
        let name = match own {
            Some(own) => format!("{} of {}, repeat {own}", assembled.steps[one.step].name, arm.name),
            None => file.display().to_string(),
        };
        Repeat { at: *at, numbers, own, name }
    };
    let mut repeats: Vec<Repeat> = places.iter().map(repeat).collect();
    if !are_told {
        number(&mut repeats);
    }
    repeats
}

/// Takes the only number in which repeats differ for their own.
fn number(repeats: &mut [Repeat]) {
    let own = |one: &Repeat| match &key(one, &varying(&[repeats]))[..] {
        [number] => number.parse().ok().filter(|number| *number <= NUMBER_MAX),
        _ => None,
    };
    let numbers: Vec<Option<u32>> = repeats.iter().map(own).collect();
    for (one, number) in repeats.iter_mut().zip(numbers) {
        one.own = number;
    }
}

/// Of arms whose names have numbers after words for repeats, takes these alone, if no arm has one twice: in
/// `run3-patch1` and `run3-base` only the first number is the repeat's.
fn take_told(arms: &mut BTreeMap<usize, Vec<Repeat>>, assembled: &Assembled, paths: &[PathBuf]) {
    let told = |repeats: &Vec<Repeat>| -> Vec<Vec<String>> {
        let path = |one: &Repeat| &paths[assembled.results[one.at].source];
        // Where a file tells its repeat, or has several, its name does not.
        let is_named =
            |one: &Repeat| !one.numbers.is_empty() && assembled.results[one.at].measurement.repeat.is_none();
        let all = repeats.iter().filter(|one| is_named(one)).map(|one| numbers_of_repeats(path(one)));
        let all: Vec<Vec<String>> = all.filter(|told| !told.is_empty()).collect();
        if all.len() == repeats.len() { all } else { Vec::new() }
    };
    let told: BTreeMap<usize, Vec<Vec<String>>> =
        arms.iter().map(|(arm, repeats)| (*arm, told(repeats))).collect();
    let is_distinct = |all: &Vec<Vec<String>>| all.iter().collect::<BTreeSet<_>>().len() == all.len();
    if !(told.values().all(is_distinct) && told.values().any(|all| all.len() > 1)) {
        return;
    }
    for (arm, repeats) in arms {
        if told[arm].is_empty() {
            continue;
        }
        for (one, told) in repeats.iter_mut().zip(&told[arm]) {
            one.numbers.clone_from(told);
        }
        number(repeats);
    }
}

/// The places of numbers, counted from the end of a path, in which the repeats of an arm differ, and that all paths
/// have.
fn varying(arms: &[&[Repeat]]) -> Vec<usize> {
    let least = arms.iter().copied().flatten().map(|one| one.numbers.len()).min().unwrap_or(0);
    let differs = |place: &usize| arms.iter().any(|repeats| values(repeats, *place).len() > 1);
    (0..least).filter(differs).collect()
}

fn at_end(numbers: &[String], place: usize) -> Option<&str> {
    Some(numbers.get(numbers.len().checked_sub(place + 1)?)?.as_str())
}

fn values(repeats: &[Repeat], place: usize) -> BTreeSet<&str> {
    repeats.iter().filter_map(|one| at_end(&one.numbers, place)).collect()
}

fn key<'a>(one: &'a Repeat, places: &[usize]) -> Vec<&'a str> {
    places.iter().filter_map(|place| at_end(&one.numbers, *place)).collect()
}

/// Base's own numbers if all have one, else their order.
fn numbers_of_base(of_base: &[Repeat]) -> Vec<u32> {
    let own: Option<Vec<u32>> = of_base.iter().map(|one| one.own).collect();
    let is_distinct = |own: &Vec<u32>| own.iter().collect::<BTreeSet<_>>().len() == own.len();
    own.filter(is_distinct).unwrap_or_else(|| (1..).take(of_base.len()).collect())
}

/// Which of base's repeats has the number that the user gave a repeat.
fn of_number(of_base: &[Repeat], repeats: &[Repeat]) -> Vec<Option<usize>> {
    repeats.iter().map(|one| of_base.iter().position(|other| other.own == one.own)).collect()
}

/// Which of base's repeats each repeat was measured with, by the numbers that names have in common, else in their
/// order; `None` if neither is possible.
fn partners(of_base: &[Repeat], repeats: &[Repeat]) -> Option<Vec<Option<usize>>> {
    // Numbers of processes, and times, are others on each arm.
    let is_common = |place: &usize| !values(of_base, *place).is_disjoint(&values(repeats, *place));
    let told =
        |all: &[Repeat]| all.iter().all(|one| one.own.is_some_and(|own| one.numbers == [own.to_string()]));
    let mut places = varying(&[of_base, repeats]);
    if places.is_empty() && told(of_base) && told(repeats) {
        places = vec![0];
    }
    places.retain(is_common);
    let keys = |all: &[Repeat]| -> Vec<Vec<String>> {
        all.iter().map(|one| key(one, &places).into_iter().map(str::to_owned).collect()).collect()
    };
    let (own, other) = (keys(repeats), keys(of_base));
    let is_distinct = |keys: &Vec<Vec<String>>| keys.iter().collect::<BTreeSet<_>>().len() == keys.len();
    let by_number: Vec<Option<usize>> =
        own.iter().map(|key| other.iter().position(|other| other == key)).collect();
    let is_by_number = !places.is_empty() && is_distinct(&own) && is_distinct(&other);
    if is_by_number && by_number.iter().any(Option::is_some) {
        return Some(by_number);
    }
    (of_base.len() == repeats.len()).then(|| (0..repeats.len()).map(Some).collect())
}

/// # Errors
/// If no other arm of a test has a number that an arm has.
fn expect_common(assembled: &Assembled, step: usize, arms: &BTreeMap<usize, Vec<Repeat>>) -> Result<()> {
    let numbers =
        |repeats: &[Repeat]| -> BTreeSet<Option<u32>> { repeats.iter().map(|one| one.own).collect() };
    for (arm, repeats) in arms {
        let mut others = arms.iter().filter(|(other, _)| *other != arm).peekable();
        if others.peek().is_some() && others.all(|(_, other)| numbers(other).is_disjoint(&numbers(repeats))) {
            let (test, arm) = (assembled.steps[step].name.clone(), assembled.arms[*arm].name.clone());
            return Err(Error::NoCommonRepeat { test, arm });
        }
    }
    Ok(())
}
