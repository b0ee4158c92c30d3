//! Results of one arm and test that are no repeats: of other versions, or from files whose names differ in more than
//! the number of the repeat. They become arms of their own, named by what tells them apart.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rqps_model::clipped;
use rqps_store::Source;

use crate::arms::{ArmRule, Arms, ImportedArm};
use crate::error::{Error, Place, Result};
use crate::path_classes::{classes, is_repeat_label};
use crate::paths::stem;
use crate::placed::{Findings, Found};
use crate::settings::Case;
use crate::words::{names, words};

/// Of the note on arms that were made.
const NOTE_CHARS_MAX: usize = 600;

/// Makes arms of their own of results that are no repeats of one another, and says which. Returns also what it says of
/// directories that it took for repeats.
///
/// # Errors
/// If results of one arm that the user named are of several versions, those of one arm come from other programs or
/// hosts, or figures beside results may be of several arms.
pub fn split(
    arms: &mut Arms,
    found: &mut [Found],
    beside: &mut [Found],
    (sources, paths): (&[Source], &[PathBuf]),
    rules: &[ArmRule],
) -> Result<(Findings, Option<String>)> {
    let path = |source: usize| paths[source].as_path();
    let releases = releases(&arms.all, found, sources)?;
    let cases = Case::of_all(found);
    let (by_name, repeats) = of_names(&arms.all, (found, &cases), &releases, path);
    let parts: Vec<String> = found
        .iter()
        .zip(&releases)
        .map(|(one, release)| {
            let key = (together(one.arm, &arms.all), release.clone(), one.source);
            let parts = [release.as_str(), by_name.get(&key).map_or("", String::as_str)];
            parts.iter().copied().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".")
        })
        .collect();
    for one in &mut *beside {
        let part = beside_part(one, found, &parts, path, &arms.all)?;
        one.part = part;
    }
    for (one, part) in found.iter_mut().zip(parts) {
        one.part = part;
    }
    let split = made(arms, found, (sources, paths), rules, &repeats);
    let place = |one: &Found| split.places.get(&(one.arm, one.part.clone())).copied();
    for one in found.iter_mut().chain(beside) {
        one.arm = place(one).unwrap_or(split.first[one.arm]);
    }
    expect_one_origin(&arms.all, (found, &cases), sources)?;
    Ok((split.notes, split.pooled))
}

/// The release of each result whose arm has several, else an empty text.
fn releases(arms: &[ImportedArm], found: &[Found], sources: &[Source]) -> Result<Vec<String>> {
    let mut of_arm: BTreeMap<usize, BTreeMap<(String, String), &Found>> = BTreeMap::new();
    let told = |one: &Found| {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        (text(&one.measurement.dbms), text(&one.measurement.version))
    };
    for one in found.iter().filter(|one| arms[one.arm].identity.version.is_empty()) {
        of_arm.entry(one.arm).or_default().entry(told(one)).or_insert(one);
    }
    let is_known = |text: &&(String, String)| !(text.0.is_empty() && text.1.is_empty());
    let differ = |all: &BTreeMap<(String, String), &Found>, of: fn(&(String, String)) -> &String| {
        all.keys().map(of).filter(|text| !text.is_empty()).collect::<BTreeSet<_>>().len() > 1
    };
    of_arm.retain(|_, all| differ(all, |told| &told.0) || differ(all, |told| &told.1));
    let name = |(dbms, version): &(String, String)| match version.is_empty() || dbms.is_empty() {
        true => format!("{dbms}{version}"),
        false => format!("{dbms}-{version}"),
    };
    for (arm, all) in of_arm.iter().filter(|(arm, _)| arms[**arm].is_given) {
        let mut known = all.iter().filter(|(told, _)| is_known(told));
        if let (Some((told, one)), Some((other_told, other))) = (known.next(), known.next()) {
            let place = |one: &Found| Place::of(&sources[one.source], &one.measurement);
            return Err(Error::SeveralReleases {
                arm: arms[*arm].name.clone(),
                releases: Box::new([(name(told), place(one)), (name(other_told), place(other))]),
            });
        }
    }
    expect_no_stray(arms, found, sources, &told)?;
    let release = |one: &Found| {
        let Some(all) = of_arm.get(&one.arm) else { return String::new() };
        let (dbms, version) = told(one);
        // Who does not tell the version has the only one of the DBMS.
        let mut versions = all.keys().filter(|other| other.0 == dbms && !other.1.is_empty());
        match (version.is_empty(), versions.next(), versions.next()) {
            (true, Some(only), None) => name(only),
            _ => name(&(dbms, version)),
        }
    };
    Ok(found.iter().map(release).collect())
}

/// Results by DBMS and version.
type Releases<'a> = BTreeMap<(String, String), Vec<&'a Found>>;

/// The release that more than half of the results are of, with the first of them.
fn most<'a>(all: &Releases<'a>) -> Option<((String, String), &'a Found)> {
    let count: usize = all.values().map(Vec::len).sum();
    all.iter().find(|(_, own)| 2 * own.len() > count).map(|(release, own)| (release.clone(), own[0]))
}

/// # Errors
/// If an arm has files of one release, and fewer of a release of which another arm has most: these were put into the
/// wrong directory.
fn expect_no_stray(
    arms: &[ImportedArm],
    found: &[Found],
    sources: &[Source],
    told: &impl Fn(&Found) -> (String, String),
) -> Result<()> {
    let mut of_arm: BTreeMap<usize, Releases> = BTreeMap::new();
    let is_told = |one: &&Found| one.measurement.version.is_some() && !is_repeat(&arms[one.arm]);
    for one in found.iter().filter(is_told) {
        of_arm.entry(one.arm).or_default().entry(told(one)).or_default().push(one);
    }
    for (arm, all) in &of_arm {
        let Some((release, first)) = most(all) else { continue };
        let others = of_arm.iter().filter(|(other, _)| *other != arm).filter_map(|(_, all)| most(all));
        let others: BTreeSet<(String, String)> = others.map(|(other, _)| other).collect();
        let mut strays = all.iter().filter(|(other, _)| **other != release && others.contains(*other));
        if let Some((other, stray)) = strays.next() {
            let place = |one: &Found| Place::of(&sources[one.source], &one.measurement);
            let name = |(dbms, version): &(String, String)| format!("{dbms}-{version}");
            return Err(Error::SeveralReleases {
                arm: arms[*arm].name.clone(),
                releases: Box::new([(name(&release), place(first)), (name(other), place(stray[0]))]),
            });
        }
    }
    Ok(())
}

/// Arm, release and source. All directories of repeats are one arm.
type Key = (usize, String, usize);

/// Instead of the number of an arm.
const TOGETHER: usize = usize::MAX;

fn together(arm: usize, arms: &[ImportedArm]) -> usize {
    if is_repeat(&arms[arm]) { TOGETHER } else { arm }
}

/// What tells files apart that have results of the same arm and test, but names that are not those of repeats; and arms
/// that are directories of repeats of one another.
fn of_names<'a>(
    arms: &[ImportedArm],
    (found, cases): (&[Found], &[Case]),
    releases: &[String],
    path: impl Fn(usize) -> &'a Path,
) -> (BTreeMap<Key, String>, BTreeSet<usize>) {
    let arm_of: BTreeMap<usize, usize> = found.iter().map(|one| (one.source, one.arm)).collect();
    let mut repeats = BTreeSet::new();
    let mut of_test: BTreeMap<(usize, &str, String), BTreeSet<usize>> = BTreeMap::new();
    let mut of_arm: BTreeMap<(usize, &str), BTreeSet<usize>> = BTreeMap::new();
    for ((one, case), release) in found.iter().zip(cases).zip(releases) {
        // Who names arms, or numbers repeats, has said what is a repeat.
        let is_numbered = one.repeat.is_some() && arms[one.arm].is_told || one.measurement.repeat.is_some();
        if !(arms[one.arm].is_given || is_numbered) {
            let arm = together(one.arm, arms);
            of_test.entry((arm, release, case.step())).or_default().insert(one.source);
            of_arm.entry((arm, release)).or_default().insert(one.source);
        }
    }
    let mut parts: BTreeMap<Key, String> = BTreeMap::new();
    let mut class_of: BTreeMap<(usize, &str, usize), String> = BTreeMap::new();
    let all: Vec<&Path> = arm_of.keys().map(|source| path(*source)).collect();
    for ((arm, release), sources) in &of_arm {
        let paths: Vec<&Path> = sources.iter().map(|source| path(*source)).collect();
        let classes = sources.iter().zip(classes(&paths, &all));
        class_of.extend(classes.map(|(source, class)| ((*arm, *release, *source), class)));
    }
    for ((arm, release, _), sources) in &of_test {
        let class = |source: usize| class_of[&(*arm, *release, source)].clone();
        let distinct: BTreeSet<String> = sources.iter().map(|source| class(*source)).collect();
        let of_sources: BTreeSet<usize> = sources.iter().map(|source| arm_of[source]).collect();
        if *arm == TOGETHER && distinct.len() == 1 && of_sources.len() > 1 {
            repeats.extend(of_sources);
        }
        if distinct.len() > 1 {
            let names = names(&distinct);
            for source in sources {
                let name = || names[&class(*source)].clone();
                parts.entry((*arm, (*release).to_owned(), *source)).or_insert_with(name);
            }
        }
    }
    // Files of other tests, by the words of their names.
    for ((arm, release), sources) in &of_arm {
        let of_arm = |key: &Key| key.0 == *arm && key.1 == *release;
        let known: BTreeSet<String> =
            parts.iter().filter(|(key, _)| of_arm(key)).map(|(_, part)| part.clone()).collect();
        for source in sources {
            if let Some(part) = part_in(path(*source), &known) {
                parts.entry((*arm, (*release).to_owned(), *source)).or_insert(part);
            }
        }
    }
    (parts, repeats)
}

/// The only one of the parts whose words a path has.
fn part_in(path: &Path, parts: &BTreeSet<String>) -> Option<String> {
    let text = path.to_string_lossy();
    let own = words(&text);
    let mut fitting = parts.iter().filter(|part| words(part).iter().all(|word| own.contains(word)));
    fitting.next().filter(|_| fitting.next().is_none()).cloned()
}

/// What figures beside results belong to: the result of their name, or the only part whose words their path has.
fn beside_part<'a>(
    one: &Found,
    found: &[Found],
    parts: &[String],
    path: impl Fn(usize) -> &'a Path,
    arms: &[ImportedArm],
) -> Result<String> {
    let own = path(one.source);
    let of_arm = || found.iter().zip(parts).filter(|(other, _)| other.arm == one.arm);
    let known: BTreeSet<String> = of_arm().map(|(_, part)| part.clone()).collect();
    if known.len() < 2 {
        return Ok(known.into_iter().next().unwrap_or_default());
    }
    let is_named_alike = |other: &Found| {
        let path = path(other.source);
        path.parent() == own.parent() && stem(path) == stem(own)
    };
    let alike: BTreeSet<&String> =
        of_arm().filter(|(other, _)| is_named_alike(other)).map(|(_, part)| part).collect();
    if let (Some(part), 1) = (alike.first(), alike.len()) {
        return Ok((*part).clone());
    }
    part_in(own, &known).ok_or_else(|| Error::OfWhichArm {
        path: own.to_owned(),
        arm: arms[one.arm].name.clone(),
        parts: known.into_iter().collect::<Vec<_>>().join(", "),
    })
}

struct Made {
    places: BTreeMap<(usize, String), usize>,
    first: Vec<usize>,
    notes: Findings,
    /// What is said of directories of repeats.
    pooled: Option<String>,
}

/// Puts new arms in the place of those that are several.
fn made(
    arms: &mut Arms,
    found: &[Found],
    (sources, paths): (&[Source], &[PathBuf]),
    rules: &[ArmRule],
    repeats: &BTreeSet<usize>,
) -> Made {
    let old = std::mem::take(&mut arms.all);
    let mut keys: Vec<(usize, &str)> = Vec::new();
    for (arm, _) in old.iter().enumerate() {
        for one in found.iter().filter(|one| one.arm == arm) {
            if !keys.contains(&(arm, &one.part)) {
                keys.push((arm, &one.part));
            }
        }
        // Dates alone, or figures beside, of arms without results.
        if !keys.iter().any(|(known, _)| *known == arm) {
            keys.push((arm, ""));
        }
    }
    let others =
        (0..old.len()).filter(|arm| found.iter().any(|one| one.arm == *arm) && !is_repeat(&old[*arm]));
    let has_others = others.count() > 1;
    // The directory says nothing if there is no other.
    let of_repeats = name_of_repeats(found, (sources, paths), repeats);
    let is_one_of_repeats = |(arm, part): (usize, &str)| part.is_empty() && repeats.contains(&arm);
    let short = |(arm, part): (usize, &str)| match part.is_empty() {
        true if repeats.contains(&arm) => of_repeats.clone(),
        true => old[arm].name.clone(),
        false if is_repeat(&old[arm]) || !(old[arm].is_told || has_others) => part.to_owned(),
        false => format!("{}.{part}", old[arm].name),
    };
    let is_unique = |key: (usize, &str)| {
        keys.iter().filter(|other| short(**other) == short(key)).count() == 1
            || is_repeat(&old[key.0]) && !key.1.is_empty()
            || is_one_of_repeats(key)
    };
    let name = |key: (usize, &str)| match key.1.is_empty() || is_unique(key) {
        true => short(key),
        false => format!("{}.{}", old[key.0].name, key.1),
    };
    let (mut places, mut first, mut made) = (BTreeMap::new(), vec![0; old.len()], Vec::new());
    for key in &keys {
        let (arm, part) = *key;
        let name = name(*key);
        let of_part = |one: &&Found| one.arm == arm && one.part == part;
        let mut of_part = found.iter().filter(of_part).map(|one| &sources[one.source]);
        let known = arms.all.iter().position(|known: &ImportedArm| known.name == name);
        let place = known.unwrap_or_else(|| {
            let mut new = old[arm].clone();
            if is_one_of_repeats(*key) {
                (new.raw, new.name) = (name.clone(), name.clone());
            }
            if !part.is_empty() {
                let at = of_part.clone().find_map(|source| source.measured_at_ms);
                new.measured_at_ms = at.or(new.measured_at_ms);
                let directory = of_part.next().and_then(|source| Path::new(&source.path).parent());
                new.origin = directory.map_or(new.origin, |path| path.to_string_lossy().into_owned());
                (new.raw, new.name) = (name.clone(), name.clone());
                new.identify(rules);
                made.push(name);
            }
            arms.all.push(new);
            arms.all.len() - 1
        });
        if !places.keys().any(|(known, _): &(usize, String)| *known == arm) {
            first[arm] = place;
        }
        places.insert((arm, part.to_owned()), place);
    }
    let (mut notes, mut pooled) = (Findings::new(), None);
    if keys.iter().any(|key| is_one_of_repeats(*key)) {
        let names: Vec<&str> = repeats.iter().map(|arm| old[*arm].name.as_str()).collect();
        let text = format!(
            "the directories {} were taken for repeats of one another; if they are arms, give each as ARM=PATH, such as {}=PATH",
            names.join(", "),
            names[0]
        );
        pooled = Some(clipped(&text, NOTE_CHARS_MAX));
    }
    if !made.is_empty() {
        let text = format!(
            "results of other versions, or from files whose names differ in more than the number of a repeat, are arms of \
             their own; give repeats of one arm as ARM=PATH: {}",
            made.join(", ")
        );
        notes.push((None, clipped(&text, NOTE_CHARS_MAX)));
    }
    Made { places, first, notes, pooled }
}

/// The directory that those of repeats are in, if they have one.
fn name_of_repeats(
    found: &[Found],
    (sources, paths): (&[Source], &[PathBuf]),
    repeats: &BTreeSet<usize>,
) -> String {
    let above = |one: &Found| {
        let directory = |path: &Path| {
            let name = path.parent()?.parent()?.file_name()?.to_string_lossy().into_owned();
            Some(name).filter(|name| !is_repeat_label(name))
        };
        directory(&paths[one.source]).or_else(|| directory(Path::new(&sources[one.source].path)))
    };
    let of_repeats = found.iter().filter(|one| repeats.contains(&one.arm));
    let names: BTreeSet<Option<String>> = of_repeats.map(above).collect();
    let only = names.into_iter().collect::<Option<Vec<_>>>().filter(|names| names.len() == 1);
    only.and_then(|names| names.into_iter().next()).unwrap_or_else(|| "results".to_owned())
}

/// Whether an arm is a directory that may be a repeat's.
fn is_repeat(arm: &ImportedArm) -> bool {
    is_repeat_label(&arm.raw) && !(arm.is_told || arm.is_given || arm.is_beside_base)
}

/// The program that measured a result, if its version is known.
fn tool(one: &Found, sources: &[Source]) -> Option<String> {
    sources[one.source].tool.clone().filter(|tool| tool.contains(' '))
}

fn cpus(one: &Found, _: &[Source]) -> Option<String> {
    one.measurement.metrics.get("cpus").map(|cpus| format!("{cpus} CPUs"))
}

fn cpu(one: &Found, _: &[Source]) -> Option<String> {
    one.measurement.values.iter().find(|value| value.name == "cpu")?.published.clone()
}

/// # Errors
/// If results of one arm and test come from other programs or hosts, and nobody said that they are repeats.
fn expect_one_origin(
    arms: &[ImportedArm],
    (found, cases): (&[Found], &[Case]),
    sources: &[Source],
) -> Result<()> {
    for origin in [tool, cpus, cpu] {
        let mut known: BTreeMap<(usize, String), (String, usize)> = BTreeMap::new();
        for (one, case) in found.iter().zip(cases) {
            let is_said = arms[one.arm].is_given || one.measurement.repeat.is_some() || one.repeat.is_some();
            let Some(own) = origin(one, sources).filter(|_| !is_said) else { continue };
            let (first, source) =
                known.entry((one.arm, case.step())).or_insert_with(|| (own.clone(), one.source));
            if *first != own {
                let path = |source: usize| PathBuf::from(&sources[source].path);
                return Err(Error::OtherOrigin {
                    test: case.step(),
                    arm: arms[one.arm].name.clone(),
                    origins: Box::new([(first.clone(), path(*source)), (own, path(one.source))]),
                });
            }
        }
    }
    Ok(())
}
