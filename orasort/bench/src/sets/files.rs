//! Keys from the files of this machine: what any Debian has.

use crate::data::DataSet;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};

/// Where files are looked for, in this order.
const ROOTS: [&str; 6] = ["/usr", "/etc", "/var/lib", "/opt", "/root", "/home"];
/// Where Debian's package manager keeps what it has installed: files per package.
const PACKAGES: &str = "/var/lib/dpkg/info";
/// No file of more bytes is read.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// Endings of the names of files with source code.
const SOURCES: [&str; 9] = ["h", "hpp", "py", "pl", "pm", "rs", "c", "js", "sh"];

/// Calls `work` with the path of each file below `ROOTS`, as the system lists them, until it says that it has enough.
fn walk(mut work: impl FnMut(&Path) -> bool) {
    let mut waiting: Vec<PathBuf> = ROOTS.iter().rev().map(PathBuf::from).collect();
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => waiting.push(entry.path()),
                Ok(kind) if kind.is_file() && !work(&entry.path()) => return,
                _ => {}
            }
        }
    }
}

/// Paths of files in the order in which they are found.
pub fn paths(keys_max: usize) -> Result<DataSet> {
    collect(keys_max, |path, keys| keys.push(path.as_os_str().as_encoded_bytes()))
}

/// Names of files without their directories, likewise.
pub fn names(keys_max: usize) -> Result<DataSet> {
    collect(keys_max, |path, keys| {
        if let Some(name) = path.file_name() {
            keys.push(name.as_encoded_bytes());
        }
    })
}

/// Lines of source code in the order in which they stand in files, without those that are empty.
pub fn source_lines(keys_max: usize) -> Result<DataSet> {
    of_sources(keys_max, |text, keys| {
        text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).for_each(|line| keys.push(line));
    })
}

/// Words and names in source code, likewise.
pub fn tokens(keys_max: usize) -> Result<DataSet> {
    of_sources(keys_max, |text, keys| {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        text.split(|byte| !is_part(byte))
            .filter(|token| !token.is_empty())
            .for_each(|token| keys.push(token));
    })
}

/// Lines of the package manager's lists: paths, or checksums of files and their paths.
pub fn package_lines(keys_max: usize, ending: &str) -> Result<DataSet> {
    lines_of(Path::new(PACKAGES), keys_max, |name| name.ends_with(ending))
}

/// Lines of the system's logs.
pub fn log_lines(keys_max: usize) -> Result<DataSet> {
    lines_of(Path::new("/var/log"), keys_max, |name| name.ends_with(".log"))
}

fn lines_of(folder: &Path, keys_max: usize, takes: impl Fn(&str) -> bool) -> Result<DataSet> {
    let missing = || format!("needs {}, which Debian and its relatives have", folder.display());
    let entries = fs::read_dir(folder).with_context(missing)?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.to_str().is_some_and(&takes));
    files.sort();
    let mut keys = DataSet::default();
    for text in files.iter().filter_map(|file| fs::read(file).ok()) {
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.take(keys_max - keys.len()).for_each(|line| keys.push(line));
    }
    ensure!(!keys.is_empty(), missing());
    Ok(keys)
}

fn of_sources(keys_max: usize, add: impl Fn(&[u8], &mut DataSet)) -> Result<DataSet> {
    collect(keys_max, |path, keys| {
        let is_source = path
            .extension()
            .and_then(|ending| ending.to_str())
            .is_some_and(|ending| SOURCES.contains(&ending));
        if is_source
            && fs::metadata(path).is_ok_and(|file| file.len() <= FILE_BYTES_MAX)
            && let Ok(text) = fs::read(path)
        {
            add(&text, keys);
        }
    })
}

fn collect(keys_max: usize, mut add: impl FnMut(&Path, &mut DataSet)) -> Result<DataSet> {
    let mut keys = DataSet::default();
    walk(|path| {
        add(path, &mut keys);
        keys.len() < keys_max
    });
    ensure!(!keys.is_empty(), "no files of this kind below {}", ROOTS.join(", "));
    Ok(keys.first(keys_max))
}
