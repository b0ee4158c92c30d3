//! Results that are given more than once: copies of a file, rows cut from another file, and tables beside the results
//! they were made of.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use crate::error::{Error, Place, Result};
use crate::formats::rates_csv::GIVEN_RATE;
use crate::formats::rates_table::is_unnamed;
use crate::formats::{Format, ibench, pgbench};
use crate::grouped::grouped;
use crate::lines::{Lines, decompressed};
use crate::loaded::Loaded;
use crate::model::{Document, Measurement, Printed, Value};
use crate::placed::{Assembled, Doubt, Found, Placed};

/// Digits that two results have in common by chance too rarely.
const DIGITS_MIN: usize = 9;

/// Rates as programs print them.
const PRINTED_RATES: [&str; 7] = [
    "queries_per_s",
    "transactions_per_s",
    "events_per_s",
    "requests_per_s",
    "ops_sec",
    pgbench::RATE_WITH_CONNECTIONS,
    GIVEN_RATE,
];

/// Figures of how a run began: a copy may have others.
const OF_THE_BEGINNING: [&str; 2] = [pgbench::CONNECTION_MS, pgbench::RATE_WITH_CONNECTIONS];

fn is_of_result(value: &&Value) -> bool {
    !OF_THE_BEGINNING.contains(&value.name.as_ref())
}

/// # Errors
/// If two files have the same figures, whatever their spaces, line ends, dates, and times to connect.
pub fn expect_no_copies(loaded: &[Loaded]) -> Result<()> {
    let mut seen: HashMap<_, Vec<&Path>> = HashMap::new();
    for one in loaded.iter().filter(|one| digits(&one.document.measurements) >= DIGITS_MIN) {
        let path = &one.given.path;
        let alike = seen.entry((one.format, hash(&one.document))).or_default();
        for first in alike.iter() {
            let (first, second) = (first.to_path_buf(), path.clone());
            if is_same_text(&first, path)? {
                return Err(Error::Twice { first, second });
            }
            // Of other lines the same sums can come.
            if !one.format.has_sums_alone() {
                return Err(Error::LooksLikeACopy { first, second });
            }
        }
        alike.push(path);
    }
    Ok(())
}

/// Whether two files have the same words in the same lines; true if they are no text.
fn is_same_text(first: &Path, second: &Path) -> Result<bool> {
    let open = |path: &Path| -> Result<_> {
        let file = File::open(path).map_err(Error::read(path))?;
        Ok(Lines::new(decompressed(BufReader::new(file)).map_err(Error::read(path))?))
    };
    let (mut first, mut second) = (open(first)?, open(second)?);
    loop {
        let next = |lines: &mut Lines<_>| loop {
            match lines.next() {
                Ok(Some(line)) => match line.split_whitespace().collect::<Vec<_>>().join(" ") {
                    words if words.is_empty() => {}
                    words => break Some(Some(words)),
                },
                Ok(None) => break Some(None),
                Err(_) => break None,
            }
        };
        let (Some(one), Some(other)) = (next(&mut first), next(&mut second)) else { return Ok(true) };
        if one != other {
            return Ok(false);
        }
        if one.is_none() {
            return Ok(true);
        }
    }
}

/// Tables of rates without names of columns that are copies of tables with names.
///
/// # Errors
/// If a copy has a few figures that are others.
pub fn unnamed_copies(loaded: &[Loaded]) -> Result<Vec<usize>> {
    let is_named = |one: &Loaded| one.document.measurements.iter().all(|one| !is_unnamed(one.arm.as_deref()));
    let (named, unnamed): (Vec<usize>, Vec<usize>) = (0..loaded.len())
        .filter(|at| loaded[*at].format == Format::RatesTable)
        .partition(|at| is_named(&loaded[*at]));
    let mut copies = Vec::new();
    for copy in unnamed {
        let unlike = |of: &usize| unlike_cells(&loaded[*of], &loaded[copy]).map(|cells| (*of, cells));
        let Some((of, cells)) = named.iter().filter_map(unlike).min_by_key(|(_, cells)| cells.len()) else {
            continue;
        };
        if let Some((own, other)) = cells.first() {
            let text = |one: &Measurement| {
                one.values.first().and_then(|value| value.published.clone()).unwrap_or_default()
            };
            return Err(Error::Contradiction {
                path: loaded[of].given.path.clone(),
                line: own.line.max(1),
                why: format!(
                    "{} of {} is {}, but {} in {}, line {}: two copies of one table, {} of whose figures are others; correct \
                     one of them, or leave it out",
                    own.test.as_deref().unwrap_or_default(),
                    own.arm.as_deref().unwrap_or_default(),
                    text(own),
                    text(other),
                    loaded[copy].given.path.display(),
                    other.line.max(1),
                    cells.len()
                ),
            });
        }
        copies.push(copy);
    }
    Ok(copies)
}

/// The cells in which two tables of the same rows differ; `None` if most do, so that neither is a copy.
fn unlike_cells<'a>(one: &'a Loaded, other: &'a Loaded) -> Option<Vec<(&'a Measurement, &'a Measurement)>> {
    let (one, other) = (&one.document.measurements, &other.document.measurements);
    let is_same_row = |(one, other): (&Measurement, &Measurement)| one.test == other.test;
    if one.len() != other.len() || !one.iter().zip(other).all(is_same_row) {
        return None;
    }
    let published = |one: &'a Measurement| one.values.first().and_then(|value| value.published.as_deref());
    let cells: Vec<_> =
        one.iter().zip(other).filter(|(one, other)| published(one) != published(other)).collect();
    (2 * cells.len() < one.len()).then_some(cells)
}

/// Of all that a document says, but not of where it says so.
fn hash(document: &Document) -> u64 {
    let mut state = DefaultHasher::new();
    for one in &document.measurements {
        (&one.arm, &one.version, &one.test, one.repeat, one.clients).hash(&mut state);
        let work = one.work.as_ref().map(|work| (work.operations.to_bits(), work.elapsed_us, work.events));
        (work, &one.stacks).hash(&mut state);
        for value in one.values.iter().filter(is_of_result) {
            (&value.name, &value.published, value.value.map(f64::to_bits)).hash(&mut state);
        }
        for (name, value) in &one.metrics {
            (name, value.to_bits()).hash(&mut state);
        }
        for value in one.series.iter().flat_map(|series| &series.values) {
            value.to_bits().hash(&mut state);
        }
    }
    state.finish()
}

fn digits<'a>(measurements: impl IntoIterator<Item = &'a Measurement>) -> usize {
    let of_one = |one: &Measurement| {
        let of_work = one.work.as_ref().filter(|work| work.elapsed_us.is_some());
        let work = of_work.map_or(0, |work| in_text(&work.operations.to_string()));
        let stacks = one.stacks.as_ref().map_or(0, String::len);
        work + stacks + one.values.iter().filter(is_of_result).map(of_value).sum::<usize>()
    };
    measurements.into_iter().map(of_one).sum()
}

fn of_value(value: &Value) -> usize {
    let text = value.published.clone().or_else(|| Some(value.value?.to_string()));
    text.map_or(0, |text| in_text(&text))
}

/// Digits after leading zeros.
fn in_text(text: &str) -> usize {
    let digits = text.chars().filter(char::is_ascii_digit);
    digits.skip_while(|digit| *digit == '0').count()
}

/// Whether all published figures that both have are the same but for rounding. `None`: they have none in common.
fn agree<'a>(
    one: impl IntoIterator<Item = &'a Value>,
    other: impl IntoIterator<Item = &'a Value> + Clone,
) -> Option<bool> {
    let mut are_same = None;
    for value in one {
        let same = other.clone().into_iter().find(|other| other.name == value.name);
        let printed = |value: &Value| Printed::of(value.published.as_deref()?);
        let Some((own, other)) = printed(value).zip(same.and_then(printed)) else { continue };
        if !own.is(other, 0.0) {
            return Some(false);
        }
        are_same = Some(true);
    }
    are_same
}

/// The rate of a row of a CSV, per second.
fn given_rate(row: &Measurement) -> Option<Printed> {
    let value = row.values.iter().find(|value| value.name == GIVEN_RATE)?;
    let (printed, rate) = (Printed::of(value.published.as_deref()?)?, row.work.as_ref()?.per_second());
    Some(Printed { value: rate, half: printed.half * rate / printed.value })
}

/// The rates that a result has, as computed and as printed: of a CSV nobody knows which of them it took.
fn rates_of(result: &Measurement) -> impl Iterator<Item = (Printed, String)> {
    let exact = result.work.as_ref().map(|work| {
        let value = work.per_second();
        (Printed { value, half: 0.0 }, format!("{value:.2}"))
    });
    let printed = result.values.iter().filter(|value| PRINTED_RATES.contains(&value.name.as_ref()));
    let printed = printed.filter_map(|value| {
        let text = value.published.clone()?;
        Some((Printed::of(&text)?, text))
    });
    exact.into_iter().chain(printed)
}

/// The first figure that two rows print differently.
fn unlike<'a>(row: &'a Measurement, result: &'a Measurement) -> Option<(&'a str, String)> {
    if given_rate(row).is_some() {
        let text = rates_of(result).next()?.1;
        return Some((row.values.first()?.published.as_deref()?, text));
    }
    row.values.iter().find_map(|own| {
        let other = result.values.iter().find(|other| other.name == own.name)?;
        let text = other.published.clone().or_else(|| Some(other.value?.to_string()))?;
        let (printed, of_result) = (own.published.as_deref()?, Printed::of(&text)?);
        (!Printed::of(printed)?.is(of_result, 0.0)).then_some((printed, text))
    })
}

/// # Errors
/// If a result of an arm and test is there twice, in one file or in two.
pub fn expect_each_once(assembled: &Assembled) -> Result<()> {
    let of_test: BTreeMap<(usize, usize), Vec<&Placed>> =
        grouped(assembled.results.iter().map(|one| ((one.arm, one.step), one)));
    for results in of_test.values().filter(|results| results.len() > 1) {
        let rate = |placed: &Placed| placed.measurement.work.as_ref().map_or(0.0, |work| work.per_second());
        let mut sorted = results.clone();
        sorted.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
        if let Some([first, second]) = sorted.array_windows().find(|[first, second]| is_twice(first, second))
        {
            let place = |placed: &Placed| Place::of(&assembled.sources[placed.source], &placed.measurement);
            let (first, second) =
                if first.source <= second.source { (first, second) } else { (second, first) };
            return Err(Error::ResultTwice {
                first: place(first),
                second: place(second),
                test: assembled.steps[first.step].name.clone(),
                arm: assembled.arms[first.arm].name.clone(),
            });
        }
    }
    Ok(())
}

fn is_twice(first: &Placed, second: &Placed) -> bool {
    let own = |placed: &Placed| -> usize {
        let of_source = placed.values.iter().filter(|(source, _)| *source == placed.source);
        let of_work = placed.measurement.work.as_ref().filter(|work| work.elapsed_us.is_some());
        of_source.map(|(_, value)| of_value(value)).sum::<usize>()
            + of_work.map_or(0, |work| in_text(&work.operations.to_string()))
    };
    let work = |placed: &Placed| {
        let work = placed.measurement.work.as_ref()?;
        Some((work.elapsed_us?, work.operations.to_bits()))
    };
    own(first) >= DIGITS_MIN
        && own(second) >= DIGITS_MIN
        && work(first) == work(second)
        && agree(values(first).filter(is_of_result), values(second)) != Some(false)
        && values(first).filter(is_of_result).all(|value| is_measured_alike(value, values(second)))
}

/// A disk that is throttled makes rates alike: figures that nobody published tell results apart, too.
fn is_measured_alike<'a>(own: &Value, mut others: impl Iterator<Item = &'a Value>) -> bool {
    let other = others.find(|other| other.name == own.name);
    let Some((own, other)) = own.value.zip(other.and_then(|other| other.value)) else { return true };
    (own - other).abs() <= own.abs() * 1e-9
}

fn values(placed: &Placed) -> impl Iterator<Item = &Value> + Clone {
    placed.values.iter().map(|(_, value)| value)
}

/// What became of the tables among files of results.
#[derive(Debug, Default)]
pub struct Tables {
    /// Sources that were made of the other results, so that nothing of them is left.
    pub left_out: Vec<usize>,
    pub wrong: Vec<WrongCell>,
}

/// A cell of a table that is not what was measured.
#[derive(Debug)]
pub struct WrongCell {
    /// Of the result that was taken in its place.
    source: usize,
    line: u32,
    row: String,
    text: String,
}

impl WrongCell {
    /// A doubt about the result, wherever it was placed.
    pub fn doubt(&self, assembled: &Assembled) -> Option<Doubt> {
        let is_result = |placed: &&Placed| {
            placed.source == self.source
                && placed.measurement.line == self.line
                && assembled.steps[placed.step].bare == self.row
        };
        Some(Doubt::of(assembled.results.iter().find(is_result)?, self.text.clone()))
    }
}

/// Whether it is the same test on another arm, or another test on the same arm.
fn is_in_line_with(row: &Found, other: &Found) -> bool {
    (row.arm == other.arm) != (row.test.row() == other.test.row())
}

/// Of rows that have the figures of other results, one that was exchanged: the other's row has its figures in turn, or
/// many rows are exchanged in one way. A single row may have another's digits by chance.
fn exchanged<'a>(alike: &[(&'a Found, &'a Found)]) -> Option<(&'a Found, &'a Found)> {
    let is_at = |one: &Found, other: &Found| one.arm == other.arm && one.test == other.test;
    let is_mutual = |(row, result): &&(&Found, &Found)| {
        alike.iter().any(|(other, back)| is_at(other, result) && is_at(back, row))
    };
    let ways: BTreeMap<(usize, usize), Vec<&(&Found, &Found)>> =
        grouped(alike.iter().map(|pair| ((pair.0.arm, pair.1.arm), pair)));
    let has_many =
        |pairs: &&Vec<&(&Found, &Found)>| digits(pairs.iter().map(|(row, _)| &row.measurement)) >= DIGITS_MIN;
    let many = || Some(*ways.values().find(has_many)?.first()?);
    alike.iter().find(is_mutual).or_else(many).copied()
}

/// Gives rows without a range the one that all results of their test have: tables leave it out if it is the only one.
fn add_ranges(rows: &mut [Found], results: &[Found]) {
    let name = |one: &Found| (one.test.test.clone(), one.test.phase.clone());
    let mut ranges: HashMap<(String, String), BTreeSet<u32>> = HashMap::new();
    for one in results {
        ranges.entry(name(one)).or_default().extend(one.test.range);
    }
    let with_range: HashSet<_> =
        rows.iter().filter(|row| row.test.range.is_some()).map(|row| (row.source, name(row))).collect();
    for row in rows.iter_mut().filter(|row| row.test.range.is_none()) {
        let known = ranges.get(&name(row)).filter(|all| all.len() == 1);
        if !with_range.contains(&(row.source, name(row))) {
            row.test.range = known.and_then(|all| all.first().copied());
        }
    }
}

fn look_exchanged(row: &Found, result: &Found, arm_names: &[String], paths: &[String]) -> Error {
    let of = if row.arm == result.arm { result.test.row() } else { arm_names[result.arm].clone() };
    Error::Contradiction {
        path: PathBuf::from(&paths[row.source]),
        line: row.measurement.line.max(1),
        why: format!(
            "rows look exchanged: {} of {} has the figures of {of} in {}, line {}",
            row.test.row(),
            arm_names[row.arm],
            paths[result.source],
            result.measurement.line.max(1)
        ),
    }
}

/// `qps.abs.tsv, line 5`
fn place(one: &Found, paths: &[String]) -> String {
    format!("{}, line {}", paths[one.source], one.measurement.line.max(1))
}

/// The rates of a CSV by arm, test and repeat.
type GivenRates = BTreeMap<(usize, String, Option<u32>), Printed>;

/// Takes CSVs out that have the figures of another one, with no more digits.
fn rounded_copies(tables: &mut BTreeMap<usize, Vec<Found>>) -> Vec<usize> {
    let rates = |rows: &[Found]| -> Option<GivenRates> {
        let place = |row: &Found| (row.arm, row.test.row(), row.measurement.repeat);
        rows.iter().map(|row| Some((place(row), given_rate(&row.measurement)?))).collect()
    };
    let all: Vec<(usize, GivenRates)> =
        tables.iter().filter_map(|(source, rows)| Some((*source, rates(rows)?))).collect();
    let coarseness = |rates: &GivenRates| {
        rates.values().map(|rate| rate.half / rate.value).sum::<f64>() / rates.len().max(1) as f64
    };
    let is_copy = |(source, own): &&(usize, GivenRates)| {
        all.iter().any(|(other, of_other)| {
            let has = |(place, rate): (&_, &Printed)| {
                of_other.get(place).is_some_and(|one: &Printed| one.is(*rate, 0.0))
            };
            let is_coarser = (coarseness(own), source) > (coarseness(of_other), other);
            source != other && is_coarser && own.iter().all(has)
        })
    };
    let copies: Vec<usize> = all.iter().filter(is_copy).map(|(source, _)| *source).collect();
    tables.retain(|source, _| !copies.contains(source));
    copies
}

/// Takes rows of the Insert Benchmark out that another table of the directory has, too, as `mrg.some` has those of
/// `mrg.l.i0` and others, and rounded copies of CSVs. Returns the tables of which nothing is left.
///
/// # Errors
/// If such a row has other figures.
fn doubled_steps(
    tables: &mut BTreeMap<usize, Vec<Found>>,
    paths: &[String],
    arm_names: &[String],
) -> Result<Vec<usize>> {
    let is_of_step = |row: &Found| row.measurement.values.iter().any(|value| value.name == ibench::FIRST);
    let key = |row: &Found| {
        let directory = Path::new(&paths[row.source]).parent().map(Path::to_owned);
        (directory, row.arm, row.repeat, row.test.row())
    };
    // Tables of fewer steps come first: those of one.
    let steps = |rows: &Vec<Found>| rows.iter().map(|row| row.test.row()).collect::<BTreeSet<_>>().len();
    let mut order: Vec<usize> = tables.keys().copied().collect();
    order.sort_by_key(|source| (steps(&tables[source]), *source));
    let mut first: HashMap<_, (Measurement, String)> = HashMap::new();
    let mut doubled: HashSet<(usize, u32)> = HashSet::new();
    for row in order.iter().flat_map(|source| &tables[source]).filter(|row| is_of_step(row)) {
        let own = place(row, paths);
        match first.get(&key(row)) {
            None => drop(first.insert(key(row), (row.measurement.clone(), own))),
            Some((other, at)) if at.split(", line").next() != own.split(", line").next() => {
                if let Some((own, other)) = unlike(&row.measurement, other) {
                    return Err(Error::Contradiction {
                        path: PathBuf::from(&paths[row.source]),
                        line: row.measurement.line.max(1),
                        why: format!(
                            "{} of {} has {own}, but {other} in {at}: two rows of one result; correct one of them, or leave a file \
                             out",
                            row.test.row(),
                            arm_names[row.arm]
                        ),
                    });
                }
                doubled.insert((row.source, row.measurement.line));
            }
            Some(_) => {}
        }
    }
    for (source, rows) in tables.iter_mut() {
        rows.retain(|row| !doubled.contains(&(*source, row.measurement.line)));
    }
    let mut copies: Vec<usize> = order.into_iter().filter(|source| tables[source].is_empty()).collect();
    tables.retain(|_, rows| !rows.is_empty());
    copies.extend(rounded_copies(tables));
    Ok(copies)
}

/// Leaves out what tables have of results that are among the files themselves.
///
/// # Errors
/// If a table has figures of one arm under the name of another.
pub fn leave_out_tables(
    found: &mut Vec<Found>,
    is_table: &[bool],
    paths: &[String],
    arm_names: &[String],
) -> Result<Tables> {
    let mut tables = Tables::default();
    let (mut rows, results): (Vec<Found>, Vec<Found>) =
        std::mem::take(found).into_iter().partition(|one| is_table[one.source]);
    add_ranges(&mut rows, &results);
    let mut of_test: HashMap<(String, usize), Vec<&Found>> = HashMap::new();
    let mut of_name: HashMap<String, Vec<&Found>> = HashMap::new();
    let mut of_arms: HashMap<usize, Vec<&Found>> = HashMap::new();
    for one in &results {
        of_arms.entry(one.arm).or_default().push(one);
        of_test.entry((one.test.row(), one.arm)).or_default().push(one);
        of_name.entry(one.test.row()).or_default().push(one);
    }
    let mut by_table: BTreeMap<usize, Vec<Found>> = grouped(rows.into_iter().map(|row| (row.source, row)));
    tables.left_out = doubled_steps(&mut by_table, paths, arm_names)?;
    let mut kept = Vec::new();
    for (source, rows) in by_table {
        let own = |row: &Found| of_test.get(&(row.test.row(), row.arm));
        let is_of = |row: &Found, result: &Found| match given_rate(&row.measurement) {
            Some(rate) => rates_of(&result.measurement).any(|(of_result, _)| of_result.is(rate, 0.0)),
            None => agree(&row.measurement.values, &result.measurement.values) == Some(true),
        };
        let (same, others): (Vec<Found>, Vec<Found>) = rows
            .into_iter()
            .partition(|row| own(row).is_some_and(|all| all.iter().any(|one| is_of(row, one))));
        let wrong = others.iter().filter(|row| own(row).is_some());
        let alike = wrong.filter_map(|row| {
            let is_other = |one: &&&Found| is_in_line_with(row, one) && is_of(row, one);
            let of_others = of_name.get(&row.test.row()).into_iter().flatten();
            let of_arm = of_arms.get(&row.arm).into_iter().flatten();
            Some((row, *of_others.chain(of_arm).find(is_other)?))
        });
        if let Some((row, result)) = exchanged(&alike.collect::<Vec<_>>()) {
            return Err(look_exchanged(row, result, arm_names, paths));
        }
        let contradicted: Vec<(&Found, &Found)> =
            others.iter().filter_map(|row| Some((row, *own(row)?.first()?))).collect();
        let mut unlike = contradicted
            .iter()
            .filter_map(|(row, result)| Some((row, result, unlike(&row.measurement, &result.measurement)?)));
        if same.len() <= contradicted.len() {
            if let Some((row, result, (printed, measured))) = unlike.next() {
                let (wrong, all) = (contradicted.len(), contradicted.len() + same.len());
                return Err(Error::Contradiction {
                    path: PathBuf::from(&paths[source]),
                    line: row.measurement.line.max(1),
                    why: format!(
                        "{} of {} is {printed}, but {measured} in {}; {wrong} of {all} figures that it has in common with results \
                         are others: correct the table, or leave it out",
                        row.test.row(),
                        arm_names[row.arm],
                        place(result, paths)
                    ),
                });
            }
            kept.extend(same);
            kept.extend(others);
            continue;
        }
        tables.wrong.extend(unlike.map(|(row, result, (printed, measured))| WrongCell {
            source: result.source,
            line: result.measurement.line,
            row: result.test.row(),
            text: format!(
                "{printed} in {}, but {measured} in {}, which was taken",
                place(row, paths),
                place(result, paths)
            ),
        }));
        let clients =
            { same.iter() }.flat_map(|row| own(row).into_iter().flatten().filter(|one| is_of(row, one)));
        let clients: BTreeSet<Option<u32>> = clients.map(|result| result.measurement.clients).collect();
        let of_all = clients.first().copied().flatten().filter(|_| clients.len() == 1);
        if contradicted.len() == others.len() {
            tables.left_out.push(source);
        }
        for mut row in others.into_iter().filter(|row| own(row).is_none()) {
            // A table does not say how many clients its rows had; the results that it has tell it of all of them.
            row.measurement.clients = row.measurement.clients.or(of_all);
            if let (Some(work), Some(clients), true) = (&mut row.measurement.work, of_all, row.test.is_scan())
            {
                work.operations *= f64::from(clients);
            }
            kept.push(row);
        }
    }
    found.extend(results);
    found.extend(kept);
    Ok(tables)
}
