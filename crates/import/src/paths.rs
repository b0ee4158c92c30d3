//! What paths tell of the files there: arm, test, clients, and which files belong together.

use std::path::Path;

use crate::formats::Format;
use crate::names::ArmName;

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
    let known = ["gz", "txt", "log", "out", "err", "csv", "json", "tsv", "progress"];
    known.contains(&end) || ["vmstat", "iostat", "vm", "io", "perf", "svg", "summary"].contains(&end)
}

fn without_endings(name: &str, is_ending: impl Fn(&str) -> bool) -> &str {
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

/// A test's name from a file's, without what tells repeats apart: `select_only-3.log` is `select_only`.
pub fn test_of_path(path: &Path, format: Format) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = without_endings(&name, |end| is_ending(end) || end.parse::<u64>().is_ok());
    if matches!(format, Format::Hammerdb | Format::HammerdbCsv | Format::HammerdbJobs) {
        return tproc_c(stem);
    }
    if format == Format::InsertBenchmark {
        // `mrg.q100.1` and `rel.q100.1` name a step.
        return name.split_once('.').map_or(name.clone(), |(_, step)| step.to_owned());
    }
    let stem = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    let stem = stem.trim_end_matches(['-', '_', '.', ' ']);
    let stem = ["repeat", "run", "rep"].iter().find_map(|word| stem.strip_suffix(word)).unwrap_or(stem);
    let stem = stem.trim_end_matches(['-', '_', '.', ' ']);
    let is_default = stem.is_empty() || stem == "pgbench_log";
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
