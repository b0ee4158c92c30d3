//! Errors of imports. Each names the file, the line and the remedy.

use std::path::{Path, PathBuf};

use rqps_store::Source;

use crate::formats::Format;
use crate::lines::{is_damage, unreadable};
use crate::model::Measurement;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("`{0}` matches no file: give files, directories, or a pattern such as `old/*.log`")]
    NothingMatches(String),
    #[error("`{pattern}` is not a pattern: {why}")]
    Pattern { pattern: String, why: String },
    #[error("no file to import in {0}")]
    NoFiles(String),
    /// No format recognises these files.
    #[error(
        "{}Known formats: {known}. Leave such files out with --skip-unknown, or name the format with --as",
        not_understood(files)
    )]
    Unknown { files: Vec<NotUnderstood>, known: String },
    /// Several formats recognise the file.
    #[error("{}: could be {candidates}; say which with --as", path.display())]
    Ambiguous { path: PathBuf, candidates: String },
    /// The file breaks off or breaks its format.
    #[error("{}, line {line}: {why}", path.display())]
    Broken { path: PathBuf, line: u32, why: String },
    #[error("{}: not a file: write what a pipe or a device gives into one, and import that", .0.display())]
    NotAFile(PathBuf),
    #[error("{}: larger than {} MB: split it", path.display(), limit >> 20)]
    TooLarge { path: PathBuf, limit: u64 },
    #[error("{} and {}: the same content twice; give each result once", first.display(), second.display())]
    Twice { first: PathBuf, second: PathBuf },
    #[error(
        "{} and {}: the same figures to the last digit, though the texts differ: this looks like a copy; give each result once",
        first.display(), second.display()
    )]
    LooksLikeACopy { first: PathBuf, second: PathBuf },
    #[error(
        "{}: a run of rqps, not results of another program: `rqps show`, `report` and `compare` take it as it is",
        .0.display()
    )]
    OwnRun(PathBuf),
    #[error("{}: given twice; give each result once", .0.display())]
    GivenTwice(PathBuf),
    #[error(
        "{}: the {what} {name:?} has a control character, such as a line break, or bytes that are not UTF-8: {remedy}",
        path.display()
    )]
    NotPlain { path: PathBuf, what: &'static str, name: String, remedy: &'static str },
    #[error("{}: a link to {}, which does not exist", path.display(), target.display())]
    DanglingLink { path: PathBuf, target: PathBuf },
    /// Two files have a result in common.
    #[error("{first} and {second}: the same result of {test} on {arm} twice; give each result once")]
    ResultTwice { first: Place, second: Place, test: String, arm: String },
    /// Results of one arm and test that were given as one repeat.
    #[error(
        "{first} and {second}: two results of {test} on {arm} in one --repeat; give each repeat a --repeat of its own"
    )]
    RepeatTwice { first: Place, second: Place, test: String, arm: String },
    /// Some results were given as repeats, and others not.
    #[error(
        "{}{}: not given as --repeat, as other results are: give each repeat of all arms as --repeat PATH, or no file so",
        path.display(), and_more(*others)
    )]
    NoRepeat { path: PathBuf, others: usize },
    /// No repeat of a test has results of two arms.
    #[error(
        "{test}: no --repeat has a result of {arm} and one of another arm; give each repeat the files of all arms"
    )]
    NoCommonRepeat { test: String, arm: String },
    /// An arm that was named has results of several versions.
    #[error(
        "{arm}: {} in {}, but {} in {}: these are no repeats of one arm; give each version a name of its own, \
         such as {}=PATH", releases[0].0, releases[0].1, releases[1].0, releases[1].1, releases[1].0
    )]
    SeveralReleases { arm: String, releases: Box<[(String, Place); 2]> },
    /// Results of one arm and test that other programs or hosts measured.
    #[error(
        "{test} on {arm}: {} in {}, but {} in {}: these are no repeats of one another; give each as ARM=PATH, under one name \
         if they are repeats all the same, or each repeat of all arms as --repeat PATH", origins[0].0, origins[0].1.display(), origins[1].0, origins[1].1.display()
    )]
    OtherOrigin { test: String, arm: String, origins: Box<[(String, PathBuf); 2]> },
    /// Figures beside results of an arm that became several.
    #[error(
        "{}: {arm} has the results {parts}, and of which of them these figures are cannot be told: name the file as its result, or \
         give it as ARM=PATH", path.display()
    )]
    OfWhichArm { path: PathBuf, arm: String, parts: String },
    #[error("{} is missing: beside {}, it is the log of one of pgbench's threads, which only together are a result; give all \
             logs of the run", missing.display(), beside.display())]
    ThreadMissing { missing: PathBuf, beside: PathBuf },
    #[error("no results in the files given{}", only(formats))]
    NoResults { formats: Vec<&'static str> },
    #[error("no arm named `{name}`; the arms are: {known}")]
    UnknownArm { name: String, known: String },
    #[error("`{0}`: write PATTERN=dbms:version or PATTERN=dbms:version:config")]
    BadArm(String),
    #[error("`{rule}`: no DBMS is named {dbms}; did you mean {nearest}?")]
    UnknownDbms { rule: String, dbms: String, nearest: &'static str },
    #[error("--arm {pattern}=…: no arm matches it; the arms are: {known}")]
    UnusedRule { pattern: String, known: String },
    #[error(
        "no other arm has a test of the base, {base}: it has {of_base}, the others {of_others}; give files of one test the same \
         name in a directory for each arm, such as {base}/TEST-1.log and OTHER/TEST-1.log, or rename them, ARM-TEST-1.log"
    )]
    NothingInCommon { base: String, of_base: String, of_others: String },
    /// Directories of two levels of which each may be the arms.
    #[error(
        "the directories {} and {} are each below, or above, all of the others: which of them are arms and which are tests cannot be \
         told; give each arm as ARM=PATH, such as {}=PATH", names[0], names[1], example
    )]
    Crossed { names: Box<[String; 2]>, example: String },
    /// Files that may be repeats, or of several arms or tests.
    #[error(
        "{test} on {arm}: names of files differ in two numbers, such as {} and {}, and which of them is the repeat's cannot be \
         told: {readings}", files[0], files[1]
    )]
    TwoReadings { test: String, arm: String, files: Box<[String; 2]>, readings: String },
    /// Arms that may be repeats, while their repeats are arms.
    #[error(
        "{test}: names of files have two numbers, and which of them is the repeat's cannot be told. If {arms} are arms, type: \
         {}; if {others} are: {}", readings[0], readings[1]
    )]
    TwoNumbers { test: String, arms: String, others: String, readings: Box<[String; 2]> },
    /// Base and the others ran the same tests with other settings.
    #[error(
        "no other arm has a test of the base, {base}, with its settings: {differences}; compare runs with the same settings"
    )]
    OtherSettings { base: String, differences: String },
    /// A file with several arms cannot be one.
    #[error("{}: it has the arms {arms} itself: give it without `{given}=`", path.display())]
    NamesArms { path: PathBuf, arms: String, given: String },
    #[error(
        "{test}: its rate is in {unit} per second in {}, and in {other_unit} per second in {}: these cannot be \
         compared; name the tests differently", places[0], places[1]
    )]
    Units { test: String, places: Box<[Place; 2]>, unit: String, other_unit: String },
    #[error(transparent)]
    BelongsNowhere(Box<BelongsNowhere>),
    /// Rows of a table contradict figures they are derived from.
    #[error("{}, line {line}: {why}", path.display())]
    Contradiction { path: PathBuf, line: u32, why: String },
    #[error("{}: not a table that can be recomputed; known are {known}", path.display())]
    NotATable { path: PathBuf, known: &'static str },
    #[error(
        "no source of {} is among the files given, from which its cells could be computed: give the results that it was made of",
        table.display()
    )]
    NoSource { table: PathBuf },
    /// Sources that have the same place in a table.
    #[error(
        "{}: several of the files given have {what}, with other figures, and which of them the table was made of cannot be told: \
         {paths}; give only the table's own sources", table.display()
    )]
    SeveralSources { table: PathBuf, what: String, paths: String },
    #[error("{what}: not among the files given; {remedy}")]
    Missing { what: String, remedy: String },
    /// The disk is full: no part of the import is kept.
    #[error("no space left for {}: free some, then import again; nothing of this import is left", .0.display())]
    DiskFull(PathBuf),
    #[error(transparent)]
    Store(rqps_store::Error),
}

impl Error {
    /// Whether the request or its files are at fault.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Store(error) => error.is_usage(),
            Self::DiskFull(_) => false,
            Self::Read { source, .. } => source.kind() == std::io::ErrorKind::NotFound,
            _ => true,
        }
    }

    pub(crate) fn unknown(files: Vec<NotUnderstood>) -> Self {
        Self::Unknown { files, known: Format::ALL.map(Format::key).join(", ") }
    }

    pub(crate) fn read(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| match is_damage(&source) {
            true => Self::Broken { path: path.to_owned(), line: 1, why: unreadable(&source) },
            false if source.kind() == std::io::ErrorKind::StorageFull => Self::DiskFull(path.to_owned()),
            false => Self::Read { path: path.to_owned(), source },
        }
    }
}

impl From<rqps_store::Error> for Error {
    fn from(error: rqps_store::Error) -> Self {
        match error {
            rqps_store::Error::DiskFull { path } => Self::DiskFull(path),
            error => Self::Store(error),
        }
    }
}

/// Figures beside results, of which none is theirs.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}: this {format} is of arm `{arm}` and test `{test}` as its path says, of which there is no result among the files. \
     Give it as ARM=PATH, or put it into the arm's directory, and name it after its test, TEST.{ending}. Arms: {arms}; tests: {tests}",
    path.display()
)]
pub struct BelongsNowhere {
    pub path: PathBuf,
    pub format: String,
    pub arm: String,
    pub test: String,
    pub ending: String,
    pub arms: String,
    pub tests: String,
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub path: PathBuf,
    /// From 1.
    pub line: u32,
}

impl Place {
    /// The line of a measurement's rate.
    pub(crate) fn of(source: &Source, measurement: &Measurement) -> Self {
        Self { path: PathBuf::from(&source.path), line: measurement.line.max(1) }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, line {}", self.path.display(), self.line)
    }
}

/// ` and 3 more files`
fn and_more(others: usize) -> String {
    match others {
        0 => String::new(),
        others => format!(" and {} more", rqps_model::counted(others, "file")),
    }
}

/// What there is instead of results.
fn only(formats: &[&str]) -> String {
    match formats {
        [] => ": none of them is understood".to_owned(),
        formats => format!(", only {}: give the files with rates, too", formats.join(", ")),
    }
}

/// A file that no format recognises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotUnderstood {
    pub path: PathBuf,
    /// `it is empty`.
    pub why: String,
}

/// Files named in one error.
const NAMED_MAX: usize = 10;

fn not_understood(files: &[NotUnderstood]) -> String {
    if let [one] = files {
        return format!("{}: not understood: {}. ", one.path.display(), one.why);
    }
    let mut text = format!("{} files are not understood:", files.len());
    for one in files.iter().take(NAMED_MAX) {
        text.push_str(&format!("\n  {}: {}", one.path.display(), one.why));
    }
    if files.len() > NAMED_MAX {
        text.push_str(&format!("\n  and {} more", files.len() - NAMED_MAX));
    }
    text.push('\n');
    text
}

/// Why a line of a file is not what its format has there. The caller adds the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// From 1.
    pub line: u32,
    pub why: String,
    /// Whether the file is whole, but has no results of its own: it is computed from those.
    pub is_derived: bool,
}

impl Broken {
    pub fn at(line: u32, why: impl Into<String>) -> Self {
        Self { line, why: why.into(), is_derived: false }
    }

    /// A line that does not end, so that its last figure may have lost digits.
    pub fn cut_off(line: u32) -> Self {
        Self::at(
            line,
            "it breaks off in this line: import the whole file, or end the line if nothing is missing",
        )
    }

    /// A mistake in JSON that begins in line `first`; its own line is said once.
    pub fn json(error: &serde_json::Error, first: u32) -> Self {
        let text = error.to_string();
        let why = text.split_once(" at line ").map_or(text.as_str(), |(why, _)| why);
        let cut = if error.is_eof() { ": the file is cut off" } else { "" };
        Self::at(first + (error.line() as u32).saturating_sub(1), format!("JSON: {why}{cut}"))
    }

    /// A table that is computed from results.
    pub fn derived(line: u32, why: impl Into<String>) -> Self {
        Self { is_derived: true, ..Self::at(line, why) }
    }

    pub(crate) fn in_file(self, path: &Path) -> Error {
        Error::Broken { path: path.to_owned(), line: self.line, why: self.why }
    }
}
