//! Tables whose cells are quotients of another table's: HammerDB's CSVs, joined counters, and counters of one process.

use std::path::Path;

use super::{Checked, Computed, Place, Raw, Reading, read};
use crate::error::{Error, Result};
use crate::formats::hammerdb::parse_rows;
use crate::formats::joined::parse as parse_joined;
use crate::formats::perf_stat::{Counter, parse_counters};
use crate::formats::{Format, joined::JoinedRow};
use crate::model::{Quirk, number};
use crate::printf::fixed;

fn missing(what: &str) -> Error {
    Error::Missing { what: what.to_owned(), remedy: "give the file that the table was made of".to_owned() }
}

/// Ratios of new orders per minute, to the first arm.
pub(super) fn hammerdb(path: &Path, raws: &[Raw], reading: Reading) -> Result<Checked> {
    let table = read(path, parse_rows)?;
    let raw = raws.iter().find(|raw| raw.format == Format::HammerdbCsv && raw.path != path);
    let rows = raw.ok_or_else(|| missing("the CSV of absolute rates"))?.read(parse_rows)?;
    let mut checked = Checked::default();
    for row in &table {
        let own = rows.iter().find(|one| one.arm == row.arm);
        let computed = own.and_then(|own| Some(fixed(number(&own.cell)? / number(&rows.first()?.cell)?, 3)));
        let place = Place { line: row.line, row: &row.arm, column: "ratio" };
        checked.add(place, &row.cell, computed.map(Computed::exact).as_ref(), reading);
    }
    // Tables leave base out, or have it as 1.
    let base = rows.first().map_or("", |row| row.arm.as_str());
    checked.expect(rows.iter().map(|row| row.arm.as_str()), |arm| {
        arm == base || table.iter().any(|row| row.arm == arm)
    });
    Ok(checked)
}

/// Quotients of joined counters, to the first column; columns stay in their order.
pub(super) fn joined(path: &Path, raws: &[Raw], reading: Reading) -> Result<Checked> {
    let table = read(path, parse_joined)?;
    let raw = raws.iter().find(|raw| raw.format == Format::JoinedCounters && raw.path != path);
    let rows = raw.ok_or_else(|| missing("the joined file of absolute counters"))?.read(parse_joined)?;
    let mut checked = Checked::default();
    for row in &table {
        let own: Option<&JoinedRow> = rows.iter().find(|one| one.name == row.name);
        for (index, cell) in row.cells.iter().enumerate() {
            let quotient = |own: &JoinedRow| {
                let (base, value): (f64, f64) =
                    (own.cells.first()?.parse().ok()?, own.cells.get(index + 1)?.parse().ok()?);
                let published = if base == 0.0 { "INF".to_owned() } else { fixed(value / base, 3) };
                // Counters that the host does not have are -1, so their ratio is 1.
                let truth = (base < 0.0 || value < 0.0).then_some(("NA".to_owned(), Quirk::MinusOne));
                Some(Computed { published, truth })
            };
            let column = format!("{}", index + 1);
            let place = Place { line: row.line, row: &row.name, column: &column };
            checked.add(place, cell, own.and_then(quotient).as_ref(), reading);
        }
    }
    checked.expect(rows.iter().map(|row| row.name.as_str()), |name| table.iter().any(|row| row.name == name));
    Ok(checked)
}

/// `NAME TAB COUNT` of one process, and ratios that perf computes.
pub(super) fn counters(path: &Path, raws: &[Raw], reading: Reading) -> Result<Checked> {
    let table = read(path, parse_joined)?;
    let raw = raws
        .iter()
        .find(|raw| raw.format == Format::PerfStat)
        .ok_or_else(|| missing("output of perf stat"))?;
    let (counters, _) = raw.read(parse_counters)?;
    let mut checked = Checked::default();
    for row in &table {
        let computed = value(&counters, &row.name);
        let place = Place { line: row.line, row: &row.name, column: "count" };
        let cell = row.cells.first().map_or("", String::as_str);
        checked.add(place, cell, computed.as_ref(), reading);
    }
    Ok(checked)
}

fn value(counters: &[Counter], name: &str) -> Option<Computed> {
    let of = |name: &str| counters.iter().find(|counter| counter.name == name);
    let first = |counter: &Counter| {
        counter.comment.split_whitespace().next().map(|word| word.trim_end_matches('%').to_owned())
    };
    let derived = match name {
        "GHz" => of("cycles").and_then(first),
        "ipc" => of("instructions").and_then(first),
        // As its author spells it.
        "migratons" => return of("migrations").map(|counter| Computed::exact(counter.text.clone())),
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
