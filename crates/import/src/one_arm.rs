//! What was taken for one arm, and how to say that it is several.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rqps_model::counted;

use crate::grouped::grouped;
use crate::path_classes::is_repeat_label;
use crate::paths::{stem, without_number};
use crate::placed::Assembled;

/// More names than these are hardly those of arms.
const ARMS_MAX: usize = 6;

/// The files of the only arm, and arguments that make arms of them; `None` if the user named it, or it has one file.
pub fn taken_for_one(assembled: &Assembled) -> Option<(String, String)> {
    let sources: BTreeSet<usize> = assembled.results.iter().map(|one| one.source).collect();
    let paths: Vec<&Path> =
        sources.iter().map(|source| Path::new(&assembled.sources[*source].path)).collect();
    if paths.len() < 2 || assembled.arms.iter().any(|arm| arm.is_given) {
        return None;
    }
    let by_test = || arguments(&paths, |stem| without_number(stem).to_owned());
    let known = directories(&paths).or_else(|| arguments(&paths, str::to_owned)).or_else(by_test);
    Some(known.unwrap_or_else(|| (counted(paths.len(), "file"), "base=PATH head=PATH".to_owned())))
}

/// Directories of repeats that have several files each, and arguments with each of them alone.
fn directories(paths: &[&Path]) -> Option<(String, String)> {
    let above = paths.first()?.ancestors().find(|above| paths.iter().all(|path| path.starts_with(above)))?;
    let mut files: BTreeMap<String, usize> = BTreeMap::new();
    for path in paths {
        let name = path.strip_prefix(above).ok()?.parent()?.components().next()?.as_os_str();
        *files.entry(name.to_string_lossy().into_owned()).or_default() += 1;
    }
    let is_repeat = |(name, files): (&String, &usize)| is_repeat_label(name) && *files > 1;
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    let argument = |name: &&str| format!("{name}='{}'", above.join(name).display());
    ((2..=ARMS_MAX).contains(&names.len()) && files.iter().all(is_repeat))
        .then(|| (names.join(", "), names.iter().map(argument).collect::<Vec<_>>().join(" ")))
}

/// The names of files, and arguments with patterns of each of them alone.
fn arguments(paths: &[&Path], name: impl Fn(&str) -> String) -> Option<(String, String)> {
    let of_name: BTreeMap<String, Vec<&Path>> = grouped(paths.iter().map(|path| (name(&stem(path)), *path)));
    let pattern = |name: &str, paths: &[&Path]| {
        let [first, others @ ..] = paths else { return None };
        let directory = first.parent()?;
        let is_repeat = || Some(is_repeat_label(&directory.file_name()?.to_string_lossy()));
        let are_alike = others.iter().all(|path| path.file_name() == first.file_name());
        let is_alone = || of_name.keys().all(|other| other == name || !other.starts_with(name));
        match () {
            () if others.is_empty() => Some(first.to_path_buf()),
            () if are_alike && is_repeat()? => Some(directory.with_file_name("*").join(first.file_name()?)),
            () if others.iter().all(|path| path.parent() == Some(directory)) && is_alone() => {
                Some(directory.join(format!("{name}*")))
            }
            () => None,
        }
    };
    let argument = |(name, paths): (&String, &Vec<&Path>)| {
        let pattern = pattern(name, paths).filter(|_| !name.is_empty())?;
        Some(format!("{name}='{}'", pattern.display()))
    };
    let arguments: Vec<String> = of_name.iter().map(argument).collect::<Option<_>>()?;
    let names: Vec<&str> = of_name.keys().map(String::as_str).collect();
    (2..=ARMS_MAX).contains(&names.len()).then(|| (names.join(", "), arguments.join(" ")))
}
