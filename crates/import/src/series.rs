//! Numbers at the end of names that are none of repeats: of `ro-1`, `ro-2`, `ro-4` and `ro-8` each is twice the one
//! before, as sizes and counts of something are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rqps_model::clipped;

use crate::dates::without_dates;
use crate::formats::Format;
use crate::loaded::Loaded;
use crate::names::TestName;
use crate::path_classes::tells_repeat_before;
use crate::paths::stem;
use crate::word_numbers::WordNumbers;

/// Formats whose files are named after a test and the number of a repeat.
const NAMED_AFTER_REPEATS: [Format; 7] = [
    Format::Sysbench,
    Format::Pgbench,
    Format::Fio,
    Format::DbBenchLog,
    Format::Hammerdb,
    Format::Ycsb,
    Format::Benchbase,
];
/// Fewer may be repeats, of which one is missing.
const DOUBLING_MIN: usize = 3;
/// Larger numbers are times or processes.
const NUMBER_MAX: u32 = 9999;
/// Repeats are fewer.
const REPEATS_MAX: u32 = 99;
/// Of the names in a note.
const NAMES_CHARS_MAX: usize = 200;

/// Files of one name before the number.
#[derive(Default)]
struct Group<'a> {
    files: Vec<usize>,
    numbers: BTreeSet<u32>,
    clients: BTreeSet<Option<u32>>,
    word: &'a str,
}

/// The number of each file that is a part of its test's name, and what was assumed.
pub fn of(loaded: &[Loaded]) -> (Vec<Option<u32>>, Vec<String>) {
    let stems: Vec<String> = loaded.iter().map(|one| stem(one.given.within())).collect();
    let paths: Vec<&Path> = loaded.iter().map(|one| one.given.within()).collect();
    let of_words = WordNumbers::of(&[], &paths);
    let mut groups: BTreeMap<(&str, &str), Group> = BTreeMap::new();
    for (at, one) in loaded.iter().enumerate() {
        let Some((word, number)) = numbered(one, &stems[at], &of_words) else { continue };
        let group = groups.entry((one.format.key(), word)).or_default();
        group.word = word;
        group.files.push(at);
        group.numbers.insert(number);
        group.clients.extend(one.document.measurements.iter().map(|one| one.clients));
    }
    let (mut numbers, mut notes) = (vec![None; loaded.len()], Vec::new());
    // What the files tell themselves needs no name.
    for group in groups.values().filter(|group| group.clients.len() < 2) {
        let names: Vec<String> = group.numbers.iter().map(|n| format!("{}{n}", group.word)).collect();
        let names = clipped(&names.join(", "), NAMES_CHARS_MAX);
        if is_doubling(&group.numbers) {
            for file in &group.files {
                numbers[*file] = numbered(&loaded[*file], &stems[*file], &of_words).map(|(_, number)| number);
            }
            notes.push(format!(
                "{names} were taken for tests of their own, not for repeats, since each number is twice the one before; if they are \
                 repeats, number them 1, 2, 3"
            ));
        } else if has_gaps(&group.numbers)
            // Then the number at the end is none of a repeat.
            && !group.files.iter().any(|file| tells_repeat_before(loaded[*file].given.within()))
        {
            let missing = match (group.numbers.first(), has_holes(&group.numbers)) {
                (Some(first), false) => format!("those before {first}"),
                _ => "numbers between them".to_owned(),
            };
            notes.push(format!(
                "{names} were taken for repeats, though {missing} are missing; if they are tests, give each a name that \
                 ends in no number; if they are arms, give each as ARM=PATH"
            ));
        }
    }
    (numbers, notes)
}

/// The name of a result's file before the number at its end, and the number.
fn numbered<'a>(one: &Loaded, stem: &'a str, of_words: &WordNumbers) -> Option<(&'a str, u32)> {
    let results = || one.document.measurements.iter().filter(|one| one.work.is_some());
    let is_numbered = one.given.repeat.is_some() || results().any(|one| one.repeat.is_some());
    if !NAMED_AFTER_REPEATS.contains(&one.format) || is_numbered || results().next().is_none() {
        return None;
    }
    let file = one.given.path.file_name()?.to_string_lossy();
    if without_dates(stem) != stem {
        return None;
    }
    let word = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    if of_words.has(last_word(word)) {
        return None;
    }
    let number = stem[word.len()..].parse().ok().filter(|number| *number <= NUMBER_MAX)?;
    TestName::of_file(&file).is_none().then_some((word, number))
}

/// The letters that a text ends in.
fn last_word(text: &str) -> &str {
    text.rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or_default()
}

fn is_doubling(numbers: &BTreeSet<u32>) -> bool {
    let numbers: Vec<u32> = numbers.iter().copied().collect();
    numbers.len() >= DOUBLING_MIN
        && numbers[0] > 0
        && numbers.array_windows().all(|[one, next]| 2 * one == *next)
}

/// Whether some numbers between the first and the last are missing.
fn has_holes(numbers: &BTreeSet<u32>) -> bool {
    numbers.iter().zip(numbers.iter().skip(1)).any(|(one, next)| one + 1 < *next)
}

/// Whether some numbers between the first and the last are missing, or those before the first.
fn has_gaps(numbers: &BTreeSet<u32>) -> bool {
    let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return false };
    let is_whole = *first <= 1 && !has_holes(numbers);
    numbers.len() > 1 && *last <= REPEATS_MAX && !is_whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_double_count_nothing() {
        for (numbers, doubles, gaps) in [
            (&[1, 2, 4, 8][..], true, true),
            (&[16, 32, 64], true, true),
            (&[1, 2], false, false),
            (&[1, 2, 3, 4], false, false),
            (&[0, 1, 2], false, false),
            (&[1, 2, 4, 5], false, true),
            (&[10, 20, 30], false, true),
            (&[3], false, false),
            (&[1405, 1410], false, false),
        ] {
            let numbers: BTreeSet<u32> = numbers.iter().copied().collect();
            assert_eq!((is_doubling(&numbers), has_gaps(&numbers)), (doubles, gaps), "{numbers:?}");
        }
    }
}
