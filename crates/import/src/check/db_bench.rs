//! Tables of db_bench, absolute and relative, from rows by test and version. The digits say which a table is: file
//! names have meant either.

use std::path::Path;

use super::base::{Base, Ratio, other_base};
use super::{Checked, Computed, OtherBase, Place, Raw, Reading, only_source, read};
use crate::error::Result;
use crate::formats::arms_table::ArmsTable;
use crate::formats::db_bench::{Row, is_preparation, parse_rows};
use crate::formats::{Format, arms_table};
use crate::model::number;
use crate::printf::fixed;

pub(super) fn check(path: &Path, raws: &[Raw], reading: Reading) -> Result<Checked> {
    let table = read(path, arms_table::parse)?;
    let raw = only_source(raws, Format::DbBench, path, "rows of db_bench (sum.*.txt)")?;
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
        for (index, (cell, column)) in row.cells.iter().zip(&table.columns).enumerate() {
            let place = Place { line: row.line, row: &row.name, column };
            checked.add(place, cell, rate(rows, &row.name, (&table.columns, index)).as_ref(), reading);
        }
    }
}

/// Ratios to the first version, which has `1.00` itself, or to another one that most of them fit.
fn ratios(table: &ArmsTable, rows: &[Row], reading: Reading, checked: &mut Checked) {
    let columns = &table.columns;
    let other = base_that_fits(table, rows);
    if let Some(fitting) = other {
        checked.relative_to =
            Some(OtherBase { fitting: columns[fitting].clone(), named: columns[0].clone() });
    }
    let base = other.unwrap_or(0);
    for row in &table.rows {
        let figure = rate(rows, &row.name, (columns, base));
        let ratio = |(index, cell): (usize, &String)| Ratio {
            line: row.line,
            row: row.name.clone(),
            column: columns[index].clone(),
            cell: cell.clone(),
            own: rate(rows, &row.name, (columns, index)),
        };
        let all = row.cells.iter().enumerate().take(columns.len());
        let (of_base, others): (Vec<_>, Vec<_>) =
            all.map(ratio).enumerate().partition(|(index, _)| *index == base);
        for (_, one) in of_base {
            let place = Place { line: row.line, row: &row.name, column: &columns[base] };
            let computed = figure.as_ref().map(|_| Computed::exact("1.00".to_owned()));
            checked.add(place, &one.cell, computed.as_ref(), reading);
        }
        let others: Vec<Ratio> = others.into_iter().map(|(_, one)| one).collect();
        let name = format!("rate of {}", row.name);
        let place = Place { line: row.line, row: &name, column: &columns[base] };
        let base = Base { place, figure, of_source: None, is_in_table: false };
        checked.add_ratios(base, &others, &quotient, reading);
    }
}

/// The column that the ratios of all rows are relative to, if it is not the first.
fn base_that_fits(table: &ArmsTable, rows: &[Row]) -> Option<usize> {
    let columns = &table.columns;
    let rates: Vec<Vec<Option<Computed>>> = table
        .rows
        .iter()
        .map(|row| (0..columns.len()).map(|index| rate(rows, &row.name, (columns, index))).collect())
        .collect();
    let bases: Vec<usize> = (0..columns.len()).collect();
    let equal_as = |base: usize, exchanged: usize| -> usize {
        let of_row = |(row, rates): (&arms_table::Row, &Vec<Option<Computed>>)| {
            let own = |index: usize| match index {
                0 => exchanged,
                index if index == exchanged => 0,
                index => index,
            };
            let ratio = |index: usize| quotient(rates[own(index)].as_ref()?, rates[base].as_ref()?);
            let is_equal = |(index, cell): &(usize, &String)| {
                ratio(*index).is_some_and(|ratio| ratio.published == **cell)
            };
            row.cells.iter().enumerate().take(columns.len()).filter(is_equal).count()
        };
        table.rows.iter().zip(&rates).map(of_row).sum()
    };
    // If its header is exchanged with that of the first column, these two have each other's cells.
    let equal = |base: usize| equal_as(base, 0).max(equal_as(base, base));
    other_base(&bases, 0, rates.iter().flatten().flatten().count(), equal)
}

/// The rate of a test in the column of this number: of its version, and of as many columns of that version before it.
fn rate(rows: &[Row], test: &str, (columns, index): (&[String], usize)) -> Option<Computed> {
    let version = columns.get(index)?;
    let before = columns[..index].iter().filter(|column| *column == version).count();
    let row = rows.iter().filter(|one| one.test == test && one.version == *version).nth(before)?;
    Some(Computed::exact(row.rate.clone()))
}

fn quotient(own: &Computed, base: &Computed) -> Option<Computed> {
    Some(Computed::exact(fixed(number(&own.published)? / number(&base.published)?, 2)))
}
