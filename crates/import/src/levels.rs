//! Which level of directories names the arms: the one with a word for base, such as `master` beside `v1` and `v2`. The
//! directories of other levels that the arms have in common are settings, and tests of different ones are different.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::arms::{is_head, is_of_setting, names_patched, rank_of_base};
use crate::path_classes::{classes, is_repeat_label};
use crate::releases::version_of;

/// A result's file.
pub struct Placed<'a> {
    /// As the user named it.
    pub arm: Option<&'a str>,
    /// Names of its directories, the nearest first.
    pub above: &'a [String],
    /// The name of the file.
    pub stem: String,
    /// Of the server, as the file tells.
    pub version: Option<&'a str>,
}

#[derive(Debug, Default)]
pub struct Levels {
    /// The one of arms.
    pub arms: Option<usize>,
    /// Those of settings, the outermost first.
    pub settings: Vec<usize>,
}

/// What tells a file's arm.
#[derive(Clone, Copy, PartialEq)]
enum By {
    User,
    Directory(usize),
    /// Its name, which has a word for base or not, or a version.
    Stem,
}

impl Levels {
    /// Of directories of these levels.
    pub fn of(files: &[Placed], levels: &[usize]) -> Self {
        let names = |level: usize| -> Option<BTreeSet<&str>> {
            let names: Option<BTreeSet<&str>> =
                files.iter().map(|one| one.above.get(level).map(String::as_str)).collect();
            names.filter(|names| names.len() > 1)
        };
        let levels: Vec<(usize, BTreeSet<&str>)> =
            levels.iter().filter_map(|level| Some((*level, names(*level)?))).collect();
        let by = if files.iter().any(|one| one.arm.is_some()) { Some(By::User) } else { by(files, &levels) };
        let Some(by) = by else { return Self::default() };
        let is_setting = |(level, names): &&(usize, BTreeSet<&str>)| {
            let is_open = by != By::Directory(*level) && !are_repeats(names);
            is_open && are_common(files, by, *level) && !are_versions(files, *level)
        };
        let mut settings: Vec<usize> = levels.iter().filter(is_setting).map(|(level, _)| *level).collect();
        settings.reverse();
        let arms = if let By::Directory(level) = by { Some(level) } else { None };
        Self { arms, settings }
    }
}

/// The level whose names tell base most plainly, if no other does so as well.
fn by(files: &[Placed], levels: &[(usize, BTreeSet<&str>)]) -> Option<By> {
    let rank = |names: &BTreeSet<&str>| {
        // HEAD of patched builds.
        if names.len() > 1 && names.iter().all(|name| is_head(name) || names_patched(name)) {
            return names.iter().any(|name| is_head(name)).then_some(0);
        }
        let ranks: BTreeSet<Option<usize>> = names.iter().map(|name| rank_of_base(name)).collect();
        // If all names have the same word, it tells nothing.
        ranks.iter().copied().flatten().next().filter(|_| ranks.len() > 1)
    };
    let directories = levels.iter().filter_map(|(level, names)| Some((rank(names)?, By::Directory(*level))));
    let stems = files.iter().map(|one| one.stem.as_str()).collect();
    let mut all: Vec<(usize, By)> = directories.chain(rank(&stems).map(|rank| (rank, By::Stem))).collect();
    all.sort_by_key(|(rank, _)| *rank);
    match all[..] {
        [(one, _), (other, _), ..] if one == other => None,
        // `pg17/hp-off-1`, `pg18/hp-off-1`
        [(rank, By::Stem), ..]
            if is_of_setting(rank) && levels.iter().any(|(_, names)| are_named_versions(names)) =>
        {
            None
        }
        [(_, by), ..] => Some(by),
        [] => are_of_versions(files, levels).then_some(By::Stem).or_else(|| crossed_versions(files, levels)),
    }
}

fn are_named_versions(names: &BTreeSet<&str>) -> bool {
    names.iter().all(|name| version_of(name).is_some())
}

/// The level of versions that each have the same directories of another level: `pg16/lz4`, `pg16/pglz`, `pg17/lz4`,
/// `pg17/pglz`.
fn crossed_versions(files: &[Placed], levels: &[(usize, BTreeSet<&str>)]) -> Option<By> {
    let are_crossed = |version: usize, other: usize| {
        let pair = |one: &Placed| (one.above[version].clone(), one.above[other].clone());
        files.iter().map(pair).collect::<BTreeSet<_>>().len()
    };
    let of_versions = |names: &BTreeSet<&str>| are_named_versions(names);
    let mut found = levels.iter().filter(|(_, names)| of_versions(names));
    let (version, names) = found.next().filter(|_| found.next().is_none())?;
    let is_crossed = |(other, inner): &&(usize, BTreeSet<&str>)| {
        other != version && !are_repeats(inner) && are_crossed(*version, *other) == names.len() * inner.len()
    };
    levels.iter().any(|level| is_crossed(&level)).then_some(By::Directory(*version))
}

/// Whether names of files tell versions, and those of directories none.
fn are_of_versions(files: &[Placed], levels: &[(usize, BTreeSet<&str>)]) -> bool {
    let versions: Option<BTreeSet<&str>> = files.iter().map(|one| version_of(&one.stem)).collect();
    let tell_none =
        |(_, names): &(usize, BTreeSet<&str>)| names.iter().all(|name| version_of(name).is_none());
    versions.is_some_and(|versions| versions.len() > 1) && levels.iter().all(tell_none)
}

/// Whether the directories of a level only number repeats.
fn are_repeats(names: &BTreeSet<&str>) -> bool {
    let files: Vec<_> = names.iter().map(|name| Path::new(name).join("x")).collect();
    let files: Vec<&Path> = files.iter().map(|file| &**file).collect();
    names.iter().all(|name| is_repeat_label(name))
        || classes(&files, &files).into_iter().collect::<BTreeSet<_>>().len() == 1
}

/// Whether files of the directories of a level are of different servers, which are arms.
fn are_versions(files: &[Placed], level: usize) -> bool {
    let versions: BTreeSet<Option<&str>> = files.iter().map(|one| one.version).collect();
    let pairs: BTreeSet<(&str, Option<&str>)> =
        files.iter().map(|one| (one.above[level].as_str(), one.version)).collect();
    let names: BTreeSet<&str> = pairs.iter().map(|(name, _)| *name).collect();
    versions.len() > 1 && pairs.len() == names.len()
}

/// Whether several arms have a directory of this level in common. Those of arms that the user named may be repeats,
/// unless each has several files.
fn are_common(files: &[Placed], by: By, level: usize) -> bool {
    let mut of_name: BTreeMap<&str, BTreeMap<String, usize>> = BTreeMap::new();
    for one in files {
        let arm = match by {
            By::User => one.arm.unwrap_or_default().to_owned(),
            By::Directory(level) => one.above[level].clone(),
            By::Stem => {
                let rank = rank_of_base(&one.stem).map(|rank| rank.to_string());
                rank.or_else(|| version_of(&one.stem).map(str::to_owned)).unwrap_or_default()
            }
        };
        *of_name.entry(&one.above[level]).or_default().entry(arm).or_default() += 1;
    }
    of_name.values().any(|arms| arms.len() > 1)
        && (by != By::User || of_name.values().flat_map(BTreeMap::values).all(|files| *files > 1))
}
