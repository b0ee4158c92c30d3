//! Tables whose cells are quotients of another table's: HammerDB's CSVs, joined counters, and counters of one process.

use std::path::Path;

use super::base::{Base, Ratio};
use super::{Checked, Computed, Place, Raw, Reading, only_source, read};
use crate::error::Result;
use crate::formats::hammerdb::{CsvRow, parse_rows};
use crate::formats::joined::parse as parse_joined;
use crate::formats::perf_stat::{Counter, parse_counters};
use crate::formats::{Format, joined::JoinedRow};
use crate::model::{Quirk, number};
use crate::printf::fixed;

/// A counter, and how the author of the tables spells it.
const MIGRATIONS: &str = "migrations";
const MIGRATONS: &str = "migratons";

/// Ratios of new orders per minute, to the first arm.
pub(super) fn hammerdb(path: &Path, raws: &[Raw], reading: Reading) -> Result<Checked> {
    let table = read(path, parse_rows)?;
    let rows = only_source(raws, Format::HammerdbCsv, path, "the CSV of absolute rates")?.read(parse_rows)?;
    let mut checked = Checked::default();
    let nopm = |arm: &str| {
        let row = rows.iter().find(|one| one.arm == arm)?;
        Some(Computed::exact(row.cell.clone()))
    };
    // Tables leave base out, or have it as 1.
    let base = rows.first().map_or("", |row| row.arm.as_str());
    let (of_base, others): (Vec<&CsvRow>, Vec<&CsvRow>) = table.iter().partition(|row| row.arm == base);
    for row in of_base {
        let place = Place { line: row.line, row: &row.arm, column: "ratio" };
        checked.add(place, &row.cell, Some(&Computed::exact(fixed(1.0, 3))), reading);
    }
    let ratio = |row: &&CsvRow| Ratio {
        line: row.line,
        row: row.arm.clone(),
        column: "ratio".to_owned(),
        cell: row.cell.clone(),
        own: nopm(&row.arm),
    };
    let ratios: Vec<Ratio> = others.iter().map(ratio).collect();
    let line = ratios.first().map_or(1, |first| first.line);
    let place = Place { line, row: base, column: "NOPM" };
    let figure = Base { place, figure: nopm(base), of_source: None, is_in_table: false };
    let quotient = |own: &Computed, base: &Computed| {
        Some(Computed::exact(fixed(number(&own.published)? / number(&base.published)?, 3)))
    };
    checked.add_ratios(figure, &ratios, &quotient, reading);
    checked.expect(rows.iter().map(|row| row.arm.as_str()), |arm| {
        arm == base || table.iter().any(|row| row.arm == arm)
    });
    Ok(checked)
}

/// Quotients of joined counters, to the first column; columns stay in their order.
pub(super) fn joined(path: &Path, raws: &[Raw], reading: Reading) -> Result<Checked> {
    let table = read(path, parse_joined)?;
    let raw = only_source(raws, Format::JoinedCounters, path, "joined absolute counters")?;
    let rows = raw.read(parse_joined)?;
    let mut checked = Checked::default();
    for row in &table {
        let own: Option<&JoinedRow> = rows.iter().find(|one| one.name == row.name);
        let count = |index: usize| own?.cells.get(index).cloned().map(Computed::exact);
        let ratio = |(index, cell): (usize, &String)| Ratio {
            line: row.line,
            row: row.name.clone(),
            column: index.to_string(),
            cell: cell.clone(),
            own: count(index),
        };
        let ratios: Vec<Ratio> = (1..).zip(&row.cells).map(ratio).collect();
        let place = Place { line: row.line, row: &row.name, column: "base" };
        let base = Base { place, figure: count(0), of_source: None, is_in_table: false };
        checked.add_ratios(base, &ratios, &quotient_of_counts, reading);
    }
    checked.expect(rows.iter().map(|row| row.name.as_str()), |name| table.iter().any(|row| row.name == name));
    let columns = |rows: &[JoinedRow]| rows.first().map_or(0, |row| row.cells.len());
    let lacking: Vec<String> =
        (columns(&table) + 1..columns(&rows)).map(|column| format!("column {column}")).collect();
    checked.expect(lacking.iter().map(String::as_str), |_| false);
    Ok(checked)
}

fn quotient_of_counts(own: &Computed, base: &Computed) -> Option<Computed> {
    let (value, base): (f64, f64) = (own.published.parse().ok()?, base.published.parse().ok()?);
    let published = if base == 0.0 { "INF".to_owned() } else { fixed(value / base, 3) };
    // Counters that the host does not have are -1, so their ratio is 1.
    let truth = (base < 0.0 || value < 0.0).then_some(("NA".to_owned(), Quirk::MinusOne));
    Some(Computed { published, truth })
}

/// `NAME TAB COUNT` of one process, and ratios that perf computes.
pub(super) fn counters(path: &Path, raws: &[Raw], reading: Reading) -> Result<Checked> {
    let table = read(path, parse_joined)?;
    let raw = only_source(raws, Format::PerfStat, path, "output of perf stat")?;
    let (counters, _) = raw.read(parse_counters)?;
    let mut checked = Checked::default();
    for row in &table {
        let computed = value(&counters, &row.name);
        let place = Place { line: row.line, row: &row.name, column: "count" };
        let cell = row.cells.first().map_or("", String::as_str);
        checked.add(place, cell, computed.as_ref(), reading);
    }
    let expected: Vec<String> = counters.iter().flat_map(rows_of).collect();
    checked.expect(expected.iter().map(String::as_str), |name| table.iter().any(|row| row.name == name));
    Ok(checked)
}

/// The rows that a table has of a counter.
fn rows_of(counter: &Counter) -> Vec<String> {
    let percent = |name: &str| counter.comment.contains('%').then(|| format!("{name}-pct"));
    let (row, derived) = match counter.name.as_str() {
        // The time of the process, not an event.
        "cpu-clock" | "task-clock" => return Vec::new(),
        MIGRATIONS => (MIGRATONS, None),
        "cycles" => ("cycles", (!counter.comment.is_empty()).then(|| "GHz".to_owned())),
        "instructions" => ("instructions", (!counter.comment.is_empty()).then(|| "ipc".to_owned())),
        name => {
            let stem = name.strip_suffix("-misses").map(|stem| stem.replace("loads", "load") + "-miss");
            (name, stem.as_deref().and_then(percent))
        }
    };
    std::iter::once(row.to_owned()).chain(derived).collect()
}

fn value(counters: &[Counter], name: &str) -> Option<Computed> {
    let of = |name: &str| counters.iter().find(|counter| counter.name == name);
    let first = |counter: &Counter| {
        counter.comment.split_whitespace().next().map(|word| word.trim_end_matches('%').to_owned())
    };
    let derived = match name {
        "GHz" => of("cycles").and_then(first),
        "ipc" => of("instructions").and_then(first),
        MIGRATONS => return of(MIGRATIONS).map(|counter| Computed::exact(counter.text.clone())),
        name => match name.strip_suffix("-pct") {
            Some(stem) => {
                // `branch-miss-pct` stands beside `branch-misses`.
                let name = |counter: &Counter| counter.name.replace("loads-", "load-");
                let is_of =
                    |counter: &&Counter| name(counter).starts_with(stem) && counter.comment.contains('%');
                counters.iter().find(is_of).and_then(first)
            }
            None => None,
        },
    };
    if let Some(derived) = derived {
        return Some(Computed::exact(derived));
    }
    let counter = of(name)?;
    let truth = counter.count.is_none().then_some(("NA".to_owned(), Quirk::MinusOne));
    Some(Computed { published: counter.text.clone(), truth })
}
