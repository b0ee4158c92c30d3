//! Texts of sysbench in a table of rates: which column and row each is of, and what the table took of it. Names of an
//! archive (`sb.o.…`) tell that themselves; of others, the table's own names are looked for in the path.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rqps_model::sample;

use super::{Computed, Figures, Raw};
use crate::error::Result;
use crate::formats::rates_table::RatesTable;
use crate::formats::{Format, sysbench};
use crate::grouped::grouped;
use crate::model::{Measurement, number};
use crate::names::TestName;
use crate::path_classes::classes;
use crate::paths::{stem, test_of_path};
use crate::printf::fixed;

/// Rates as sysbench prints them.
const RATES: [&str; 2] = ["queries_per_s", "transactions_per_s"];
/// Decimals that sysbench prints.
const DECIMALS: usize = 2;

/// A text in its place.
pub(super) struct Text {
    pub arm: String,
    pub row: String,
    path: PathBuf,
    clients: Option<u32>,
    /// The rate of a text that is named as in the archive.
    of_archive: Option<Computed>,
    /// Of another: queries and transactions per second.
    rates: [Option<f64>; 2],
}

/// What a table took of its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Taken {
    /// Which of the rates.
    rate: usize,
    is_median: bool,
    /// Of ratios: whether they are those of whole numbers, as tables of rates have them.
    is_rounded: bool,
}

impl Taken {
    /// All that a table may have taken, the usual first.
    pub fn all(texts: &[Text], are_ratios: bool) -> Vec<Self> {
        let is_open = texts.iter().any(|text| text.of_archive.is_none());
        let rates = if is_open { 0..RATES.len() } else { 0..1 };
        let medians = if has_repeats(texts) { &[false, true][..] } else { &[false] };
        let roundings = if is_open && are_ratios { &[false, true][..] } else { &[false] };
        let mut all = Vec::new();
        for is_rounded in roundings.iter().copied() {
            for rate in rates.clone() {
                all.extend(medians.iter().map(|is_median| Self { rate, is_median: *is_median, is_rounded }));
            }
        }
        all
    }

    /// In words, as far as the texts leave it open.
    pub fn words(self, texts: &[Text]) -> Option<String> {
        let has_repeats = has_repeats(texts);
        let of_repeats = if self.is_median { "medians of repeats" } else { "means of repeats" };
        let what = match (has_repeats, self.rate) {
            (true, 0) => of_repeats.to_owned(),
            (true, _) => format!("transactions per second, {of_repeats}"),
            (false, 0) if self.is_rounded => "queries per second".to_owned(),
            (false, 0) => return None,
            (false, _) => "transactions per second".to_owned(),
        };
        Some(if self.is_rounded { format!("ratios of {what}, rounded to whole numbers") } else { what })
    }
}

impl Text {
    /// Reads a text; `None` if it has no rate.
    pub fn read(raw: &Raw, table: &RatesTable) -> Result<Option<Self>> {
        let mut document = raw.read(sysbench::parse)?;
        let Some(measured) = document.measurements.first_mut() else { return Ok(None) };
        let (clients, path) = (measured.clients, raw.path.clone());
        if let Some((_, test)) = TestName::of_file(&raw.name()) {
            let of_archive = of_archive(test, measured);
            return Ok(of_archive.map(|(row, rate)| Self {
                arm: raw.arm(),
                row,
                path,
                clients,
                of_archive: Some(rate),
                rates: [None; 2],
            }));
        }
        let value = |name: &str| measured.values.iter().find(|value| value.name == name);
        let rates = RATES.map(|name| number(value(name)?.published.as_deref()?));
        let parts = parts(&raw.path);
        let columns = table.relative_to.iter().chain(&table.columns);
        let of_path = || named(&parts, columns.map(String::as_str)).map(str::to_owned);
        let arm = raw.given_arm.clone().or_else(of_path).unwrap_or_else(|| raw.arm());
        let row = named(&parts, table.rows.iter().map(|row| row.test.as_str())).map(str::to_owned);
        let row = row.unwrap_or_else(|| test_of_path(&raw.path, Format::Sysbench, false));
        let has_rate = rates.iter().any(Option::is_some);
        Ok(has_rate.then_some(Self { arm, row, path, clients, of_archive: None, rates }))
    }
}

/// The row of a text that is named as in the archive, and its rate as published there.
fn of_archive(test: TestName, measured: &mut Measurement) -> Option<(String, Computed)> {
    let (test, _) = sysbench::test_of(test, measured);
    let quirk = test.is_scan().then(|| sysbench::as_scan(measured)).flatten();
    let value = measured.values.iter().find(|value| value.name == RATES[0]);
    let published = fixed(value.and_then(|value| number(value.published.as_deref()?))?, 0);
    let true_rate = measured.work.as_ref().map(|work| fixed(work.per_second(), 0));
    let truth = quirk.and_then(|quirk| Some((true_rate?, quirk)));
    Some((test.row(), Computed { published, truth }))
}

/// Texts by arm and row; those of one place are repeats if their names differ in a repeat's number only.
fn of_places(texts: &[Text]) -> BTreeMap<(&str, &str), Vec<&Text>> {
    let open = texts.iter().filter(|text| text.of_archive.is_none());
    let mut all: BTreeMap<(&str, &str), Vec<&Text>> =
        grouped(open.map(|text| ((&*text.arm, &*text.row), text)));
    let are_repeats = |texts: &Vec<&Text>| {
        let paths: Vec<&Path> = texts.iter().map(|text| text.path.as_path()).collect();
        let classes = classes(&paths, &paths);
        classes.iter().all(|class| *class == classes[0])
            && texts.iter().all(|text| text.clients == texts[0].clients)
    };
    all.retain(|_, texts| are_repeats(texts));
    all
}

fn has_repeats(texts: &[Text]) -> bool {
    of_places(texts).values().any(|all| all.len() > 1)
}

/// The rates of all texts as a table has them that took this, with as many decimals.
pub(super) fn figures(texts: &[Text], taken: Taken, decimals: usize) -> Figures<Computed> {
    let decimals = if taken.is_rounded { 0 } else { decimals };
    let mut figures = Figures::new();
    let mut add =
        |text: &Text, rate: Computed| figures.add(text.arm.clone(), text.row.clone(), rate, &text.path);
    let places = of_places(texts);
    for text in texts {
        let of_place = places.get(&(text.arm.as_str(), text.row.as_str()));
        let rate = match (&text.of_archive, of_place) {
            (Some(rate), _) => Some(rate.clone()),
            (None, Some(repeats)) => {
                let rates: Vec<f64> = repeats.iter().filter_map(|one| one.rates[taken.rate]).collect();
                let mean = || rates.iter().sum::<f64>() / rates.len() as f64;
                let rate = if taken.is_median { sample::median(&rates) } else { Some(mean()) };
                rate.filter(|rate| rate.is_finite()).map(|rate| Computed::exact(fixed(rate, decimals)))
            }
            (None, None) => text.rates[taken.rate].map(|rate| Computed::exact(fixed(rate, decimals))),
        };
        if let Some(rate) = rate {
            add(text, rate);
        }
    }
    figures
}

/// The decimals of a table's figures: those of rates, or for ratios as sysbench prints.
pub(super) fn decimals(table: &RatesTable) -> usize {
    let of = |cell: &String| cell.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    match table.relative_to {
        Some(_) => DECIMALS,
        None => table.rows.iter().flat_map(|row| &row.cells).map(of).max().unwrap_or(0),
    }
}

/// The name of a file without endings, and those of its directories, the nearest first.
fn parts(path: &Path) -> Vec<String> {
    let directories = path.ancestors().skip(1).filter_map(Path::file_name);
    let directories = directories.map(|name| plain(&name.to_string_lossy()));
    std::iter::once(plain(&stem(path))).chain(directories).collect()
}

/// Small letters, digits, and one sign for all others.
fn plain(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    plain.collect::<String>().trim_matches('-').to_owned()
}

/// The name that the nearest part of a path has, of several the longest; `None` if two are as long.
fn named<'a>(parts: &[String], names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let names: Vec<(&str, Vec<String>)> = names.map(|name| (name, spellings(name))).collect();
    let in_part = |part: &String| {
        let length = |spellings: &[String]| {
            spellings.iter().filter(|name| has_words(part, name)).map(String::len).max()
        };
        let found: Vec<(usize, &str)> =
            names.iter().filter_map(|(name, spellings)| Some((length(spellings)?, *name))).collect();
        let most = found.iter().map(|(length, _)| *length).max()?;
        Some(found.into_iter().filter(|(length, _)| *length == most).map(|(_, name)| name).collect())
    };
    let found: Vec<&str> = parts.iter().find_map(in_part)?;
    <[&str; 1]>::try_from(found).ok().map(|[only]| only)
}

/// A name as it may stand in a path: also without its range, and without what the archive puts around it.
fn spellings(name: &str) -> Vec<String> {
    let bare = TestName { range: None, ..TestName::of_row(name) }.row();
    let inner = name.strip_prefix("x.").unwrap_or(name);
    let inner = [".pk0", ".pk1"].iter().find_map(|end| inner.strip_suffix(end)).unwrap_or(inner);
    [name, &bare, inner].into_iter().map(plain).filter(|name| !name.is_empty()).collect()
}

/// Whether a part has a name in it, as words of its own.
fn has_words(part: &str, name: &str) -> bool {
    let is_end = |c: Option<char>| c.is_none_or(|c| c == '-');
    part.match_indices(name).any(|(at, _)| {
        is_end(part[..at].chars().next_back()) && is_end(part[at + name.len()..].chars().next())
    })
}
