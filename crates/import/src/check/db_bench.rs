//! Tables of db_bench, absolute and relative, from rows by test and version. The digits say which a table is: file
//! names have meant either.

use std::path::Path;

use super::base::{Base, Ratio};
use super::{Checked, Computed, Place, Raw, Reading, read};
use crate::error::{Error, Result};
use crate::formats::arms_table::ArmsTable;
use crate::formats::db_bench::{Row, is_preparation, parse_rows};
use crate::formats::{Format, arms_table};
use crate::model::number;
use crate::printf::fixed;

pub(super) fn check(path: &Path, raws: &[Raw], reading: Reading) -> Result<Checked> {
    let table = read(path, arms_table::parse)?;
    let raw = raws.iter().find(|raw| raw.format == Format::DbBench).ok_or_else(|| Error::Missing {
        what: "rows of db_bench".to_owned(),
        remedy: "give the sum.*.txt that the table was made of".to_owned(),
    })?;
    let (_, rows) = raw.read(parse_rows)?;
    let [rates, ratios] = [rates, ratios].map(|cells| {
        let mut checked = Checked::default();
        cells(&table, &rows, reading, &mut checked);
        checked
    });
    let mut checked = if ratios.equal > rates.equal { ratios } else { rates };
    checked.expect(rows.iter().map(|row| row.test.as_str()), |test| {
        is_preparation(test) || table.rows.iter().any(|row| row.name == test)
    });
    checked.expect(rows.iter().map(|row| row.version.as_str()), |version| {
        table.columns.iter().any(|one| one == version)
    });
    Ok(checked)
}

fn rates(table: &ArmsTable, rows: &[Row], reading: Reading, checked: &mut Checked) {
    for row in &table.rows {
        for (index, cell) in row.cells.iter().enumerate() {
            let column = table.columns.get(index).map_or("", String::as_str);
            let place = Place { line: row.line, row: &row.name, column };
            checked.add(place, cell, rate(rows, &row.name, index, column).as_ref(), reading);
        }
    }
}

/// Ratios to the first version, which has `1.00` itself.
fn ratios(table: &ArmsTable, rows: &[Row], reading: Reading, checked: &mut Checked) {
    for row in &table.rows {
        let [first, others @ ..] = &row.cells[..] else { continue };
        let column = |index: usize| table.columns.get(index).map_or("", String::as_str);
        let place = Place { line: row.line, row: &row.name, column: column(0) };
        let figure = rate(rows, &row.name, 0, column(0));
        checked.add(
            place,
            first,
            figure.as_ref().map(|_| Computed::exact("1.00".to_owned())).as_ref(),
            reading,
        );
        let ratio = |(index, cell): (usize, &String)| Ratio {
            line: row.line,
            row: row.name.clone(),
            column: column(index).to_owned(),
            cell: cell.clone(),
            own: rate(rows, &row.name, index, column(index)),
        };
        let ratios: Vec<Ratio> = (1..).zip(others).map(ratio).collect();
        let name = format!("rate of {}", row.name);
        let place = Place { line: row.line, row: &name, column: column(0) };
        let base = Base { place, figure, of_source: None, is_in_table: false };
        checked.add_ratios(base, &ratios, &quotient, reading);
    }
}

/// The rate of a test in the column of this number.
fn rate(rows: &[Row], test: &str, index: usize, version: &str) -> Option<Computed> {
    let row = rows.iter().filter(|one| one.test == test).nth(index)?;
    (row.version == version).then(|| Computed::exact(row.rate.clone()))
}

fn quotient(own: &Computed, base: &Computed) -> Option<Computed> {
    Some(Computed::exact(fixed(number(&own.published)? / number(&base.published)?, 2)))
}
