//! Directories that tell tests and clients: above files whose names tell no test, those whose files are of other kinds
//! of tests, as the files themselves say, and those called after the clients that their files tell.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rqps_model::clipped;

use crate::arms::names_arm;
use crate::error::{Error, Result};
use crate::formats::Format;
use crate::levels::{Levels, Placed};
use crate::loaded::Loaded;
use crate::mix::Mix;
use crate::names::{ArmName, TestName};
use crate::path_classes::is_repeat_label;
use crate::paths::{stem, test_of_path, without_number};
use crate::releases::version_of;
use crate::words::is_separator;

/// What directories tell of a file.
#[derive(Debug, Default)]
pub struct Layout {
    /// Its path without the directories that tell its test, clients or settings.
    pub within: PathBuf,
    pub test: Option<String>,
    /// Its directory beside one that is called as base is.
    pub arm: Option<String>,
    /// Its directories that are settings, the outermost first.
    pub settings: Vec<String>,
    /// The setting that its name tells.
    pub setting: Option<String>,
}

/// Directories above a file that are looked at.
const LEVELS: usize = 6;
/// Of the names in an error.
const NAMES_CHARS_MAX: usize = 100;
/// How sysbench calls its tests.
const TESTS: [&str; 3] = ["oltp_", "select_random_", "bulk_insert"];

/// A result's file.
struct Seen<'a> {
    arm: Option<&'a str>,
    path: &'a Path,
    /// Names of its directories, the nearest first.
    above: Vec<String>,
    mix: Option<Mix>,
    clients: Option<u32>,
    /// The test that it tells.
    test: Option<&'a str>,
    tells_arm: bool,
    /// Of the server.
    version: Option<&'a str>,
    /// Whether neither it nor its name tells a test.
    is_unnamed: bool,
}

/// The layout of each file.
///
/// # Errors
/// If of two levels of directories each may be the arms.
pub fn of(loaded: &[Loaded]) -> Result<Vec<Layout>> {
    let all: Vec<Seen> = loaded.iter().filter_map(seen).collect();
    let unnamed: Vec<&Seen> = all.iter().filter(|one| one.is_unnamed).collect();
    let of_clients: Vec<usize> = (0..LEVELS).filter(|level| are_clients(&all, *level)).collect();
    let is_test =
        |level: &usize| !(unnamed.is_empty() || of_clients.contains(level)) && are_tests(&unnamed, *level);
    let of_told: Vec<usize> = (0..LEVELS).filter(|level| are_told(&all, *level)).collect();
    let mut of_tests: Vec<usize> = (0..LEVELS).filter(is_test).collect();
    if of_tests.is_empty() && unnamed.iter().all(|one| one.arm.is_none()) {
        of_tests.extend(tests_below_arms(&unnamed, &of_clients)?);
    }
    let levels = levels(&all, |level| {
        !(of_clients.contains(level) || of_told.contains(level) || of_tests.contains(level))
    });
    // What belongs to a result, such as figures of the host, is in its directory.
    let mut directories: HashMap<(Option<&str>, &Path), &Seen> = HashMap::new();
    for one in &all {
        directories.insert((one.arm, one.path.parent().unwrap_or(Path::new(""))), one);
    }
    // Its number of clients is in its name.
    let mut clients: HashMap<(Option<&str>, &Path, String), u32> = HashMap::new();
    if end_in_clients(&all) {
        for one in &all {
            let directory = one.path.parent().unwrap_or(Path::new(""));
            clients.extend(one.clients.map(|clients| ((one.arm, directory, stem(one.path)), clients)));
        }
    }
    let layout = |one: &Loaded| {
        let within = one.given.within();
        let directory = within.parent().unwrap_or(Path::new(""));
        let Some(known) = directories.get(&(one.given.arm.as_deref(), directory)) else {
            return Layout { within: within.to_owned(), ..Layout::default() };
        };
        let of_tests = if known.is_unnamed { &of_tests[..] } else { &[] };
        let names = of_tests.iter().rev().filter_map(|level| known.above.get(*level).cloned());
        let test = names.collect::<Vec<_>>().join(".");
        let parts: Vec<_> = directory.components().collect();
        let is_kept = |at: &usize| {
            let level = parts.len() - 1 - at;
            let is_told =
                of_tests.contains(&level) || of_clients.contains(&level) || of_told.contains(&level);
            !(is_told || levels.settings.contains(&level))
        };
        let kept: PathBuf = (0..parts.len()).filter(is_kept).map(|at| parts[at]).collect();
        let name = within.file_name().unwrap_or_default();
        let of_name = clients.get(&(one.given.arm.as_deref(), directory, stem(within)));
        let name = of_name.map_or_else(|| name.to_owned(), |clients| without_clients(within, *clients));
        let named = |level: &usize| known.above.get(*level).cloned();
        Layout {
            within: kept.join(name),
            test: (!test.is_empty()).then_some(test),
            arm: levels.arms.as_ref().and_then(named),
            settings: levels.settings.iter().filter_map(named).collect(),
            setting: None,
        }
    };
    Ok(loaded.iter().map(layout).collect())
}

/// Which levels are arms and settings, if files do not tell their arms.
fn levels(all: &[Seen], is_open: impl Fn(&usize) -> bool) -> Levels {
    let names_version = |one: &Seen| one.above.iter().any(|name| ArmName::parse(name).is_some());
    if all.iter().any(|one| one.tells_arm || names_version(one)) {
        return Levels::default();
    }
    let files: Vec<Placed> = { all.iter() }
        .map(|one| Placed { arm: one.arm, above: &one.above, stem: stem(one.path), version: one.version })
        .collect();
    Levels::of(&files, &(0..LEVELS).filter(is_open).collect::<Vec<_>>())
}

fn seen(one: &Loaded) -> Option<Seen<'_>> {
    let path = one.given.within();
    let document = Some(&one.document).filter(|document| !document.is_table)?;
    let measured = document.measurements.iter().find(|one| one.work.is_some())?;
    let file = path.file_name()?.to_string_lossy();
    let is_default = || test_of_path(path, one.format, false) == one.format.key();
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    Some(Seen {
        arm: one.given.arm.as_deref(),
        path,
        above: path.ancestors().skip(1).take(LEVELS).map_while(name).collect(),
        mix: measured.mix,
        clients: measured.clients,
        tells_arm: measured.arm.is_some(),
        version: measured.version.as_deref(),
        test: measured.test.as_deref().filter(|_| measured.arm.is_none()),
        is_unnamed: one.format == Format::Sysbench && TestName::of_file(&file).is_none() && is_default(),
    })
}

/// The level of tests, if directories of two levels are crossed (`a/x`, `a/y`, `b/x`, `b/y`) and those of the other one
/// name arms.
///
/// # Errors
/// If both do, or none.
fn tests_below_arms(unnamed: &[&Seen], of_clients: &[usize]) -> Result<Option<usize>> {
    let names = |level: usize| -> Option<BTreeSet<&str>> {
        let names: Option<BTreeSet<&str>> =
            unnamed.iter().map(|one| one.above.get(level).map(String::as_str)).collect();
        names.filter(|names| names.len() > 1 && !names.iter().all(|name| is_repeat_label(name)))
    };
    let levels = (0..LEVELS).filter(|level| !of_clients.contains(level));
    let levels: Vec<(usize, BTreeSet<&str>)> =
        levels.filter_map(|level| Some((level, names(level)?))).take(2).collect();
    let [(lower, below), (upper, above)] = &levels[..] else { return Ok(None) };
    let pairs: BTreeSet<[&String; 2]> =
        unnamed.iter().map(|one| [&one.above[*lower], &one.above[*upper]]).collect();
    if pairs.len() < below.len() * above.len() {
        return Ok(None);
    }
    let are_arms = |names: &BTreeSet<&str>| {
        names.iter().all(|name| names_arm(name)) || names.iter().all(|name| version_of(name).is_some())
    };
    match (are_arms(below), are_arms(above)) {
        (true, false) => Ok(Some(*upper)),
        (false, true) => Ok(Some(*lower)),
        _ => {
            let text = |names: &BTreeSet<&str>| {
                clipped(&names.iter().copied().collect::<Vec<_>>().join(", "), NAMES_CHARS_MAX)
            };
            let example = above.first().copied().unwrap_or_default().to_owned();
            Err(Error::Crossed { names: Box::new([text(above), text(below)]), example })
        }
    }
}

/// Whether all directories of a level are called after the clients of their files, of which there are several numbers:
/// `c16`, `threads_16`, `16clients`.
fn are_clients(all: &[Seen], level: usize) -> bool {
    let told = |one: &Seen| {
        let name = one.above.get(level)?;
        let is_digit = |c: char| c.is_ascii_digit();
        let (before, after) = (name.trim_end_matches(is_digit), name.trim_start_matches(is_digit));
        let (number, word) = match name.len() - after.len() {
            0 => (&name[before.len()..], before),
            digits => (&name[..digits], after),
        };
        let is_told = number.parse().ok() == one.clients && one.clients.is_some();
        is_told.then(|| (word.to_owned(), one.clients))
    };
    let told: Option<BTreeSet<_>> = all.iter().map(told).collect();
    told.is_some_and(|told| {
        told.len() > 1 && told.iter().map(|(word, _)| word).collect::<BTreeSet<_>>().len() == 1
    })
}

/// Whether all names of files end in the clients that the files tell, of which there are several numbers, after another
/// number or word: `base-1-8`, `ro-1-16threads`.
fn end_in_clients(all: &[Seen]) -> bool {
    let ends = |one: &Seen| one.clients.is_some_and(|clients| clients_at(&stem(one.path), clients).is_some());
    let clients: BTreeSet<Option<u32>> = all.iter().map(|one| one.clients).collect();
    clients.len() > 1 && all.iter().all(ends)
}

/// Where the number of clients at the end of a name begins, with the sign before it.
fn clients_at(stem: &str, clients: u32) -> Option<usize> {
    let word = stem.rsplit(is_separator).next().filter(|word| word.len() < stem.len())?;
    let number = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let before = &stem[..stem.len() - word.len()];
    (number.parse() == Ok(clients)).then(|| before.trim_end_matches(is_separator).len()).filter(|at| *at > 0)
}

/// The name of a file without the number of clients at its end.
fn without_clients(path: &Path, clients: u32) -> OsString {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = stem(path);
    let short = clients_at(&stem, clients).map(|at| format!("{}{}", &stem[..at], &name[stem.len()..]));
    short.map_or_else(|| OsString::from(&*name), OsString::from)
}

/// Whether the directories of a level are those of the tests that their files tell: each has files of one test of its
/// own, and directories of another level, which are the arms then, have all of them.
fn are_told(all: &[Seen], level: usize) -> bool {
    let name = |one: &Seen, level: usize| one.above.get(level).cloned();
    let pairs: Option<BTreeSet<(String, &str)>> =
        all.iter().map(|one| Some((name(one, level)?, one.test?))).collect();
    let Some(pairs) = pairs else { return false };
    let names: BTreeSet<&String> = pairs.iter().map(|(name, _)| name).collect();
    let tests: BTreeSet<&str> = pairs.iter().map(|(_, test)| *test).collect();
    let count = pairs.len();
    let is_one_by_one = count > 1 && count == names.len() && count == tests.len();
    let have_all = |other: usize| {
        let mut of_name: BTreeMap<Option<String>, BTreeSet<&str>> = BTreeMap::new();
        for one in all {
            of_name.entry(name(one, other)).or_default().extend(one.test);
        }
        let is_name = |name: &Option<String>| name.as_deref().is_some_and(|name| !is_repeat_label(name));
        of_name.len() > 1 && of_name.iter().all(|(name, own)| is_name(name) && *own == tests)
    };
    is_one_by_one
        && (are_beside_arms(all, level) || (0..LEVELS).any(|other| other != level && have_all(other)))
}

/// Whether the directories of files are no arms, and each has files of the same names, which are the arms then:
/// `ro/master-1`, `ro/patched-1`, `rw/master-1`, `rw/patched-1`.
fn are_beside_arms(all: &[Seen], level: usize) -> bool {
    let mut of_name: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for one in all {
        let (0, None, Some(name)) = (level, one.arm, one.above.first()) else { return false };
        of_name.entry(name).or_default().insert(without_number(&stem(one.path)).to_owned());
    }
    let is_word = |name: &str| !(is_repeat_label(name) || names_arm(name));
    let first = of_name.values().next();
    first.is_some_and(|first| first.len() > 1 && of_name.values().all(|words| words == first))
        && of_name.keys().all(|name| is_word(name))
}

/// Whether a directory is called as sysbench calls its tests.
pub fn is_called_after_test(name: &str) -> bool {
    let name = name.replace('-', "_");
    TESTS.iter().any(|start| name.starts_with(start))
}

/// Whether the directories of a level are tests: each has files of one kind of test, and they are of several kinds, are
/// called after tests, or are the same on several arms that the user named.
fn are_tests(all: &[&Seen], level: usize) -> bool {
    let mut of_arm: BTreeMap<Option<&str>, BTreeMap<&str, Vec<Option<Mix>>>> = BTreeMap::new();
    for one in all {
        let Some(name) = one.above.get(level) else { return false };
        of_arm.entry(one.arm).or_default().entry(name).or_default().push(one.mix);
    }
    let differ = |one: &Option<Mix>, other: &Option<Mix>| {
        one.zip(*other).is_some_and(|(one, other)| one.differs_from(&other))
    };
    let is_of_one_kind = |mixes: &Vec<Option<Mix>>| mixes.iter().all(|mix| !differ(mix, &mixes[0]));
    if !of_arm.values().flat_map(BTreeMap::values).all(is_of_one_kind) {
        return false;
    }
    let have_several_kinds = |of_name: &BTreeMap<&str, Vec<Option<Mix>>>| {
        let mixes: Vec<Option<Mix>> = of_name.values().map(|mixes| mixes[0]).collect();
        mixes.iter().any(|mix| differ(mix, &mixes[0]))
    };
    let are_called =
        |of_name: &BTreeMap<&str, Vec<Option<Mix>>>| of_name.keys().all(|name| is_called_after_test(name));
    let is_word = |name: &&str| !is_repeat_label(name);
    let words = |of_name: &BTreeMap<&str, Vec<Option<Mix>>>| -> BTreeSet<String> {
        of_name.keys().filter(|name| is_word(name)).map(|name| (*name).to_owned()).collect()
    };
    let named: Vec<BTreeSet<String>> =
        of_arm.iter().filter(|(arm, _)| arm.is_some()).map(|(_, of_name)| words(of_name)).collect();
    let are_on_all = named.len() > 1 && named[0].len() > 1 && named.iter().all(|words| *words == named[0]);
    of_arm.values().any(have_several_kinds) || of_arm.values().all(are_called) || are_on_all
}
