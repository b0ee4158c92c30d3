//! Names that may be read in two ways. Files that were taken for repeats of one arm and test differ in one number,
//! that of the repeat; where they differ in two, and several files have the same of one (`1_0001`, `1_0002`, `2_0001`),
//! that one may tell an arm or a test. The same holds of arms that are numbered as their repeats are (`p1-t1`,
//! `p2-t1`). Nobody but who named the files knows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rqps_store::Source;

use crate::arms::{ImportedArm, names_patched};
use crate::dates::{dates, without_dates};
use crate::error::{Error, Result};
use crate::grouped::grouped;
use crate::path_classes::counts;
use crate::paths::stem;
use crate::placed::Found;
use crate::settings::Case;
use crate::words::{is_of_repeats_in_file, is_separator};

/// Of files that a command names.
const ARGUMENTS_MAX: usize = 12;

/// Sources by arm.
type Sources = BTreeMap<usize, BTreeSet<usize>>;
/// Sources by what tells them apart.
type Parts = BTreeMap<String, BTreeSet<usize>>;

/// # Errors
/// If files of one arm and test, which the user has not named, differ in two numbers.
pub fn expect_one_reading(
    arms: &[ImportedArm],
    found: &[Found],
    sources: &[Source],
    paths: &[PathBuf],
) -> Result<()> {
    let mut of_test: BTreeMap<String, Sources> = BTreeMap::new();
    for (one, case) in found.iter().zip(Case::of_all(found)) {
        let is_told = one.repeat.is_some() || one.measurement.repeat.is_some() || arms[one.arm].is_given;
        if !is_told && one.measurement.work.is_some() {
            let of_arm = of_test.entry(case.step()).or_default();
            of_arm.entry(one.arm).or_default().insert(one.source);
        }
    }
    let all: BTreeSet<usize> = found.iter().map(|one| one.source).collect();
    let files = Files { all: &all, paths, sources };
    for (test, of_arm) in &of_test {
        if let Some(by_number) = files.exchanged(of_arm) {
            let of_arm = of_arm.iter().map(|(arm, members)| (arms[*arm].name.clone(), members));
            let is_other = |members: &BTreeSet<usize>| by_number.values().all(|own| own.is_disjoint(members));
            let others = of_arm.clone().filter(|(_, members)| is_other(members));
            let by_number = others.chain(by_number.iter().map(|(name, members)| (name.clone(), members)));
            return Err(Error::TwoNumbers {
                test: test.clone(),
                arms: of_arm.clone().map(|(name, _)| name).collect::<Vec<_>>().join(", "),
                others: by_number.clone().map(|(name, _)| name).collect::<Vec<_>>().join(", "),
                readings: Box::new([files.command(of_arm), files.command(by_number)]),
            });
        }
        for (arm, members) in of_arm {
            let Some(parts) = files.parts(members) else { continue };
            let whole = of_arm.iter().map(|(arm, members)| (arms[*arm].name.clone(), members));
            let parted: Vec<(String, Parts)> = of_arm
                .iter()
                .map(|(arm, members)| {
                    let parts = files
                        .parts(members)
                        .unwrap_or_else(|| Parts::from([(String::new(), members.clone())]));
                    (arms[*arm].name.clone(), parts)
                })
                .collect();
            let of_parts = parted.iter().flat_map(|(arm, parts)| {
                let name =
                    move |part: &str| if part.is_empty() { arm.clone() } else { format!("{arm}-{part}") };
                parts.iter().map(move |(part, members)| (name(part), members))
            });
            // A test that the others have, too.
            let are_in_all = parted.iter().all(|(_, own)| own.keys().eq(parts.keys()));
            let first = parts.keys().next().map(String::as_str).filter(|_| are_in_all && parted.len() > 1);
            let as_tests = first.map(|first| {
                let of_one = parted.iter().filter_map(|(arm, parts)| Some((arm.clone(), parts.get(first)?)));
                format!("; if they are tests, for {first}, and so for each: {}", files.command(of_one))
            });
            let readings = format!(
                "if {} are arms, type: {}{}; if all are repeats of {}: {}",
                parts.keys().cloned().collect::<Vec<_>>().join(", "),
                files.command(of_parts),
                as_tests.unwrap_or_default(),
                arms[*arm].name,
                files.command(whole)
            );
            let mut examples =
                parts.values().filter_map(|part| part.first()).map(|source| files.shown(*source));
            let [Some(one), Some(other)] = [examples.next(), examples.next()] else { continue };
            return Err(Error::TwoReadings {
                test: test.clone(),
                arm: arms[*arm].name.clone(),
                files: Box::new([one, other]),
                readings,
            });
        }
    }
    Ok(())
}

struct Files<'a> {
    all: &'a BTreeSet<usize>,
    /// As they are read.
    paths: &'a [PathBuf],
    sources: &'a [Source],
}

impl Files<'_> {
    fn shown(&self, source: usize) -> String {
        self.sources[source].path.clone()
    }

    /// Arms by the other number, where names tell of two numbers that belong to words (`p1-t1`) which of them is the
    /// repeat's no better than the other way round.
    fn exchanged(&self, of_arm: &Sources) -> Option<Parts> {
        let of_arm =
            of_arm.iter().flat_map(|(arm, members)| members.iter().map(move |source| (*arm, *source)));
        let mut of_shape: BTreeMap<String, Vec<(usize, usize, Vec<String>)>> = BTreeMap::new();
        for (arm, source) in of_arm {
            let (shape, numbers) = numbers(&self.paths[source]);
            of_shape.entry(shape).or_default().push((arm, source, numbers));
        }
        let words_of = |shape: &str| -> Vec<String> {
            let before = shape.split('#').map(|part| part.rsplit(is_separator).next().unwrap_or_default());
            before.map(str::to_lowercase).collect()
        };
        of_shape.iter().find_map(|(shape, files)| {
            let values = |place: usize| -> BTreeSet<&str> {
                files.iter().map(|(_, _, numbers)| numbers[place].as_str()).collect()
            };
            let varying: Vec<usize> =
                (0..files[0].2.len()).filter(|place| values(*place).len() > 1).collect();
            let [first, second] = varying[..] else { return None };
            let of_arms: BTreeSet<(usize, &str)> =
                files.iter().map(|(arm, _, numbers)| (*arm, numbers[first].as_str())).collect();
            let arms: BTreeSet<usize> = files.iter().map(|(arm, ..)| *arm).collect();
            let (of_arm, of_repeat) =
                if of_arms.len() == arms.len() { (first, second) } else { (second, first) };
            let own: BTreeSet<(usize, &str)> =
                files.iter().map(|(arm, _, numbers)| (*arm, numbers[of_arm].as_str())).collect();
            let words = words_of(shape);
            let [arm_word, repeat_word] = [of_arm, of_repeat].map(|place| words[place].as_str());
            let are_crossed = arms.len() > 1 && own.len() == arms.len() && values(of_arm).len() == arms.len();
            let are_words = [arm_word, repeat_word].iter().all(|word| !word.is_empty());
            let in_directories = shape.rsplit_once('/').map_or(0, |(above, _)| above.matches('#').count());
            let is_in_directory = of_arm.min(of_repeat) < in_directories;
            if !are_crossed || !are_words || is_in_directory || is_of_repeats_in_file(repeat_word) {
                return None;
            }
            let others: BTreeSet<String> =
                of_shape.keys().filter(|other| *other != shape).flat_map(|other| words_of(other)).collect();
            let is_patch = names_patched(arm_word) || names_patched(&format!("{arm_word}1"));
            let count = counts(&values(of_arm)) && counts(&values(of_repeat));
            let is_told = match others.is_empty() {
                true => is_patch || !count,
                // What others have, too, is the repeat's.
                false => others.contains(repeat_word) || !others.contains(arm_word),
            };
            if is_told {
                return None;
            }
            let name = |numbers: &[String]| format!("{repeat_word}{}", numbers[of_repeat]);
            Some(grouped(files.iter().map(|(_, source, numbers)| (name(numbers), *source))))
        })
    }

    /// The files that have the same in one number, if they differ in another, too, or in their times.
    fn parts(&self, members: &BTreeSet<usize>) -> Option<Parts> {
        let of_shape: BTreeMap<String, Vec<(usize, Vec<String>)>> = grouped(members.iter().map(|source| {
            let (shape, numbers) = numbers(&self.paths[*source]);
            (shape, (*source, numbers))
        }));
        of_shape.values().find_map(|files| {
            let of_place = |place: usize| -> Parts {
                grouped(files.iter().map(|(source, numbers)| (numbers[place].clone(), *source)))
            };
            let varying: Vec<_> =
                (0..files[0].1.len()).map(of_place).filter(|of_number| of_number.len() > 1).collect();
            let has_several = |part: &Parts| part.values().any(|all| all.len() > 1);
            let dates: BTreeSet<Vec<String>> =
                files.iter().map(|(source, _)| dates_of(&self.paths[*source])).collect();
            let are_dated = dates.len() == files.len() && !dates.contains(&Vec::new());
            // The fewer parts, the likelier they are no repeats.
            let parts = varying.iter().filter(|part| has_several(part)).min_by_key(|part| part.len());
            parts.filter(|_| varying.len() > 1 || are_dated).cloned()
        })
    }

    /// An import that names arms.
    fn command<'m>(&self, arms: impl Iterator<Item = (String, &'m BTreeSet<usize>)>) -> String {
        let mut command = "rqps import".to_owned();
        let arguments = arms.flat_map(|(name, members)| {
            self.patterns(members).into_iter().map(move |pattern| format!(" {name}='{pattern}'"))
        });
        for (at, argument) in arguments.enumerate() {
            match at {
                ..ARGUMENTS_MAX => command.push_str(&argument),
                ARGUMENTS_MAX => command.push_str(" …"),
                _ => {}
            }
        }
        command
    }

    /// One pattern for these files alone, with a star for each number in which they differ; else their paths.
    fn patterns(&self, members: &BTreeSet<usize>) -> Vec<String> {
        let paths: Vec<String> = members.iter().map(|source| self.shown(*source)).collect();
        let pieces: Vec<Vec<&str>> = paths.iter().map(|path| pieces(path)).collect();
        let first = pieces.first().map(Vec::as_slice).unwrap_or_default();
        let piece = |at: usize, piece: &str| match pieces.iter().all(|other| other.get(at) == Some(&piece)) {
            true => Some(glob::Pattern::escape(piece)),
            false => piece.starts_with(|c: char| c.is_ascii_digit()).then(|| "*".to_owned()),
        };
        let pattern: Option<String> = first.iter().enumerate().map(|(at, own)| piece(at, own)).collect();
        let is_alike = pieces.iter().all(|other| other.len() == first.len());
        let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::default() };
        let is_own = |pattern: &glob::Pattern| {
            let is_right = |source: &usize| {
                pattern.matches_with(&self.shown(*source), options) == members.contains(source)
            };
            self.all.iter().all(is_right)
        };
        let pattern = pattern.filter(|_| is_alike && paths.len() > 1);
        match pattern.and_then(|text| glob::Pattern::new(&text).ok()).filter(is_own) {
            Some(pattern) => vec![pattern.as_str().to_owned()],
            None => match self.parts(members) {
                Some(parts) => parts.values().flat_map(|part| self.patterns(part)).collect(),
                None => paths,
            },
        }
    }
}

/// Numbers, and what is between them.
fn pieces(path: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        let is_digit = first.is_ascii_digit();
        let (piece, after) =
            rest.split_at(rest.find(|c: char| c.is_ascii_digit() != is_digit).unwrap_or(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

fn dates_of(path: &Path) -> Vec<String> {
    let text = path.to_string_lossy();
    dates(&text).into_iter().map(str::to_owned).collect()
}

/// What a path has beside its numbers, and these; dates are neither. A time of day is one number.
fn numbers(path: &Path) -> (String, Vec<String>) {
    let directory = path.parent().unwrap_or(Path::new("")).to_string_lossy().into_owned();
    let text: Vec<char> = without_dates(&format!("{directory}/{}", stem(path))).chars().collect();
    let (mut shape, mut numbers, mut at) = (String::new(), Vec::new(), 0);
    while at < text.len() {
        let length = text[at..].iter().take_while(|c| c.is_ascii_digit()).count();
        if length == 0 {
            shape.push(text[at]);
            at += 1;
            continue;
        }
        let length = time_of_day(&text[at..]).unwrap_or(length);
        numbers.push(text[at..at + length].iter().collect());
        shape.push('#');
        at += length;
    }
    (shape, numbers)
}

/// The length of `10-16-00` or `10h16`.
fn time_of_day(text: &[char]) -> Option<usize> {
    let pair = |at: usize| text.get(at..at + 2).is_some_and(|pair| pair.iter().all(char::is_ascii_digit));
    let ends = |at: usize| text.get(at).is_none_or(|c| !c.is_ascii_digit());
    let sign = |at: usize| text.get(at).copied().filter(|c| "-_:h".contains(*c));
    match (pair(0), sign(2), pair(3), sign(5), pair(6)) {
        (true, Some(first), true, Some(second), true) if first == second && ends(8) => Some(8),
        (true, Some('h'), true, ..) if ends(5) => Some(5),
        _ => None,
    }
}
