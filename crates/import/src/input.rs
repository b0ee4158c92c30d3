//! Files to import: finding them, finding their formats, and reading them once, with their checksums.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rqps_model::natural;
use sha2::{Digest as _, Sha256};

use crate::error::{Broken, Error, NotUnderstood, Result};
use crate::formats::{Format, pgbench, unread};
use crate::lines::{FILE_BYTES_MAX, decompressed};
use crate::model::Document;

/// How much of a file tells its format.
const HEAD_BYTES: u64 = 1 << 16;
/// Files of one import.
const FILES_MAX: usize = 100_000;
const DEPTH_MAX: usize = 16;
/// What editors and spreadsheets put before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

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
        if path.is_empty() {
            return Err(Error::NothingMatches(argument.clone()));
        }
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
    let unreadable = |error: glob::GlobError| {
        let path = error.path().to_owned();
        Error::read(&path)(error.into())
    };
    let found = glob::glob(pattern).map_err(invalid)?;
    let found = found.map(|path| path.map_err(unreadable)).collect::<Result<Vec<PathBuf>>>()?;
    if found.is_empty() { Err(Error::NothingMatches(pattern.to_owned())) } else { Ok(found) }
}

/// Files below a path, without hidden ones and those that copying from a Mac leaves (`._name`), and without what is no
/// file, such as sockets.
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
        let kind = entry.file_type().map_err(Error::read(path))?;
        // Links to directories could lead in circles.
        if !is_hidden && (kind.is_dir() || entry.path().is_file()) {
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

/// A file's SHA-256 and size.
type Digest = (String, u64);

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
        if head.starts_with(BYTE_ORDER_MARK) {
            head.drain(..BYTE_ORDER_MARK.len());
        }
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

    pub fn not_understood(&self, path: &Path) -> NotUnderstood {
        NotUnderstood { path: path.to_owned(), why: unread::why(&self.head) }
    }

    pub fn into_reader(self) -> impl Read {
        Cursor::new(self.head).chain(self.rest)
    }

    /// What `parse` makes of it, with the file's checksum and size.
    fn read<T>(
        self,
        path: &Path,
        parse: impl FnOnce(&mut dyn Read) -> std::result::Result<T, Broken>,
    ) -> Result<(T, Digest)> {
        let state = Rc::clone(&self.state);
        let mut reader = self.into_reader();
        let parsed = parse(&mut reader).map_err(|broken| broken.in_file(path))?;
        // What a parser leaves is part of the file's checksum.
        io::copy(&mut reader, &mut io::sink()).map_err(Error::read(path))?;
        drop(reader);
        let (hash, bytes) = state.take();
        let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok((parsed, (sha256, bytes)))
    }
}

/// Files, read; and the paths of those that no format recognises, if those are left out.
pub type LoadedFiles = (Vec<Loaded>, Vec<PathBuf>);

/// Reads files, each content once.
///
/// # Errors
/// If a file is not understood, breaks its format, or cannot be read, or if two files have the same content.
pub fn load_all(files: &[Given], format: Option<Format>, skip_unknown: bool) -> Result<LoadedFiles> {
    let (mut all, mut unknown) = (Vec::new(), Vec::new());
    for given in with_threads(files) {
        load(&given, format, &mut all, &mut unknown)?;
    }
    if !(unknown.is_empty() || skip_unknown) {
        return Err(Error::unknown(unknown));
    }
    let mut seen = HashMap::new();
    for one in &all {
        if let Some(first) = seen.insert(&one.sha256, &one.given.path) {
            return Err(Error::Twice { first: first.clone(), second: one.given.path.clone() });
        }
    }
    Ok((all, unknown.into_iter().map(|one| one.path).collect()))
}

/// Files, those of a pgbench with several threads together: first the first thread's log, which is a result of its own
/// if no others are given.
fn with_threads(files: &[Given]) -> Vec<Vec<&Given>> {
    let mut groups: Vec<Vec<&Given>> = Vec::new();
    let mut threads: BTreeMap<PathBuf, Vec<&Given>> = BTreeMap::new();
    for given in files {
        let name = given.path.file_name().unwrap_or_default().to_string_lossy();
        match pgbench::thread_of(&name) {
            Some((first, 1..)) => threads.entry(given.path.with_file_name(first)).or_default().push(given),
            _ => groups.push(vec![given]),
        }
    }
    for (first, others) in threads {
        let compressed = first.with_added_extension("gz");
        let is_first = |group: &&mut Vec<&Given>| group[0].path == first || group[0].path == compressed;
        match groups.iter_mut().find(is_first) {
            Some(group) => group.extend(others),
            // Its name may end in numbers by chance.
            None => groups.extend(others.into_iter().map(|given| vec![given])),
        }
    }
    groups
}

/// Reads a file, and the other threads' logs if it is the log of a pgbench: together they are one result.
fn load(
    files: &[&Given],
    format: Option<Format>,
    all: &mut Vec<Loaded>,
    unknown: &mut Vec<NotUnderstood>,
) -> Result<()> {
    let [given, others @ ..] = files else { return Ok(()) };
    let path = &given.path;
    let opened = Opened::open(path)?;
    let found = match format {
        Some(format) => Some(format),
        None => opened.format(path)?,
    };
    let Some(found) = found else {
        unknown.push(opened.not_understood(path));
        return others.iter().try_for_each(|other| load(&[other], format, all, unknown));
    };
    let loaded = |given: &Given, document: Document, (sha256, bytes): Digest| Loaded {
        given: given.clone(),
        sha256,
        bytes,
        format: found,
        document,
    };
    let threads = pgbench::Threads::of(found).filter(|_| !others.is_empty());
    let Some(mut threads) = threads else {
        let (document, digest) = opened.read(path, |input| found.parse(input))?;
        all.push(loaded(given, document, digest));
        return others.iter().try_for_each(|other| load(&[other], format, all, unknown));
    };
    let at = all.len();
    let ((), digest) = opened.read(path, |input| threads.read(input))?;
    all.push(loaded(given, Document::default(), digest));
    for other in others {
        let opened = Opened::open(&other.path)?;
        if format.is_none() && opened.format(&other.path)? != Some(found) {
            load(&[other], None, all, unknown)?;
            continue;
        }
        let ((), digest) = opened.read(&other.path, |input| threads.read(input))?;
        all.push(loaded(other, Document::default(), digest));
    }
    all[at].document = threads.document().map_err(|broken| broken.in_file(path))?;
    Ok(())
}
