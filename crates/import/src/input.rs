//! Files to import: finding them, finding their formats, and reading them once, with their checksums.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::formats::{Format, pgbench};
use crate::lines::{FILE_BYTES_MAX, decompressed};
use crate::model::Document;
use crate::names::natural;

/// How much of a file tells its format.
const HEAD_BYTES: u64 = 1 << 16;
/// Files of one import.
const FILES_MAX: usize = 100_000;
const DEPTH_MAX: usize = 16;
const FIRST_LINE_SHOWN: usize = 60;

/// A file with the name that its arm was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    pub path: PathBuf,
    pub arm: Option<String>,
}

/// A file, read.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub given: Given,
    pub sha256: String,
    pub bytes: u64,
    pub format: Format,
    pub document: Document,
}

/// The files that arguments `[ARM=]PATH` name: files, directories and all in them, or patterns. Sorted as people count.
///
/// # Errors
/// If an argument names nothing.
pub fn files(arguments: &[String]) -> Result<Vec<Given>> {
    let mut all = Vec::new();
    for argument in arguments {
        let (arm, path) = match argument.split_once('=') {
            Some((arm, path)) if !arm.is_empty() && !arm.contains('/') && !Path::new(argument).exists() => {
                (Some(arm.to_owned()), path)
            }
            _ => (None, argument.as_str()),
        };
        let mut found = Vec::new();
        for path in matches(path)? {
            walk(&path, 0, &mut found)?;
        }
        if found.is_empty() {
            return Err(Error::NoFiles(argument.clone()));
        }
        found.sort_by(|a, b| natural(&a.to_string_lossy(), &b.to_string_lossy()));
        all.extend(found.into_iter().map(|path| Given { path, arm: arm.clone() }));
        if all.len() > FILES_MAX {
            return Err(Error::NoFiles(format!("{argument} alone: there are more than {FILES_MAX} files")));
        }
    }
    Ok(all)
}

fn matches(pattern: &str) -> Result<Vec<PathBuf>> {
    if Path::new(pattern).exists() {
        return Ok(vec![PathBuf::from(pattern)]);
    }
    let invalid =
        |error: glob::PatternError| Error::Pattern { pattern: pattern.to_owned(), why: error.msg.to_owned() };
    let found: Vec<PathBuf> = glob::glob(pattern).map_err(invalid)?.filter_map(|path| path.ok()).collect();
    if found.is_empty() { Err(Error::NothingMatches(pattern.to_owned())) } else { Ok(found) }
}

/// Files below a path, without hidden ones and those that copying from a Mac leaves (`._name`).
fn walk(path: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<()> {
    if !path.is_dir() {
        found.push(path.to_owned());
        return Ok(());
    }
    if depth > DEPTH_MAX || found.len() > FILES_MAX {
        return Err(Error::NoFiles(format!(
            "{}: too many directories in each other, or files",
            path.display()
        )));
    }
    for entry in fs::read_dir(path).map_err(Error::read(path))? {
        let entry = entry.map_err(Error::read(path))?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        // Links could lead in circles.
        let is_link = entry.file_type().map_err(Error::read(path))?.is_symlink();
        if !(is_hidden || is_link && entry.path().is_dir()) {
            walk(&entry.path(), depth + 1, found)?;
        }
    }
    Ok(())
}

/// Counts and hashes what passes.
struct Hashing {
    input: File,
    state: Rc<RefCell<(Sha256, u64)>>,
}

impl Read for Hashing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        let mut state = self.state.borrow_mut();
        state.0.update(&buffer[..read]);
        state.1 += read as u64;
        Ok(read)
    }
}

/// A file's beginning and the rest of it.
pub(crate) struct Opened {
    head: Vec<u8>,
    rest: Box<dyn Read>,
    state: Rc<RefCell<(Sha256, u64)>>,
}

impl Opened {
    pub fn open(path: &Path) -> Result<Self> {
        let input = File::open(path).map_err(Error::read(path))?;
        let length = input.metadata().map_err(Error::read(path))?.len();
        if length > FILE_BYTES_MAX {
            return Err(Error::TooLarge { path: path.to_owned(), limit: FILE_BYTES_MAX });
        }
        let state = Rc::new(RefCell::new((Sha256::new(), 0)));
        let hashing = Hashing { input, state: Rc::clone(&state) };
        let mut rest = decompressed(BufReader::with_capacity(HEAD_BYTES as usize, hashing))
            .map_err(Error::read(path))?;
        let mut head = Vec::new();
        (&mut rest).take(HEAD_BYTES).read_to_end(&mut head).map_err(Error::read(path))?;
        Ok(Self { head, rest, state })
    }

    /// Its format; `None` if no format recognises it.
    pub fn format(&self, path: &Path) -> Result<Option<Format>> {
        match Format::of(&self.head)[..] {
            [] => Ok(None),
            [format] => Ok(Some(format)),
            ref several => {
                let several: Vec<&str> = several.iter().map(|format| format.key()).collect();
                Err(Error::Ambiguous { path: path.to_owned(), candidates: several.join(" or ") })
            }
        }
    }

    pub fn into_reader(self) -> impl Read {
        Cursor::new(self.head).chain(self.rest)
    }
}

/// Reads a file. `None` if no format recognises it and `skip_unknown` is set.
///
/// # Errors
/// If it is not understood, breaks its format, or cannot be read.
pub fn load(given: &Given, format: Option<Format>, skip_unknown: bool) -> Result<Option<Loaded>> {
    let path = &given.path;
    let opened = Opened::open(path)?;
    let format = match format {
        Some(format) => Some(format),
        None => opened.format(path)?,
    };
    let Some(format) = format else {
        let text = String::from_utf8_lossy(&opened.head);
        let first: String = text.lines().next().unwrap_or_default().chars().take(FIRST_LINE_SHOWN).collect();
        let known = Format::ALL.map(Format::key).join(", ");
        let unknown = Error::Unknown { path: path.to_owned(), first, known };
        return if skip_unknown { Ok(None) } else { Err(unknown) };
    };
    let state = Rc::clone(&opened.state);
    let mut reader = opened.into_reader();
    let document = format.parse(&mut reader).map_err(|broken| broken.in_file(path))?;
    // What a parser leaves is part of the file's checksum.
    io::copy(&mut reader, &mut io::sink()).map_err(Error::read(path))?;
    drop(reader);
    let (hash, bytes) = state.take();
    let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Some(Loaded { given: given.clone(), sha256, bytes, format, document }))
}

/// Reads files, each content once.
///
/// # Errors
/// As [`load`], or if two files have the same content.
pub fn load_all(
    files: &[Given],
    format: Option<Format>,
    skip_unknown: bool,
) -> Result<(Vec<Loaded>, Vec<PathBuf>)> {
    let (mut all, mut skipped): (Vec<Loaded>, Vec<PathBuf>) = (Vec::new(), Vec::new());
    let mut seen = std::collections::HashMap::new();
    for given in files {
        let Some(loaded) = load(given, format, skip_unknown)? else {
            skipped.push(given.path.clone());
            continue;
        };
        if let Some(first) = seen.insert(loaded.sha256.clone(), given.path.clone()) {
            return Err(Error::Twice { first, second: given.path.clone() });
        }
        all.push(loaded);
    }
    join_threads(&mut all)?;
    Ok((all, skipped))
}

/// Gives the first log of a pgbench with several threads the transactions of all, and the others none: together they
/// are one result, not repeats.
fn join_threads(all: &mut [Loaded]) -> Result<()> {
    let mut threads: BTreeMap<PathBuf, Vec<usize>> = BTreeMap::new();
    for (index, one) in all.iter().enumerate() {
        let is_log = matches!(one.format, Format::PgbenchLog | Format::PgbenchAggregate);
        let name = one.given.path.file_name().unwrap_or_default().to_string_lossy();
        if let (true, Some((first, 1..))) = (is_log, pgbench::thread_of(&name)) {
            threads.entry(one.given.path.with_file_name(first)).or_default().push(index);
        }
    }
    for (path, others) in threads {
        let is_first =
            |one: &Loaded| one.given.path == path || one.given.path == path.with_added_extension("gz");
        // A log whose first thread's is not given is a result by itself, as its name may end in numbers by chance.
        let Some(first) = all.iter().position(is_first) else { continue };
        let format = all[first].format;
        let (mut log, mut aggregate) = (pgbench::Log::default(), pgbench::Aggregate::default());
        for index in std::iter::once(first).chain(others.iter().copied()) {
            let path = &all[index].given.path;
            let input = Opened::open(path)?.into_reader();
            let read = if format == Format::PgbenchLog { log.read(input) } else { aggregate.read(input) };
            read.map_err(|broken| broken.in_file(path))?;
        }
        let joined = if format == Format::PgbenchLog { log.document() } else { aggregate.document() };
        all[first].document = joined.map_err(|broken| broken.in_file(&path))?;
        for index in others {
            all[index].document.measurements.clear();
            all[index].document.measured_at_ms = None;
        }
    }
    Ok(())
}
