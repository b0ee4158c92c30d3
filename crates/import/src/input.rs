//! Files to import: finding them, finding their formats, and reading them once, with their checksums.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader, Cursor, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::UNIX_EPOCH;

use rqps_model::natural;
use sha2::{Digest as _, Sha256};

use crate::error::{Broken, Error, NotUnderstood, Result};
use crate::formats::{Format, pgbench, plausible, unread};
use crate::lines::{FILE_BYTES_MAX, decompressed};
use crate::loaded::{Given, LeftOut, Loaded, Repeat, Why};
use crate::model::Document;
use crate::paths::is_standard_error;
use crate::same;

/// How much of a file tells its format.
const HEAD_BYTES: u64 = 1 << 16;
/// Files of one import.
const FILES_MAX: usize = 100_000;
const DEPTH_MAX: usize = 16;
/// Threads of a pgbench: a larger number at the end of a name is a process.
const THREADS_MAX: u32 = 1000;
/// The database of a run of rqps, as previous imports are.
const RUN: &str = "run.db";
/// What editors and spreadsheets put before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The files that arguments `[ARM=]PATH` name: files, directories and all in them, or patterns. Sorted as people count.
///
/// # Errors
/// If an argument names nothing.
pub fn files(arguments: &[impl AsRef<OsStr>]) -> Result<Vec<Given>> {
    let mut all = Vec::new();
    for given in arguments {
        let given = given.as_ref();
        let (arm, path) = arm_and_path(given);
        let argument = given.to_string_lossy();
        let mut found = Vec::new();
        if path.is_empty() {
            return Err(Error::NothingMatches(argument.into_owned()));
        }
        for path in matches(path)? {
            walk(&path, 0, &mut found)?;
        }
        if found.is_empty() {
            return Err(Error::NoFiles(argument.into_owned()));
        }
        found.sort_by(|a, b| natural(&a.to_string_lossy(), &b.to_string_lossy()));
        all.extend(found.into_iter().map(|path| Given { path, arm: arm.clone(), repeat: None, above: 0 }));
        if all.len() > FILES_MAX {
            return Err(Error::NoFiles(format!("{argument} alone: there are more than {FILES_MAX} files")));
        }
    }
    Ok(all)
}

/// The files of paths that are each one repeat of all arms, in their order.
///
/// # Errors
/// If a path names nothing.
pub fn repeats(paths: &[PathBuf]) -> Result<Vec<Given>> {
    let mut all = Vec::new();
    for (number, root) in (1..).zip(paths) {
        expect_target(root)?;
        if !root.exists() {
            return Err(Error::NothingMatches(root.display().to_string()));
        }
        let mut found = files(&[root])?;
        for given in &mut found {
            given.repeat = Some(Repeat { number, root: root.clone() });
        }
        all.extend(found);
    }
    Ok(all)
}

/// `ARM=PATH`, or a path, which may have any bytes in it.
fn arm_and_path(given: &OsStr) -> (Option<String>, &OsStr) {
    let bytes = given.as_bytes();
    let arm = bytes.iter().position(|byte| *byte == b'=').map(|at| (&bytes[..at], &bytes[at + 1..]));
    match arm {
        Some((arm, path)) if !arm.is_empty() && !arm.contains(&b'/') && !Path::new(given).exists() => {
            (Some(String::from_utf8_lossy(arm).into_owned()), OsStr::from_bytes(path))
        }
        _ => (None, given),
    }
}

fn matches(pattern: &OsStr) -> Result<Vec<PathBuf>> {
    let path = Path::new(pattern);
    expect_target(path)?;
    if path.exists() {
        return Ok(vec![path.to_owned()]);
    }
    let pattern = &*pattern.to_string_lossy();
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

/// # Errors
/// If the path is a link to nothing.
fn expect_target(path: &Path) -> Result<()> {
    match fs::read_link(path) {
        Ok(target) if !path.exists() => Err(Error::DanglingLink { path: path.to_owned(), target }),
        _ => Ok(()),
    }
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
    // Of a run of rqps one file is enough to say that it is left out.
    if path.join(RUN).is_file() {
        found.push(path.join(RUN));
        return Ok(());
    }
    for entry in fs::read_dir(path).map_err(Error::read(path))? {
        let entry = entry.map_err(Error::read(path))?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        let kind = entry.file_type().map_err(Error::read(path))?;
        if !is_hidden && kind.is_symlink() {
            expect_target(&entry.path())?;
        }
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
        // Opening a pipe would wait until somebody writes into it.
        if !fs::metadata(path).map_err(Error::read(path))?.is_file() {
            return Err(Error::NotAFile(path.to_owned()));
        }
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

    /// Whether it is what a program wrote to its standard error, and that is no message.
    fn is_quiet(&self, path: &Path) -> bool {
        is_standard_error(path) && unread::is_quiet(&self.head)
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

/// Files, read; and those that are left out.
pub type LoadedFiles = (Vec<Loaded>, Vec<LeftOut>);

/// What became of the files.
#[derive(Default)]
struct Gathered {
    all: Vec<Loaded>,
    unknown: Vec<NotUnderstood>,
    /// Standard errors without a message.
    quiet: Vec<PathBuf>,
    /// Tables that were computed from results.
    derived: Vec<(PathBuf, Broken)>,
    /// Runs of rqps.
    runs: Vec<PathBuf>,
}

/// Reads files, each content once. Tables that are computed from results are left out where there are results.
///
/// # Errors
/// If a file is not understood, breaks its format, or cannot be read, or if two files have the same content.
pub fn load_all(files: &[Given], format: Option<Format>, skip_unknown: bool) -> Result<LoadedFiles> {
    let mut gathered = Gathered::default();
    for group in with_threads(files) {
        gathered.load(&group, format)?;
    }
    let Gathered { mut all, unknown, quiet, derived, runs } = gathered;
    if !(unknown.is_empty() || skip_unknown) {
        return Err(Error::unknown(unknown));
    }
    if let (Some(run), true) = (runs.first(), all.is_empty()) {
        return Err(Error::OwnRun(run.clone()));
    }
    if let (Some((path, broken)), true) = (derived.first(), all.is_empty()) {
        return Err(broken.clone().in_file(path));
    }
    let mut derived: Vec<PathBuf> = derived.into_iter().map(|(path, _)| path).collect();
    let mut seen = HashMap::new();
    for one in &all {
        if let Some(first) = seen.insert(&one.sha256, &one.given.path) {
            if *first == one.given.path {
                return Err(Error::GivenTwice(first.clone()));
            }
            return Err(Error::Twice { first: first.clone(), second: one.given.path.clone() });
        }
    }
    same::expect_no_copies(&all)?;
    let copies = same::unnamed_copies(&all)?;
    derived.extend(copies.iter().rev().map(|at| all.remove(*at).given.path));
    let unknown = unknown.into_iter().map(|one| LeftOut { path: one.path, why: Why::NotUnderstood });
    let quiet = quiet.into_iter().map(|path| LeftOut { path, why: Why::Quiet });
    let derived = derived.into_iter().map(|path| LeftOut { path, why: Why::Derived });
    let runs = runs.into_iter().map(|path| LeftOut { path, why: Why::OwnRun });
    Ok((all, unknown.chain(quiet).chain(derived).chain(runs).collect()))
}

/// Files that may be the logs of a pgbench's threads, or one file.
struct Group<'a> {
    files: Vec<&'a Given>,
    /// If they are: the log that is not among them, which is the first, or one between others.
    missing: Option<PathBuf>,
}

impl<'a> Group<'a> {
    fn one(given: &'a Given) -> Self {
        Self { files: vec![given], missing: None }
    }
}

/// Files, those of a pgbench with several threads together: first the first thread's log, which is a result of its own
/// if no others are given.
fn with_threads(files: &[Given]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group> = Vec::new();
    let mut threads: BTreeMap<PathBuf, Vec<(u32, &Given)>> = BTreeMap::new();
    for given in files {
        let name = given.path.file_name().unwrap_or_default().to_string_lossy();
        match pgbench::thread_of(&name) {
            Some((first, thread @ 1..=THREADS_MAX)) => {
                threads.entry(given.path.with_file_name(first)).or_default().push((thread, given));
            }
            _ => groups.push(Group::one(given)),
        }
    }
    for (first, mut others) in threads {
        others.sort_by_key(|(thread, _)| *thread);
        let compressed = first.with_added_extension("gz");
        let is_first = |group: &&mut Group| [&first, &compressed].contains(&&group.files[0].path);
        let gap = (1..).zip(&others).find(|(expected, (thread, _))| expected != thread);
        let missing = gap.map(|(thread, _)| first.with_added_extension(thread.to_string()));
        let others = others.into_iter().map(|(_, given)| given);
        match groups.iter_mut().find(is_first) {
            Some(group) => {
                group.files.extend(others);
                group.missing = missing;
            }
            // Its name may end in numbers by chance; what is in it tells.
            None => {
                groups.extend(others.map(|given| Group { missing: Some(first.clone()), ..Group::one(given) }))
            }
        }
    }
    groups
}

impl Gathered {
    /// Reads a file, and the other threads' logs if it is the log of a pgbench: together they are one result.
    fn load(&mut self, group: &Group<'_>, format: Option<Format>) -> Result<()> {
        let [given, others @ ..] = &group.files[..] else { return Ok(()) };
        let path = &given.path;
        if path.ends_with(RUN) {
            self.runs.push(path.parent().unwrap_or(path).to_owned());
            return others.iter().try_for_each(|other| self.load(&Group::one(other), format));
        }
        let opened = Opened::open(path)?;
        let found = match format {
            Some(format) => Some(format),
            None => opened.format(path)?,
        };
        let Some(found) = found else {
            match opened.is_quiet(path) {
                true => self.quiet.push(path.clone()),
                false => self.unknown.push(opened.not_understood(path)),
            }
            return others.iter().try_for_each(|other| self.load(&Group::one(other), format));
        };
        let Some(threads) = pgbench::Threads::of(found) else {
            let parsed = opened.read(path, |input| match found.parse(input) {
                Err(broken) if broken.is_derived => Ok(Err(broken)),
                parsed => parsed.map(Ok),
            })?;
            match parsed {
                (Ok(document), digest) => self.all.push(loaded(given, found, document, digest)),
                (Err(broken), _) => self.derived.push((path.clone(), broken)),
            }
            return others.iter().try_for_each(|other| self.load(&Group::one(other), format));
        };
        self.load_threads(group, opened, found, threads, format)
    }

    fn load_threads(
        &mut self,
        group: &Group<'_>,
        opened: Opened,
        found: Format,
        mut threads: pgbench::Threads,
        format: Option<Format>,
    ) -> Result<()> {
        let [given, others @ ..] = &group.files[..] else { return Ok(()) };
        let at = self.all.len();
        let ((), digest) = opened.read(&given.path, |input| threads.read(input))?;
        self.all.push(loaded(given, found, Document::default(), digest));
        for other in others {
            let opened = Opened::open(&other.path)?;
            if format.is_none() && opened.format(&other.path)? != Some(found) {
                self.load(&Group::one(other), None)?;
                continue;
            }
            let ((), digest) = opened.read(&other.path, |input| threads.read(input))?;
            self.all.push(loaded(other, found, Document::default(), digest));
        }
        let is_by_chance = others.is_empty() && threads.is_whole();
        if let Some(missing) = group.missing.clone().filter(|_| !is_by_chance) {
            let beside = group.files.last().unwrap_or(given).path.clone();
            return Err(Error::ThreadMissing { missing, beside });
        }
        let document = threads.document().and_then(plausible);
        self.all[at].document = document.map_err(|broken| broken.in_file(&given.path))?;
        Ok(())
    }
}

fn loaded(given: &Given, format: Format, document: Document, (sha256, bytes): Digest) -> Loaded {
    let modified = fs::metadata(&given.path).and_then(|meta| meta.modified()).ok();
    let modified = modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let modified_at_ms = modified.and_then(|since| i64::try_from(since.as_millis()).ok());
    Loaded { given: given.clone(), sha256, bytes, modified_at_ms, format, document }
}
