//! What paths tell of the files there: arm, test, clients, and which files belong together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::dates::without_dates;
use crate::formats::Format;
use crate::grouped::grouped;
use crate::names::ArmName;
use crate::path_classes::{PROCESS, is_repeat_label};

/// The nearest directory above a file that names an arm, or else the one it is in.
pub fn arm_of_path(directory: &Path) -> Option<String> {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let above = directory.ancestors().filter_map(name);
    above.into_iter().find(|name| ArmName::parse(name).is_some()).or_else(|| name(directory))
}

/// `dop40` in a file's name.
pub fn clients_of(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    name.split('.').find_map(|part| part.strip_prefix("dop")?.parse().ok())
}

/// Whether a file is called as what a program wrote to its standard error: `run-1.err`, `stderr.txt`.
pub fn is_standard_error(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    name.split(['.', '-', '_']).any(|part| ["err", "stderr", "error", "errors"].contains(&part))
}

/// Endings of files that say nothing about the test.
fn is_ending(end: &str) -> bool {
    let known = ["gz", "txt", "log", "out", "err", "csv", "json", "tsv", "progress", "agg"];
    known.contains(&end) || ["vmstat", "iostat", "vm", "io", "perf", "svg", "summary"].contains(&end)
}

fn without_endings(name: &str, mut is_ending: impl FnMut(&str) -> bool) -> &str {
    let mut stem = name;
    while let Some((rest, _)) = stem.rsplit_once('.').filter(|(rest, end)| !rest.is_empty() && is_ending(end))
    {
        stem = rest;
    }
    stem
}

/// `ro-1` of `results/ro-1.txt` and `results/ro-1.vmstat`.
pub fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    without_endings(&name, is_ending).to_owned()
}

/// A stem without the number at its end and what stands before that: `ro` of `ro-1`.
pub fn without_number(stem: &str) -> &str {
    stem.trim_end_matches(|c: char| c.is_ascii_digit() || "-_. ".contains(c))
}

/// Of the files of each arm, whether they lie in directories of repeats, which have files of the same names: `1/q1.txt`
/// and `2/q1.txt`. Then the number of the directory is the repeat's.
pub fn are_in_repeats(files: &[(Option<&str>, &Path)]) -> Vec<bool> {
    let place = |path: &Path| {
        let directory = path.parent()?;
        let label = directory.file_name()?.to_string_lossy().into_owned();
        is_repeat_label(&label).then(|| Some((directory.parent()?.to_owned(), label)))?
    };
    let labels: BTreeMap<_, BTreeSet<String>> = grouped(files.iter().filter_map(|(arm, path)| {
        let (above, label) = place(path)?;
        Some(((*arm, above, path.file_name()), label))
    }));
    let are_repeats = |(_, labels): &(&(_, _, _), &BTreeSet<String>)| labels.len() > 1;
    let repeats: BTreeSet<_> =
        labels.iter().filter(are_repeats).map(|((arm, above, _), _)| (*arm, above.clone())).collect();
    let is_in = |(arm, path): &(Option<&str>, &Path)| {
        place(path).is_some_and(|(above, _)| repeats.contains(&(*arm, above)))
    };
    files.iter().map(is_in).collect()
}

/// A test's name from a file's, without what tells repeats apart: `select_only-3.log` is `select_only`. Of two numbers
/// at the end only the last is a repeat's: `q1.2.txt` is `q1`; in directories of repeats none at the end of a word is.
pub fn test_of_path(path: &Path, format: Format, is_in_repeats: bool) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut has_repeat = false;
    let stem = without_endings(&name, |end| {
        let is_number = end.parse::<u64>().is_ok();
        let is_repeat = is_number && end.len() < PROCESS;
        let is_more = is_repeat && has_repeat;
        has_repeat |= is_repeat;
        is_ending(end) || is_number && !is_more
    });
    if matches!(format, Format::Hammerdb | Format::HammerdbCsv | Format::HammerdbJobs) {
        return tproc_c(stem);
    }
    if format == Format::InsertBenchmark {
        // `mrg.q100.1` and `rel.q100.1` name a step.
        return name.split_once('.').map_or(name.clone(), |(_, step)| step.to_owned());
    }
    let is_separator = |c: char| "-_. ".contains(c);
    let dateless = without_dates(stem);
    let stem = if dateless == stem { stem } else { dateless.trim_matches(is_separator) };
    let word = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_of_word = || is_in_repeats && word.ends_with(char::is_alphabetic);
    // `ro-r1`
    let letter =
        word.strip_suffix(['r', 'R']).filter(|rest| word.len() < stem.len() && rest.ends_with(is_separator));
    let stem = if has_repeat || is_of_word() { stem } else { letter.unwrap_or(word) };
    let stem = stem.trim_end_matches(is_separator);
    let stem = ["repeat", "run", "rep"].iter().find_map(|word| stem.strip_suffix(word)).unwrap_or(stem);
    let stem = stem.trim_end_matches(is_separator);
    let is_default = !stem.contains(char::is_alphabetic) || stem.split('.').next() == Some("pgbench_log");
    let short = format.key().split('-').next().unwrap_or_default();
    if is_default { short.to_owned() } else { stem.to_owned() }
}

/// `sum.res.pg.load8.vu6.w4000.5.120`: virtual users and warehouses are part of the test's name.
fn tproc_c(stem: &str) -> String {
    let number = |key: &str| stem.split('.').find_map(|part| part.strip_prefix(key)?.parse::<u32>().ok());
    let setting = |key: &str| number(key).map(|value| format!("_{key}={value}")).unwrap_or_default();
    format!("tproc-c{}{}", setting("vu"), setting("w"))
}

/// Arm and test of a flamegraph's name: `x.pg181_o2nofp.x10a_c8r32.pk1.scan.svg`.
pub fn arm_and_test_of(name: &str) -> Option<(String, String)> {
    let end = [".pk0.", ".pk1."].iter().find_map(|end| Some(name.find(end)? + end.len() - 1))?;
    let (arm, test) = (&name[..end], without_endings(&name[end + 1..], is_ending));
    (ArmName::parse(arm).is_some() && !test.is_empty()).then(|| (arm.to_owned(), test.to_owned()))
}
