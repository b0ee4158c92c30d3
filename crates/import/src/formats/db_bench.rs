//! RocksDB's db_bench: rows of `report.tsv`, alone or by test and version (`sum.*.txt`), and its own log.

use std::collections::{HashMap, HashSet};
use std::io::Read;

use rqps_model::EndedBy;

use crate::dates;
use crate::error::Broken;
use crate::lines::Lines;
use crate::model::{Document, Measurement, OPERATIONS, Printed, Quirk, Value, Work, number};

/// From this version on columns of compaction are shifted by one, and one figure is lost.
const SHIFTED_SINCE: (u32, u32) = (10, 3);
const SHIFTED: [&str; 4] = ["c_wsecs", "c_csecs", "b_rgb", "b_wgb"];

/// A row, as printed.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub test: String,
    pub version: String,
    pub githash: String,
    pub rate: String,
    pub cells: Vec<(String, String)>,
    /// Number among rows of its test, from 0.
    pub index: usize,
    pub line: u32,
}

/// Whether a step prepares the next one; its figures are published nowhere.
pub fn is_preparation(test: &str) -> bool {
    test.starts_with("revrange.") || test.starts_with("overwritesome")
}

/// Paths at the top, and rows under headers.
pub fn parse_rows(input: impl Read) -> Result<(Vec<String>, Vec<Row>), Broken> {
    let mut lines = Lines::new(input);
    let (mut paths, mut rows): (Vec<String>, Vec<Row>) = (Vec::new(), Vec::new());
    let mut known: HashMap<String, u32> = HashMap::new();
    let mut columns: Vec<String> = Vec::new();
    let mut index = 0;
    while let Some((at, line)) = lines.next_whole()? {
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        let cells: Vec<&str> = line.split('\t').collect();
        if cells.first() == Some(&"ops_sec") {
            columns = cells.into_iter().map(str::to_owned).collect();
            index = 0;
            continue;
        }
        if columns.is_empty() {
            if cells.len() > 1 {
                return Err(Broken::at(at, "figures before a header"));
            }
            paths.push(line.trim().to_owned());
            continue;
        }
        if cells.len() != columns.len() {
            return Err(Broken::at(
                at,
                format!("{} fields in {} columns: the file is cut off", cells.len(), columns.len()),
            ));
        }
        let cell = |name: &str| columns.iter().position(|column| column == name).map_or("", |at| cells[at]);
        let rate = cell("ops_sec");
        if number(rate).is_none() && rate != "failed" {
            return Err(Broken::at(at, format!("ops_sec: {rate:?} is not a number")));
        }
        // Its date and figures are those of one measurement.
        if let Some(before) = known.insert(line.to_owned(), at).filter(|_| rate != "failed") {
            let (test, version) = (cell("test"), cell("version"));
            let why = format!("{test} of {version} has the same row in line {before}: leave out one of them");
            return Err(Broken::at(at, why));
        }
        rows.push(Row {
            test: cell("test").to_owned(),
            version: cell("version").to_owned(),
            githash: cell("githash").to_owned(),
            rate: rate.to_owned(),
            cells: columns.iter().cloned().zip(cells.iter().map(|cell| (*cell).to_owned())).collect(),
            index,
            line: at,
        });
        index += 1;
    }
    if rows.is_empty() {
        return Err(Broken::at(lines.number().max(1), "no rows in it"));
    }
    Ok((paths, rows))
}

pub fn parse(input: impl Read) -> Result<Document, Broken> {
    let (paths, rows) = parse_rows(input)?;
    // Rows of one version may be those of several compilers, which only the paths tell apart.
    let mut builds = HashSet::new();
    let is_ambiguous = rows.iter().any(|row| !builds.insert((&row.test, &row.version, &row.githash)));
    if is_ambiguous && !paths.is_empty() {
        expect_a_row_per_path(&rows, paths.len())?;
    }
    let mut document = Document { tool: Some("db_bench".to_owned()), ..Document::default() };
    for row in &rows {
        let Some(rate) = number(&row.rate).filter(|_| !is_preparation(&row.test)) else { continue };
        let path = paths.get(row.index).filter(|_| is_ambiguous);
        let arm = path
            .map(|path| path.trim_end_matches("/report.tsv").rsplit('/').next().unwrap_or(path).to_owned());
        let is_shifted = version(&row.version).is_some_and(|version| version >= SHIFTED_SINCE);
        if is_shifted && document.quirks.is_empty() {
            document.quirks.push(Quirk::ShiftedColumns);
        }
        document.measurements.push(Measurement {
            arm: Some(arm.unwrap_or_else(|| format!("rocksdb-{}", row.version))),
            dbms: Some("rocksdb".to_owned()),
            version: Some(row.version.clone()),
            test: Some(row.test.clone()),
            work: Some(Work::rate(&OPERATIONS, rate)),
            values: values(row, is_shifted),
            line: row.line,
            ..Measurement::default()
        });
    }
    let dates =
        rows.iter().filter_map(|row| dates::of_iso(&row.cells.iter().find(|(name, _)| name == "date")?.1));
    document.measured_at_ms = dates.min();
    Ok(document)
}

/// # Errors
/// If a test has more or fewer rows than there are paths, so that nobody knows which row is whose.
fn expect_a_row_per_path(rows: &[Row], paths: usize) -> Result<(), Broken> {
    let is_last = |at: usize| rows.get(at + 1).is_none_or(|next| next.index == 0);
    let wrong = rows.iter().enumerate().find(|(at, row)| is_last(*at) && row.index + 1 != paths);
    let Some((_, row)) = wrong else { return Ok(()) };
    let why = format!(
        "{} has {} rows, but there are {paths} paths at the top, which alone tell rows of one version apart: give a row for each",
        row.test,
        row.index + 1
    );
    Err(Broken::at(row.line, why))
}

fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

fn values(row: &Row, is_shifted: bool) -> Vec<Value> {
    let unit = |name: &str| match name {
        "usec_op" | "p50" | "p99" | "p99.9" | "p99.99" | "pmax" => "us",
        "ops_sec" => "1/s",
        "mb_sec" | "c_mbps" => "MB/s",
        "lsm_sz" | "blob_sz" | "c_wgb" | "b_rgb" | "b_wgb" => "GB",
        "c_wsecs" | "c_csecs" | "uptime" => "s",
        "stall%" => "%",
        "u_cpu" | "s_cpu" => "1000 s",
        _ => "",
    };
    let figures = row.cells.iter().filter(|(name, text)| {
        !text.is_empty() && !["test", "date", "version", "job_id", "githash"].contains(&name.as_str())
    });
    let value = |(name, text): &(String, String)| {
        let mut value = Value::number(name.clone(), unit(name), text.trim_end_matches("GB"), row.line);
        value.published = Some(text.clone());
        // The seconds of compaction stand under the CPU seconds, which are lost.
        if is_shifted && SHIFTED.contains(&name.as_str()) {
            value.value = match name.as_str() {
                "c_wsecs" => cell(row, "c_csecs"),
                _ => None,
            };
        }
        value
    };
    figures.map(value).collect()
}

fn cell(row: &Row, name: &str) -> Option<f64> {
    number(&row.cells.iter().find(|(column, _)| column == name)?.1)
}

/// What db_bench prints of its data and its host before results: `Values:     400 bytes each (…)`.
fn setting(line: &str, at: u32) -> Option<Value> {
    let (key, rest) = line.split_once(':')?;
    let first = rest.split_whitespace().next()?;
    let name = match key {
        "CPU" => return Some(Value::words("cpu", rest.trim(), at)),
        "Keys" => "key_bytes",
        "Values" => "value_bytes",
        "Entries" => "entries",
        "Compression" => "compression",
        _ => return None,
    };
    Some(Value::words(name, first, at))
}

/// Whether a line without its end is a whole result: `…; 32.0 MB/s (63 of 100 found)`.
fn is_whole_result(line: &str) -> bool {
    let rest = line.rsplit_once(';').filter(|_| line.contains("micros/op"));
    rest.is_some_and(|(_, rest)| ["MB/s", ")"].iter().any(|end| rest.trim_end().ends_with(end)))
}

/// `readrandom   :       3.456 micros/op 289351 ops/sec 10.000 seconds 2893511 operations;   32.0 MB/s`
pub fn parse_log(input: impl Read) -> Result<Document, Broken> {
    let mut lines = Lines::new(input);
    let mut document = Document { tool: Some("db_bench".to_owned()), ..Document::default() };
    let (mut release, mut threads): (Option<String>, Option<u32>) = (None, None);
    let mut settings: Vec<Value> = Vec::new();
    while let Some((at, line, has_end)) = lines.next_with_end()? {
        if !(has_end || line.trim().is_empty() || is_whole_result(line)) {
            return Err(Broken::cut_off(at));
        }
        if let Some(setting) = setting(line, at) {
            settings.retain(|known| known.name != setting.name);
            settings.push(setting);
            continue;
        }
        if let Some(date) = line.strip_prefix("Date:") {
            document.measured_at_ms = document.measured_at_ms.or_else(|| dates::of_date_command(date));
            continue;
        }
        if let Some(rest) = line.strip_prefix("RocksDB:") {
            release = rest.trim().strip_prefix("version ").map(str::to_owned);
            continue;
        }
        if let Some(rest) = line.split("--threads=").nth(1) {
            threads = rest.split_whitespace().next().and_then(|n| n.parse().ok());
        }
        let Some((test, rest)) = line.split_once(" : ").filter(|(_, rest)| rest.contains("micros/op")) else {
            continue;
        };
        // `ops/sec;` until 7, and `operations;`.
        if !rest.contains(';') {
            return Err(Broken::cut_off(at));
        }
        let words: Vec<&str> = rest.split_whitespace().collect();
        let text = |unit: &str| {
            let at = words.iter().position(|word| word.trim_end_matches(';') == unit)?;
            words.get(at.checked_sub(1)?).copied()
        };
        let before = |unit: &str| text(unit).and_then(Printed::of);
        let rate = before("ops/sec").ok_or_else(|| Broken::at(at, format!("no ops/sec in {rest:?}")))?;
        let work = match (before("seconds"), before("operations")) {
            (Some(seconds), Some(operations)) if seconds.value > 0.0 => {
                let us = ((seconds.value * 1e6) as u64).max(1);
                // Both are rounded: the time of a short run more than the rate.
                let is_exact = rate.half * seconds.value < seconds.half * rate.value;
                let done = if is_exact { rate.value * us as f64 / 1e6 } else { operations.value };
                let work = Work::in_time(&OPERATIONS, done, us);
                Work { ended_by: EndedBy::Time, events: Some(operations.value as u64), ..work }
            }
            // A long compaction is 0 operations per second, rounded.
            _ if rate.value == 0.0 => continue,
            _ => Work::rate(&OPERATIONS, rate.value),
        };
        let figures =
            [("usec_op", "us", "micros/op"), ("ops_sec", "1/s", "ops/sec"), ("mb_sec", "MB/s", "MB/s")];
        let figures = figures.into_iter().filter_map(|(name, unit, word)| {
            before(word)?;
            Some(Value::number(name, unit, text(word)?, at))
        });
        document.measurements.push(Measurement {
            dbms: Some("rocksdb".to_owned()),
            version: release.clone(),
            test: Some(test.trim().to_owned()),
            clients: threads,
            work: Some(work),
            values: figures.chain(settings.iter().cloned()).collect(),
            line: at,
            ..Measurement::default()
        });
    }
    if document.measurements.is_empty() {
        return Err(Broken::at(lines.number().max(1), "no result of db_bench in it: the file is cut off"));
    }
    Ok(document)
}
