//! A CSV that any program can write: `arm,test,repeat,rate[,unit]`, with that header, its columns in any order; or
//! `arm,rate`, also with the unit in the header, `arm,NOPM`, of one test.

use std::collections::HashMap;
use std::io::Read;

use crate::error::Broken;
use crate::formats::rate_unit;
use crate::lines::whole;
use crate::model::{Document, Measurement, Value, Work, no_number, number};
use csv::StringRecord;

const COLUMNS: [&str; 4] = ["arm", "test", "repeat", "rate"];

/// The header, for messages.
pub const HEADER: &str = "the header is arm,test,repeat,rate[,unit], or arm,rate of one test";

/// The value with the rate as the file has it.
pub const GIVEN_RATE: &str = "rate";

/// Ratios are within this factor of their base.
const FAR: f64 = 100.0;

/// What parts columns: a spreadsheet takes semicolons where a comma is decimal.
const SEPARATORS: [char; 3] = [',', ';', '\t'];

/// What separates columns, if this is the header.
pub fn separator(first: &str) -> Option<char> {
    let is_header = |separator: &char| {
        let has_all = COLUMNS.iter().all(|name| place(first, *separator, name).is_some());
        has_all || unit_of_one_test(first, *separator).is_some()
    };
    SEPARATORS.into_iter().find(is_header)
}

/// The column that is missing in a line that is the header otherwise.
pub fn missing_column(first: &str) -> Option<&'static str> {
    let missing = |separator: char| {
        let mut missing = COLUMNS.into_iter().filter(|name| place(first, separator, name).is_none());
        missing.next().filter(|_| missing.next().is_none())
    };
    SEPARATORS.into_iter().find_map(missing)
}

/// Where a header has an arm and its rate alone: the unit of the rate, or an empty text if it is called so.
fn unit_of_one_test(header: &str, separator: char) -> Option<&str> {
    let cells = header.split(separator).map(|cell| cell.trim().trim_matches('"').trim());
    let cells: Vec<&str> = cells.collect();
    let [one, other] = cells[..] else { return None };
    let is = |cell: &str, name: &str| cell.eq_ignore_ascii_case(name);
    let rate = if is(one, "arm") { other } else { one };
    let has_arm = is(one, "arm") != is(other, "arm");
    let unit = if is(rate, COLUMNS[3]) { "" } else { rate };
    (has_arm && (unit.is_empty() || rate_unit::parse(unit).is_ok())).then_some(unit)
}

fn place(header: &str, separator: char, name: &str) -> Option<usize> {
    header.split(separator).position(|cell| cell.trim().trim_matches('"').trim().eq_ignore_ascii_case(name))
}

pub fn parse(input: impl Read) -> Result<Document, Broken> {
    let text = whole(input)?;
    let mut at = Place { text: &text, byte: 0, line: 1 };
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let separator = separator(first).unwrap_or(',');
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader.has_headers(false).trim(csv::Trim::All).flexible(true).delimiter(separator as u8);
    let mut records = reader.from_reader(text.as_bytes()).into_records();
    let mut next = || -> Result<Option<(StringRecord, u32)>, Broken> {
        let Some(record) = records.next() else { return Ok(None) };
        let record = record.map_err(|error| Broken::at(at.line, error.to_string()))?;
        let line = at.line_of(record.position().map_or(0, |position| position.byte() as usize));
        Ok(Some((record, line)))
    };
    let (header, header_at) = next()?.unwrap_or_default();
    let unit_of_all = unit_of_one_test(first, separator);
    let places = places(&header, unit_of_all.is_some()).map_err(|why| Broken::at(header_at.max(1), why))?;
    let unit_at = header.iter().position(|column| column.eq_ignore_ascii_case("unit"));
    let mut measurements: Vec<Measurement> = Vec::new();
    let mut has_units = false;
    let mut known: HashMap<[String; 3], u32> = HashMap::new();
    while let Some((record, line)) = next()? {
        if record.iter().all(str::is_empty) {
            continue;
        }
        if record.len() > header.len() {
            let why = format!(
                "{} fields under {} columns: quote those that contain `{separator}`; {HEADER}",
                record.len(),
                header.len()
            );
            return Err(Broken::at(line, why));
        }
        let cell = |index: usize| {
            let cell = record.get(places[index]?).filter(|cell| !cell.is_empty());
            Some(cell.ok_or_else(|| Broken::at(line, format!("no {}; {HEADER}", COLUMNS[index]))))
        };
        // What is cut off in the name of a test or an arm is another one.
        let last = places.iter().flatten().max().map_or(0, |last| last + 1);
        if record.len() <= last && record.position().is_some_and(|at| !has_end(&text, at.byte())) {
            return Err(Broken::cut_off(line));
        }
        let printed = cell(3).transpose()?.unwrap_or_default();
        let rate = number(printed)
            .ok_or_else(|| Broken::at(line, format!("rate: {}", no_number(printed, "a rate"))))?;
        if rate == 0.0 {
            return Err(Broken::at(line, "rate: 0: leave out what did not run"));
        }
        let arm = cell(0).transpose()?.unwrap_or_default();
        let test = cell(1).transpose()?;
        let of_arm = || 1 + measurements.iter().filter(|one| one.arm.as_deref() == Some(arm)).count();
        let repeat = cell(2).transpose()?.map_or_else(|| of_arm().to_string(), str::to_owned);
        let number = repeat.parse().ok().filter(|n| *n > 0);
        let number = number.ok_or_else(|| {
            Broken::at(line, format!("repeat: {repeat:?} is not a number from 1; {HEADER}"))
        })?;
        let unit = unit_at.and_then(|at| record.get(at)).or(unit_of_all).filter(|unit| !unit.is_empty());
        has_units |= unit.is_some();
        let per = rate_unit::parse(unit.unwrap_or("queries"))
            .map_err(|why| Broken::at(line, format!("unit: {:?} {why}", unit.unwrap_or_default())))?;
        if [arm, test.unwrap_or_default()].iter().any(|name| name.contains(char::REPLACEMENT_CHARACTER)) {
            let why = "a name that is not UTF-8: convert the file, such as by `iconv -f latin1 -t utf-8`";
            return Err(Broken::at(line, why));
        }
        let place = [arm, test.unwrap_or_default(), &repeat].map(str::to_owned);
        if let (Some(before), Some(test)) = (known.insert(place, line), test) {
            let why = format!("{test} on {arm}, repeat {repeat}, is in line {before} already");
            return Err(Broken::at(line, why));
        }
        measurements.push(Measurement {
            arm: Some(arm.to_owned()),
            test: test.map(str::to_owned),
            repeat: Some(number),
            work: Some(Work::rate(&per.unit, rate / per.seconds)),
            values: vec![Value::number(GIVEN_RATE, per.symbol, printed, line)],
            line,
            ..Measurement::default()
        });
    }
    if measurements.is_empty() {
        return Err(Broken::at(header_at.max(1), format!("no row below it; {HEADER}")));
    }
    if separator == ';' {
        expect_no_thousands(&measurements)?;
    }
    if !has_units {
        expect_no_ratios(&measurements)?;
    }
    Ok(Document { measurements, is_table: true, ..Document::default() })
}

/// Where the columns are. Of one test there are an arm and its rate.
///
/// # Errors
/// If one is missing.
fn places(header: &StringRecord, is_of_one_test: bool) -> Result<[Option<usize>; 4], String> {
    let place = |name: &str| header.iter().position(|column| column.eq_ignore_ascii_case(name));
    if let Some(arm) = place(COLUMNS[0]).filter(|arm| is_of_one_test && *arm < 2) {
        return Ok([Some(arm), None, None, Some(1 - arm)]);
    }
    let mut places = [None; 4];
    for (at, name) in places.iter_mut().zip(COLUMNS) {
        let missing = || format!("no column {name}; {HEADER}");
        *at = Some(place(name).ok_or_else(missing)?);
    }
    Ok(places)
}

/// # Errors
/// If points may be those of thousands, as where a comma is decimal: `1.001`. One figure tells it of all.
fn expect_no_thousands(measurements: &[Measurement]) -> Result<(), Broken> {
    let figures =
        || measurements.iter().filter_map(|one| Some((one.values[0].published.as_deref()?, one.line)));
    let is_digits = |text: &str, count: std::ops::RangeInclusive<usize>| {
        count.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let may_be_thousands = |text: &str| {
        let (before, after) = text.split_once('.')?;
        Some(is_digits(before, 1..=3) && !before.starts_with('0') && is_digits(after, 3..=3))
    };
    let is_decimal = figures().any(|(text, _)| may_be_thousands(text) == Some(false));
    match figures().find(|(text, _)| may_be_thousands(text) == Some(true)) {
        Some((text, line)) if !is_decimal => {
            let why = format!(
                "rate: the point of {text:?} may be one of thousands or of decimals: write it without point, or with another \
                 number of decimals, such as {text}0"
            );
            Err(Broken::at(line, why))
        }
        _ => Ok(()),
    }
}

/// # Errors
/// If they are ratios.
fn expect_no_ratios(measurements: &[Measurement]) -> Result<(), Broken> {
    let Some(base) = base_of_ratios(measurements) else { return Ok(()) };
    let why = format!(
        "ratios, as all figures of {} are {}: give the rates that they were made of; if they are rates, say of what in a column \
         unit, such as tps",
        base.arm.as_deref().unwrap_or_default(),
        base.values[0].published.as_deref().unwrap_or_default()
    );
    Err(Broken::derived(base.line, why))
}

/// The first row of the arm that all others are relative to: it has 1 in every row, and the others are not far from it.
fn base_of_ratios(measurements: &[Measurement]) -> Option<&Measurement> {
    let rate = |one: &Measurement| one.work.as_ref().map_or(0.0, |work| work.operations);
    let is_one = |one: &&Measurement| rate(one) == 1.0;
    measurements.iter().filter(is_one).find(|base| {
        let (of_base, others): (Vec<&Measurement>, Vec<&Measurement>) =
            measurements.iter().partition(|one| one.arm == base.arm);
        let is_near = |one: &&Measurement| (1.0 / FAR..=FAR).contains(&rate(one));
        !others.is_empty() && of_base.iter().all(|one| rate(one) == 1.0) && others.iter().all(is_near)
    })
}

/// Whether a line end follows this byte.
fn has_end(text: &str, byte: u64) -> bool {
    text.bytes()
        .skip(byte as usize)
        .skip_while(|byte| matches!(byte, b'\n' | b'\r'))
        .any(|byte| byte == b'\n')
}

/// Counts lines up to where records begin.
struct Place<'a> {
    text: &'a str,
    byte: usize,
    line: u32,
}

impl Place<'_> {
    /// The line of the record that begins at this byte, after empty lines that the reader leaves out.
    fn line_of(&mut self, byte: usize) -> u32 {
        let bytes = self.text.as_bytes();
        let empty = bytes.iter().skip(byte).take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
        let (from, to) = (self.byte, (byte + empty).clamp(self.byte, bytes.len()));
        self.line += bytes[from..to].iter().filter(|byte| **byte == b'\n').count() as u32;
        self.byte = to;
        self.line
    }
}
