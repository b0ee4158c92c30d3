//! Arms, tests and settings that names of files tell: `base-ro-1` and `head-ro-1` are one test of two arms; `lz4-1` and
//! `pglz-1` of each arm are two settings. Numbers of repeats, dates and times are no part of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rqps_model::clipped;

use crate::arms::{is_head, is_of_setting, names_patched, rank_of_word};
use crate::formats::{Format, sysbench};
use crate::gather::arm_of_directory;
use crate::grouped::grouped;
use crate::layout::{Layout, is_called_after_test};
use crate::loaded::Loaded;
use crate::mix::Mix;
use crate::names::TestName;
use crate::path_classes::{is_repeat_label, stems};
use crate::releases::{dbms_of_word, version_at, version_of};
use crate::words::{names, placed, trimmed, words};

/// Formats whose files are named by who measures; of the first two their names tell the tests, too.
const NAMED: [Format; 6] = [
    Format::Sysbench,
    Format::Ycsb,
    Format::Pgbench,
    Format::PgbenchLog,
    Format::PgbenchAggregate,
    Format::Hammerdb,
];
/// Tests of YCSB.
const WORKLOADS: [&str; 6] = ["workloada", "workloadb", "workloadc", "workloadd", "workloade", "workloadf"];
/// Words that tell tests apart, and never arms.
const OF_TESTS: [&str; 17] = [
    "ro", "rw", "wo", "read", "write", "select", "insert", "update", "delete", "scan", "point", "points",
    "range", "ranges", "query", "load", "join",
];
/// Beginnings of words that name a host: of an arm that the user named these tell no settings.
const HOSTS: [&str; 4] = ["host", "node", "server", "machine"];

/// Of the names in a note.
const NAMES_CHARS_MAX: usize = 200;

/// A file that is named by who measured.
struct File<'a> {
    at: usize,
    /// The user's, or its directory's.
    arm: Option<String>,
    stem: String,
    /// A result; else figures beside one.
    result: Option<Named<'a>>,
}

struct Named<'a> {
    key: &'static str,
    mix: Option<Mix>,
    clients: Option<u32>,
    settings: &'a [String],
}

/// What the name of a file tells.
struct Told {
    /// Where no directory, and no user, tells it.
    arm: Option<String>,
    /// Test or setting; empty if the name tells none.
    rest: String,
}

/// By arm and stem.
type Found = BTreeMap<(Option<String>, String), Told>;

/// Adds what names tell to the layouts of files. Returns what should be said of it.
pub fn read(loaded: &[Loaded], layouts: &mut [Layout]) -> Vec<String> {
    let of_results =
        || loaded.iter().filter(|one| one.document.measurements.iter().any(|one| one.work.is_some()));
    let is_named = |one: &Loaded| {
        let name = one.given.path.file_name().unwrap_or_default().to_string_lossy();
        let tells_arm =
            one.document.is_table || one.document.measurements.iter().any(|one| one.arm.is_some());
        NAMED.contains(&one.format) && !tells_arm && TestName::of_file(&name).is_none()
    };
    let tells_test = |one: &Loaded| {
        let tells = one.document.measurements.iter().any(|one| one.test.is_some());
        tells || ![Format::Sysbench, Format::Ycsb].contains(&one.format)
    };
    let tell: BTreeSet<bool> = of_results().map(tells_test).collect();
    let is_given: BTreeSet<bool> = of_results().map(|one| one.given.arm.is_some()).collect();
    if !of_results().all(is_named) || tell.len() != 1 || is_given.len() != 1 {
        return Vec::new();
    }
    let (tell_tests, is_given) = (tell.contains(&true), is_given.contains(&true));
    let files = files(loaded, layouts);
    let mut arms: BTreeSet<Option<&str>> = BTreeSet::new();
    arms.extend(files.iter().filter(|one| one.result.is_some()).map(|one| one.arm.as_deref()));
    let is_open = |arm: &Option<&str>| arm.is_none_or(is_repeat_label);
    let is_arm =
        |arm: &Option<&str>| arm.is_some_and(names_arm) || layouts.iter().all(|one| one.arm.is_some());
    let mut notes = Vec::new();
    let found = match () {
        () if is_given && arms.len() > 1 => of_arms(&files, tell_tests, true, &mut notes),
        () if is_given => None,
        () if arms.len() == 1 || arms.iter().all(is_open) => flat(&files, tell_tests),
        () if !arms.iter().any(is_open) && arms.iter().all(is_arm) => {
            of_arms(&files, tell_tests, false, &mut notes)
        }
        () => None,
    };
    let Some(found) = found else {
        notes.retain(|note| is_given && note.contains(POOLED));
        return notes;
    };
    let key = files.iter().find_map(|one| Some(one.result.as_ref()?.key)).unwrap_or_default();
    let is_flat = found.values().any(|told| told.arm.is_some());
    let told = files.into_iter().filter_map(|one| {
        let arm = one.arm.filter(|_| !is_flat);
        Some((one.at, found.get(&(arm, one.stem))?))
    });
    for (at, told) in told.collect::<Vec<_>>() {
        let layout = &mut layouts[at];
        layout.arm = told.arm.clone().or(layout.arm.take());
        if tell_tests {
            layout.setting = Some(told.rest.clone()).filter(|rest| !rest.is_empty());
        } else {
            layout.test = Some(test(&told.rest, key, &mut layout.settings));
        }
    }
    notes
}

/// The test that a name tells, or a directory that is called after one, or the format.
fn test(rest: &str, key: &str, settings: &mut Vec<String>) -> String {
    if !rest.is_empty() {
        return rest.to_owned();
    }
    let of_directory = settings.iter().position(|name| is_called_after_test(name));
    of_directory.map_or_else(|| key.to_owned(), |at| settings.remove(at))
}

fn files<'a>(loaded: &'a [Loaded], layouts: &'a [Layout]) -> Vec<File<'a>> {
    let arm = |one: &Loaded, layout: &Layout| {
        let directory = layout.within.parent().unwrap_or(Path::new(""));
        let of_directory = || layout.arm.clone().or_else(|| arm_of_directory(&one.given, directory));
        one.given.arm.clone().or_else(of_directory)
    };
    let arms = loaded.iter().zip(layouts).map(|(one, layout)| arm(one, layout));
    let arms = arms.map(|arm| arm.filter(|arm| !is_repeat_label(arm)));
    let of_arm: BTreeMap<Option<String>, Vec<usize>> = grouped(arms.zip(0..));
    let all: Vec<&Path> = layouts.iter().map(|layout| &*layout.within).collect();
    let mut files = Vec::new();
    for members in of_arm.values() {
        let paths: Vec<&Path> = members.iter().map(|at| all[*at]).collect();
        for (at, stem) in members.iter().zip(stems(&paths, &all)) {
            let one = &loaded[*at];
            let measured = one.document.measurements.iter().find(|one| one.work.is_some());
            let result = measured.map(|measured| Named {
                key: one.format.key(),
                mix: measured.mix,
                clients: measured.clients,
                settings: &layouts[*at].settings,
            });
            files.push(File { at: *at, arm: arm(one, &layouts[*at]), stem, result });
        }
    }
    files
}

/// Whether a directory's name is that of an arm.
fn names_arm(name: &str) -> bool {
    crate::arms::names_arm(name) || version_at(name).is_some_and(|(from, to)| to - from == name.len())
}

/// What is before and after a part of a name.
fn around(stem: &str, (from, to): (usize, usize)) -> String {
    let parts = [trimmed(&stem[..from]), trimmed(&stem[to..])];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// Arms and tests in names of files that no directory tells.
fn flat(files: &[File], tell_tests: bool) -> Option<Found> {
    let mut clients: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for one in files {
        if let Some(result) = &one.result {
            clients.entry(&one.stem).or_default().extend(result.clients);
        }
    }
    let all: Vec<&str> = clients.keys().copied().collect();
    let by_tests = || if tell_tests { None } else { by_tests(&clients) };
    let by_base = |of_settings: bool| by_base(&all, of_settings);
    let parts = by_base(false).or_else(|| by_version(&all)).or_else(|| by_base(true)).or_else(by_tests)?;
    let parts: BTreeMap<&str, (String, String)> = all.into_iter().zip(parts).collect();
    let of_rest: BTreeMap<&str, BTreeSet<&str>> =
        grouped(parts.values().map(|(arm, rest)| (&**rest, &**arm)));
    let is_compared = of_rest.values().any(|arms| arms.len() > 1);
    let is_known =
        if tell_tests { of_rest.len() < 2 } else { !are_of_one_kind(files, |one| &parts[&*one.stem].1) };
    if !is_compared || is_known {
        return None;
    }
    let common = if tell_tests { common_words(of_rest.keys().copied()) } else { BTreeSet::new() };
    let told = |(arm, rest): &(String, String)| {
        let rest = if common.is_empty() { rest.clone() } else { without(rest, |word| common.contains(word)) };
        Told { arm: Some(arm.clone()), rest }
    };
    Some(parts.iter().map(|(stem, part)| ((None, (*stem).to_owned()), told(part))).collect())
}

/// Whether the results of each test are of one kind, as far as they tell.
fn are_of_one_kind<'a>(files: &'a [File], rest: impl Fn(&'a File) -> &'a str) -> bool {
    let mut mixes: BTreeMap<(&str, &[String]), Mix> = BTreeMap::new();
    files.iter().all(|one| {
        let Some((mix, result)) = one.result.as_ref().and_then(|result| Some((result.mix?, result))) else {
            return true;
        };
        let first = mixes.entry((rest(one), result.settings)).or_insert(mix);
        !first.differs_from(&mix)
    })
}

/// Names with a word for base, and others that have another word in its place. `of_settings`: the word may be one that
/// settings have, too.
fn by_base(stems: &[&str], of_settings: bool) -> Option<Vec<(String, String)>> {
    let is_patched = |stem: &&str| words(stem).into_iter().any(names_patched);
    let has_patched = stems.iter().any(is_patched);
    let rank = |word: &str| {
        if has_patched && is_head(word) { Some(0) } else { rank_of_word(word) }
    };
    let plainest = stems.iter().flat_map(|stem| words(stem)).filter_map(rank).min()?;
    if is_of_setting(plainest) != of_settings {
        return None;
    }
    let base = |stem: &str| {
        let found = placed(stem).into_iter().find(|(_, own)| rank(own) == Some(plainest));
        found.map(|(at, own)| (at, at + own.len()))
    };
    let templates: BTreeSet<(&str, &str)> =
        stems.iter().filter_map(|stem| base(stem).map(|(from, to)| (&stem[..from], &stem[to..]))).collect();
    let in_place = |stem: &str| {
        let fits = |(before, after): &&(&str, &str)| {
            let length = before.len() + after.len();
            let own = stem.starts_with(before) && stem.ends_with(after) && length < stem.len();
            own && !trimmed(&stem[before.len()..stem.len() - after.len()]).is_empty()
        };
        let (before, after) =
            templates.iter().filter(fits).max_by_key(|(before, after)| before.len() + after.len())?;
        Some((before.len(), stem.len() - after.len()))
    };
    let mut at: Vec<Option<(usize, usize)>> =
        stems.iter().map(|stem| base(stem).or_else(|| in_place(stem))).collect();
    // A test that base has not.
    let arms: BTreeSet<&str> = stems
        .iter()
        .zip(&at)
        .filter_map(|(stem, at)| at.map(|(from, to)| trimmed(&stem[from..to])))
        .collect();
    for (stem, at) in stems.iter().zip(&mut at).filter(|(_, at)| at.is_none()) {
        let known = placed(stem).into_iter().find(|(_, word)| arms.contains(word));
        *at = known.map(|(at, word)| (at, at + word.len()));
    }
    let parts: Option<Vec<_>> = stems
        .iter()
        .zip(at)
        .map(|(stem, at)| Some((trimmed(&stem[at?.0..at?.1]).to_owned(), around(stem, at?))))
        .collect();
    let parts: Vec<(String, String)> = parts?;
    // `v1-off`, `v2-off`
    let is_arm = |(_, rest): &(String, String)| names_patched(rest) || names_arm(rest);
    match of_settings && parts.iter().all(is_arm) {
        true => Some(parts.into_iter().map(|(arm, rest)| (rest, arm)).collect()),
        false => Some(parts),
    }
}

fn is_of_test(word: &str) -> bool {
    OF_TESTS.contains(&&*word.to_ascii_lowercase())
}

/// Names that each tell a version.
fn by_version(stems: &[&str]) -> Option<Vec<(String, String)>> {
    let part = |stem: &&str| {
        let at = version_at(stem)?;
        Some((stem[at.0..at.1].to_owned(), around(stem, at)))
    };
    let parts: Option<Vec<(String, String)>> = stems.iter().map(part).collect();
    parts.filter(|parts| parts.iter().map(|(arm, _)| arm).collect::<BTreeSet<_>>().len() > 1)
}

/// Where a name has that of a test of sysbench or YCSB.
fn test_at(stem: &str) -> Option<(usize, usize)> {
    let plain = stem.to_ascii_lowercase().replace('-', "_");
    let is_end = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    let at = |test: &str| {
        let at = plain.find(test)?;
        let to = at + test.len();
        (is_end(plain[..at].chars().next_back()) && is_end(plain[to..].chars().next())).then_some((at, to))
    };
    sysbench::tests().chain(WORKLOADS).find_map(at)
}

/// Names that each have one of a test, and something beside it that is not the number of clients.
fn by_tests(stems: &BTreeMap<&str, BTreeSet<u32>>) -> Option<Vec<(String, String)>> {
    let part = |(stem, clients): (&&str, &BTreeSet<u32>)| {
        let at = test_at(stem)?;
        let others = around(stem, at);
        let is_clients = |word: &&str| {
            let digits = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
            digits.parse().is_ok_and(|number| clients.contains(&number))
        };
        let (of_clients, own): (Vec<&str>, Vec<&str>) = words(&others).into_iter().partition(is_clients);
        let test = [&[&stem[at.0..at.1]], &of_clients[..]].concat().join("-");
        let own = if of_clients.is_empty() { others.clone() } else { own.join("-") };
        own.contains(char::is_alphabetic).then_some((own, test))
    };
    let parts: Vec<(String, String)> = stems.iter().map(part).collect::<Option<_>>()?;
    let arms: BTreeSet<String> = parts.iter().map(|(arm, _)| arm.clone()).collect();
    let short = names(&arms);
    let short = |arm: String| short.get(&arm).filter(|name| !name.is_empty()).cloned().unwrap_or(arm);
    (arms.len() > 1).then(|| parts.into_iter().map(|(arm, test)| (short(arm), test)).collect())
}

/// Tests and settings in names of files of several arms, without words that only say which arm it is.
fn of_arms(files: &[File], tell_tests: bool, is_given: bool, notes: &mut Vec<String>) -> Option<Found> {
    let mut of_arm: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for one in files.iter().filter(|one| one.result.is_some()) {
        of_arm.entry(one.arm.as_deref()?).or_default().insert(&one.stem);
    }
    let own: BTreeMap<&str, BTreeSet<&str>> =
        of_arm.keys().map(|arm| (*arm, own_words(arm, &of_arm, is_given))).collect();
    let rest = |one: &File| {
        let own = &own[one.arm.as_deref()?];
        let is_host = |word: &str| {
            let word = word.to_ascii_lowercase();
            is_given && tell_tests && HOSTS.iter().any(|host| word.starts_with(host))
        };
        // `mysql` of `mysql-8.0.36`
        let has_version = own.iter().any(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        let is_dbms = |word: &str| has_version && dbms_of_word(word).is_some();
        Some(without(&one.stem, |word| own.contains(word) || is_host(word) || is_dbms(word)))
    };
    let mut rests: BTreeMap<String, BTreeMap<&str, usize>> = BTreeMap::new();
    for one in files.iter().filter(|one| one.result.is_some()) {
        *rests.entry(rest(one)?).or_default().entry(one.arm.as_deref()?).or_default() += 1;
    }
    if !rests.values().any(|arms| arms.len() > 1) {
        return None;
    }
    let found = || -> Found {
        let known = files.iter().filter(|one| one.arm.as_deref().is_some_and(|arm| own.contains_key(arm)));
        let told =
            |one: &File| Some(((one.arm.clone(), one.stem.clone()), Told { arm: None, rest: rest(one)? }));
        known.filter_map(told).collect()
    };
    if tell_tests {
        notes.extend(note(&own).filter(|_| is_given));
        notes.extend(pooled(&rests).filter(|_| is_given));
        let are_several = |arms: &&BTreeMap<&str, usize>| !is_given || arms.values().all(|files| *files > 1);
        return (rests.values().filter(are_several).count() > 1).then(|| {
            let mut found = found();
            let common = common_words(rests.keys().map(String::as_str));
            for told in found.values_mut() {
                told.rest = without(&told.rest, |word| common.contains(word));
            }
            found
        });
    }
    let mut first: Option<BTreeSet<&str>> = None;
    for own in of_arm.values() {
        first = Some(first.map_or_else(|| own.clone(), |common| &common & own));
    }
    // Their names are those of tests as they are.
    if first.is_some_and(|common| !common.is_empty()) {
        return None;
    }
    let found = found();
    let of_file = |one: &File| (one.arm.clone(), one.stem.clone());
    let is_known = |one: &&File| found.contains_key(&of_file(one));
    let known: BTreeMap<usize, &str> =
        files.iter().filter(is_known).map(|one| (one.at, &*found[&of_file(one)].rest)).collect();
    if !are_of_one_kind(files, |one| known.get(&one.at).copied().unwrap_or_default()) {
        return None;
    }
    notes.extend(note(&own));
    Some(found)
}

/// What is said of a note on files of several names that are repeats.
const POOLED: &str = "were taken for names of repeats";

/// What is said of arms that the user named, of which each has one file of each of several names.
fn pooled(rests: &BTreeMap<String, BTreeMap<&str, usize>>) -> Option<String> {
    let is_word = |rest: &&String| rest.contains(char::is_alphabetic);
    let names: Vec<&str> = rests.keys().filter(is_word).map(String::as_str).collect();
    let are_single = rests.values().flat_map(BTreeMap::values).all(|files| *files == 1);
    (names.len() > 1 && names.len() == rests.len() && are_single).then(|| {
        format!(
            "{} in names of files {POOLED}, since each arm has one file of each; if they are settings, they take several \
             files of each, or another import for each",
            clipped(&names.join(", "), NAMES_CHARS_MAX)
        )
    })
}

/// What is said of words that were taken for names of arms, if they do not look so.
fn note(own: &BTreeMap<&str, BTreeSet<&str>>) -> Option<String> {
    let is_telling = |word: &&str| {
        rank_of_word(word).is_some() || names_patched(word) || names_arm(word) || version_of(word).is_some()
    };
    if own.values().any(BTreeSet::is_empty) || own.values().flatten().any(is_telling) {
        return None;
    }
    let words = |(arm, own): (&&str, &BTreeSet<&str>)| {
        format!("{} of {arm}", own.iter().copied().collect::<Vec<_>>().join("-"))
    };
    Some(format!(
        "{} in names of files were taken for names of the arms; if they are tests or settings, the arms have none in common",
        own.iter().map(words).collect::<Vec<_>>().join(", ")
    ))
}

/// Words that all names of an arm have, and no other arm has.
fn own_words<'a>(arm: &str, of_arm: &BTreeMap<&str, BTreeSet<&'a str>>, is_given: bool) -> BTreeSet<&'a str> {
    let of_name = words(arm);
    let others: BTreeSet<&str> = { of_arm.iter() }
        .filter(|(other, _)| **other != arm)
        .flat_map(|(_, stems)| stems.iter().flat_map(|stem| words(stem)))
        .collect();
    let is_own = |word: &&str| {
        let is_of_arm = is_given || of_name.iter().any(|own| own.eq_ignore_ascii_case(word));
        is_of_arm && !others.contains(word) && !is_of_test(word)
    };
    let is_called = |stem: &&str| test_at(stem).is_some();
    let in_test = |word: &&str| {
        of_arm[arm].iter().filter(|stem| is_called(stem)).any(|stem| {
            let (from, to) = test_at(stem).unwrap_or_default();
            words(&stem[from..to]).contains(word)
        })
    };
    common_words(of_arm[arm].iter().copied())
        .into_iter()
        .filter(is_own)
        .filter(|word| !in_test(word))
        .collect()
}

fn common_words<'a>(mut names: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
    let first: BTreeSet<&str> = names.next().map(words).unwrap_or_default().into_iter().collect();
    names.fold(first, |common, name| {
        let own = words(name);
        common.into_iter().filter(|word| own.contains(word)).collect()
    })
}

/// A name without some words, and without the signs that only stood beside these.
fn without(stem: &str, is_left_out: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    let mut end = None;
    for (at, word) in placed(stem) {
        if is_left_out(word) {
            end = None;
            continue;
        }
        let between = end.map_or("-", |end: usize| &stem[end..at]);
        text.push_str(if text.is_empty() { "" } else { between });
        text.push_str(word);
        end = Some(at + word.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_the_place_of_base_is_an_arm() {
        for (stems, expected) in [
            (&["base", "head"][..], Some(&[("base", ""), ("head", "")][..])),
            (&["ro-master-c8", "ro-v1-0001-c8"], Some(&[("master", "ro-c8"), ("v1-0001", "ro-c8")])),
            (
                &["old-ro", "old-rw", "new-ro", "new-rw", "new-wo"],
                Some(&[("old", "ro"), ("old", "rw"), ("new", "ro"), ("new", "rw"), ("new", "wo")]),
            ),
            (&["ro", "rw"], None),
        ] {
            let found = by_base(stems, false);
            let expected = expected.map(|all| {
                all.iter().map(|(arm, rest)| ((*arm).to_owned(), (*rest).to_owned())).collect::<Vec<_>>()
            });
            assert_eq!(found, expected, "{stems:?}");
        }
    }
}
