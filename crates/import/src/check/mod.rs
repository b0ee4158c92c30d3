//! Recomputes published tables from the results they were made of, cell by cell: "equal" means the same characters.

mod base;
mod db_bench;
mod fio;
mod ibench;
mod metrics;
mod pairs;
mod rates;
mod step;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rqps_model::{clipped, edit_distance, nearest};

use crate::error::{Broken, Error, Result};
use crate::formats::Format;
use crate::input::Opened;
use crate::lines::FILE_BYTES_MAX;
use crate::loaded::Given;
use crate::model::Quirk;
use crate::names::ArmName;

const TABLES: &str = "arms-table, rates-table, metrics-table, step-metrics, fio-table, hammerdb-csv, insert-benchmark, perf-values, \
                      joined-counters";

/// Characters in which a name differs by a slip: two that are exchanged.
const SLIP_CHARS_MAX: usize = 2;

/// Of the paths that an error names.
const PATHS_CHARS_MAX: usize = 300;

/// Figures of which each is the other's: of one pair of cells, a slip is as likely.
pub(crate) const EXCHANGED_MIN: usize = 2;

/// A recomputed table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Checked {
    /// Cells whose source is among the files.
    pub cells: usize,
    pub equal: usize,
    /// Cells whose source is not.
    pub without_source: usize,
    /// Columns and rows of those, as far as other cells of theirs have a source.
    unsourced: Vec<(String, String)>,
    sourced_columns: BTreeSet<String>,
    /// Rows, columns and arms that the sources have and the table lacks.
    pub lacking: Vec<String>,
    pub differences: Vec<Difference>,
    /// What all ratios are relative to, if it is another column than the table says.
    pub relative_to: Option<OtherBase>,
    /// Rows or columns that have each other's figures; their cells are not among the differences.
    pub exchanged: Vec<Exchanged>,
    /// Rows that the table has more than once.
    pub doubled: Vec<Doubled>,
    /// How its figures were taken, if its sources do not say.
    pub assumed: Option<String>,
    /// Whether rows of one name are of several tests.
    may_repeat_rows: bool,
    /// Line of each cell, by row and column.
    lines: BTreeMap<(String, String), u32>,
}

/// A row, with two of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubled {
    pub row: String,
    pub lines: [u32; 2],
}

/// The column that ratios are relative to, and the one that the table names instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherBase {
    pub fitting: String,
    pub named: String,
}

/// Two rows, or two columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchanged {
    pub are_rows: bool,
    pub names: [String; 2],
}

/// A cell with other digits than its source gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Line of the table.
    pub line: u32,
    pub row: String,
    pub column: String,
    pub published: String,
    pub computed: String,
    /// What of its author's program makes the published digits, if it does.
    pub quirk: Option<Quirk>,
    /// Ratios that are relative to it, if it is a base: those are judged on the figure that they fit.
    pub ratios: usize,
}

/// A name that only the table has, and the one that only the sources have and that is near it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renamed<'a> {
    pub in_table: &'a str,
    pub in_sources: &'a str,
}

/// How a cell is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// As its author's programs do.
    Published,
    /// As it was measured.
    True,
}

/// The digits of a cell in both readings.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Computed {
    pub published: String,
    /// Different digits that were measured, and why.
    pub truth: Option<(String, Quirk)>,
}

impl Computed {
    pub fn exact(published: String) -> Self {
        Self { published, truth: None }
    }
}

/// Where a cell is in its table.
pub(crate) struct Place<'a> {
    pub line: u32,
    pub row: &'a str,
    pub column: &'a str,
}

impl Checked {
    /// Counts a cell; `None`: its source is missing.
    pub(crate) fn add(
        &mut self,
        place: Place<'_>,
        cell: &str,
        computed: Option<&Computed>,
        reading: Reading,
    ) {
        self.expect_once(&place);
        let Some(computed) = computed else {
            self.without_source += 1;
            self.unsourced.push((place.row.to_owned(), place.column.to_owned()));
            return;
        };
        self.sourced_columns.insert(place.column.to_owned());
        self.cells += 1;
        let digits = match (reading, &computed.truth) {
            (Reading::True, Some((digits, _))) => digits,
            _ => &computed.published,
        };
        if digits == cell {
            self.equal += 1;
            return;
        }
        // A quirk explains a difference only if the digits with it are the published ones.
        let quirk = computed.truth.as_ref().filter(|_| computed.published == cell).map(|(_, quirk)| *quirk);
        self.differences.push(Difference {
            line: place.line,
            row: place.row.to_owned(),
            column: place.column.to_owned(),
            published: cell.to_owned(),
            computed: digits.clone(),
            quirk,
            ratios: 0,
        });
    }

    /// Names a row that was there already.
    fn expect_once(&mut self, place: &Place<'_>) {
        let at = (place.row.to_owned(), place.column.to_owned());
        let first = *self.lines.entry(at).or_insert(place.line);
        let is_known = |one: &Doubled| one.row == place.row && one.lines[1] == place.line;
        if first != place.line && !self.may_repeat_rows && !self.doubled.iter().any(is_known) {
            self.doubled.push(Doubled { row: place.row.to_owned(), lines: [first, place.line] });
        }
    }
}

/// The differing cells of a row by column, or of a column by row: published and computed.
type Cells<'a> = BTreeMap<&'a str, (&'a str, &'a str)>;

/// The row and column of a difference, or the other way round.
fn own_and_across(one: &Difference, are_rows: bool) -> (&str, &str) {
    if are_rows { (&one.row, &one.column) } else { (&one.column, &one.row) }
}

impl Checked {
    /// Takes rows and columns that have each other's figures out of the differences: first what explains most cells.
    /// Where figures are few, exchanged columns make some rows look exchanged, too.
    fn find_exchanged(&mut self) {
        while let Some(found) = self.most_exchanged() {
            let is_of = |one: &Difference| {
                found.names.iter().any(|name| name == own_and_across(one, found.are_rows).0)
            };
            self.differences.retain(|one| !is_of(one));
            self.exchanged.push(found);
        }
    }

    fn most_exchanged(&self) -> Option<Exchanged> {
        let (rows, columns) = (self.exchanged_in(true), self.exchanged_in(false));
        let all = rows.into_iter().chain(columns);
        all.min_by_key(|(cells, _)| std::cmp::Reverse(*cells)).map(|(_, found)| found)
    }

    /// Pairs of rows, or of columns, each with the number of its cells.
    fn exchanged_in(&self, are_rows: bool) -> Vec<(usize, Exchanged)> {
        let mut all: BTreeMap<&str, Cells<'_>> = BTreeMap::new();
        for one in self.differences.iter().filter(|one| one.ratios == 0) {
            let (own, across) = own_and_across(one, are_rows);
            all.entry(own).or_default().insert(across, (&one.published, &one.computed));
        }
        all.retain(|_, cells| cells.len() >= EXCHANGED_MIN);
        let mut names: BTreeMap<&Cells<'_>, &str> = BTreeMap::new();
        for (name, cells) in &all {
            names.entry(cells).or_insert(name);
        }
        let pair = |(name, cells): (&&str, &Cells<'_>)| {
            let reversed = cells.iter().map(|(at, (published, computed))| (*at, (*computed, *published)));
            let other = names.get(&reversed.collect::<Cells<'_>>()).filter(|other| *other > name)?;
            Some((2 * cells.len(), Exchanged { are_rows, names: [(*name).to_owned(), (*other).to_string()] }))
        };
        all.iter().filter_map(pair).collect()
    }

    /// Counts as lacking what `of_sources` has and `of_table` does not.
    pub(crate) fn expect<'a>(
        &mut self,
        of_sources: impl IntoIterator<Item = &'a str>,
        of_table: impl Fn(&str) -> bool,
    ) {
        for name in of_sources.into_iter().filter(|name| !of_table(name)) {
            if !self.lacking.iter().any(|known| known == name) {
                self.lacking.push(name.to_owned());
            }
        }
    }

    /// Names that may be the same thing: of rows, columns or arms. Where the sources are of a part of the table only,
    /// others are tests or versions of their own, so that just a slip makes a name another.
    pub fn renamed(&self) -> Vec<Renamed<'_>> {
        let mut of_sources: Vec<&str> = self.lacking.iter().map(String::as_str).collect();
        let names = self.without_source_in();
        let is_part = names.len() > of_sources.len();
        let mut renamed = Vec::new();
        for in_table in names {
            // A row's name may have its arm at the end.
            let arm = in_table.rsplit(' ').next().unwrap_or(in_table);
            let near = [in_table, arm].into_iter().find_map(|name| nearest(name, of_sources.iter().copied()));
            let is_same = |near: &&str| match is_part {
                true => is_slip(in_table, near),
                false => !are_versions(arm, near),
            };
            if let Some(in_sources) = near.filter(is_same) {
                of_sources.retain(|name| *name != in_sources);
                renamed.push(Renamed { in_table, in_sources });
            }
        }
        renamed
    }

    /// Columns without any source, and rows without one in other columns.
    pub fn without_source_in(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for (row, column) in &self.unsourced {
            let name = if self.sourced_columns.contains(column) { row } else { column };
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }
}

/// Whether two names are of arms of different versions, which no exchange of digits explains.
fn are_versions(one: &str, other: &str) -> bool {
    let digits = |name: &str| {
        let mut digits: Vec<char> = name.chars().filter(char::is_ascii_digit).collect();
        digits.sort_unstable();
        digits
    };
    let version = |name: &str| ArmName::parse(name).map(|name| (name.dbms, name.version));
    version(one).zip(version(other)).is_some_and(|(one, other)| one != other) && digits(one) != digits(other)
}

/// Whether two names differ in few characters, and not in digits alone, as versions do.
fn is_slip(one: &str, other: &str) -> bool {
    let words = |name: &str| name.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    edit_distance(one, other) <= SLIP_CHARS_MAX && words(one) != words(other)
}

/// A file with its format.
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    pub path: PathBuf,
    pub format: Format,
    /// As it was given.
    given_arm: Option<String>,
}

impl Raw {
    /// Reads it with a format's own function.
    pub fn read<T>(
        &self,
        parse: impl FnOnce(Box<dyn std::io::Read>) -> std::result::Result<T, Broken>,
    ) -> Result<T> {
        read(&self.path, parse)
    }

    /// The arm that it was given as, else the name of the directory it is in.
    pub fn arm(&self) -> String {
        if let Some(arm) = &self.given_arm {
            return arm.clone();
        }
        let parent = self.path.parent().and_then(Path::file_name);
        parent.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    pub fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

/// The only file of a format among the sources, apart from the table itself.
///
/// # Errors
/// If there is none, or which of several is the table's cannot be told.
pub(crate) fn only_source<'a>(raws: &'a [Raw], format: Format, table: &Path, what: &str) -> Result<&'a Raw> {
    let found: Vec<&Raw> = raws.iter().filter(|raw| raw.format == format && raw.path != table).collect();
    match found[..] {
        [] => Err(Error::Missing {
            what: what.to_owned(),
            remedy: "give the file that the table was made of".to_owned(),
        }),
        [only] => Ok(only),
        _ => Err(several(table, what, found.iter().map(|raw| raw.path.as_path()))),
    }
}

fn several<'a>(table: &Path, what: &str, paths: impl Iterator<Item = &'a Path>) -> Error {
    let paths: Vec<String> = paths.map(|path| path.display().to_string()).collect();
    Error::SeveralSources {
        table: table.to_owned(),
        what: what.to_owned(),
        paths: clipped(&paths.join(", "), PATHS_CHARS_MAX),
    }
}

/// Figures from sources, by arm and row.
pub(crate) struct Figures<T> {
    found: BTreeMap<(String, String), (T, PathBuf)>,
    /// Places of which two sources have other figures.
    several: BTreeMap<(String, String), [PathBuf; 2]>,
}

impl<T: PartialEq> Figures<T> {
    pub fn new() -> Self {
        Self { found: BTreeMap::new(), several: BTreeMap::new() }
    }

    pub fn add(&mut self, arm: String, row: String, figure: T, path: &Path) {
        let place = (arm, row);
        match self.found.get(&place) {
            Some((known, first)) if *known != figure => {
                let paths = [first.clone(), path.to_owned()];
                self.several.entry(place).or_insert(paths);
            }
            Some(_) => {}
            None => drop(self.found.insert(place, (figure, path.to_owned()))),
        }
    }

    /// The figures, if there is one for each place of the table.
    ///
    /// # Errors
    /// If there are several: which of them the table was made of, nobody can tell.
    pub fn only(
        self,
        table: &Path,
        is_of_table: impl Fn(&str, &str) -> bool,
    ) -> Result<BTreeMap<(String, String), T>> {
        let mut unclear = self.several.iter().filter(|((arm, row), _)| is_of_table(arm, row));
        if let Some(((arm, row), paths)) = unclear.next() {
            return Err(several(table, &format!("{row} of {arm}"), paths.iter().map(PathBuf::as_path)));
        }
        Ok(self.found.into_iter().map(|(place, (figure, _))| (place, figure)).collect())
    }
}

pub(crate) fn read<T>(
    path: &Path,
    parse: impl FnOnce(Box<dyn std::io::Read>) -> std::result::Result<T, Broken>,
) -> Result<T> {
    let opened = Opened::open(path)?;
    parse(Box::new(opened.into_reader())).map_err(|broken| broken.in_file(path))
}

/// Recomputes `table` from `files`. Files that are not understood are errors unless `skip_unknown`.
///
/// # Errors
/// If a file cannot be read, or the table's format is not one that can be recomputed.
pub fn check(
    table: &Path,
    files: &[Given],
    device: Option<&str>,
    reading: Reading,
    skip_unknown: bool,
) -> Result<Checked> {
    let format = format_of(table)?;
    recompute((table, format), &raws(files, skip_unknown)?, device, reading)
}

fn not_a_table(table: &Path) -> Error {
    Error::NotATable { path: table.to_owned(), known: TABLES }
}

/// # Errors
/// If no format recognises it.
pub(crate) fn format_of(table: &Path) -> Result<Format> {
    Opened::open(table)?.format(table)?.ok_or_else(|| not_a_table(table))
}

/// The formats of files.
///
/// # Errors
/// If one cannot be read, or is not understood, unless `skip_unknown`.
pub(crate) fn raws(files: &[Given], skip_unknown: bool) -> Result<Vec<Raw>> {
    let mut raws = Vec::new();
    let mut unknown = Vec::new();
    for given in files {
        let path = &given.path;
        let opened = Opened::open(path)?;
        match opened.format(path)? {
            Some(format) => raws.push(Raw { path: path.clone(), format, given_arm: given.arm.clone() }),
            None => unknown.push(opened.not_understood(path)),
        }
    }
    if unknown.is_empty() || skip_unknown { Ok(raws) } else { Err(Error::unknown(unknown)) }
}

/// Recomputes a table of a format from the other files.
///
/// # Errors
/// If none of them is its source, or one cannot be read.
pub(crate) fn recompute(
    (table, format): (&Path, Format),
    files: &[Raw],
    device: Option<&str>,
    reading: Reading,
) -> Result<Checked> {
    let mut raws = Vec::new();
    for raw in files {
        if !is_copy(table, &raw.path)? {
            raws.push(raw.clone());
        }
    }
    if raws.is_empty() {
        return Err(Error::NoSource { table: table.to_owned() });
    }
    let mut checked = match format {
        Format::RatesTable => rates::check(table, &raws, reading),
        Format::MetricsTable => metrics::check(table, &raws, reading),
        Format::ArmsTable => db_bench::check(table, &raws, reading),
        Format::HammerdbCsv => pairs::hammerdb(table, &raws, reading),
        Format::InsertBenchmark => ibench::check(table, &raws, reading),
        Format::PerfValues => pairs::counters(table, &raws, reading),
        Format::JoinedCounters => pairs::joined(table, &raws, reading),
        Format::FioTable => fio::check(table, &raws, reading),
        Format::StepMetrics => step::check(table, &raws, device, reading),
        _ => Err(not_a_table(table)),
    }?;
    if checked.cells == 0 {
        return Err(Error::NoSource { table: table.to_owned() });
    }
    checked.differences.sort_by_key(|one| one.line);
    checked.find_exchanged();
    Ok(checked)
}

/// Whether a file is the table itself, or has the same bytes: it is no source of it.
fn is_copy(table: &Path, path: &Path) -> Result<bool> {
    let size = |path: &Path| fs::metadata(path).map(|meta| meta.len()).map_err(Error::read(path));
    if size(table)? != size(path)? {
        return Ok(false);
    }
    let bytes = |path: &Path| fs::read(path).map_err(Error::read(path));
    Ok(size(table)? <= FILE_BYTES_MAX && bytes(table)? == bytes(path)?)
}
