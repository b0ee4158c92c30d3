//! Tables of db_bench, absolute and relative, from rows by test and version. The digits say which a table is: file
//! names have meant either.

use std::path::Path;

use super::{Checked, Computed, Place, Raw, Reading, read};
use crate::error::{Error, Result};
use crate::formats::db_bench::{Row, parse_rows};
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
    let is_relative = table.rows.iter().all(|row| row.cells.first().is_some_and(|cell| cell == "1.00"));
    let mut checked = Checked::default();
    for row in &table.rows {
        let of_test: Vec<&Row> = rows.iter().filter(|one| one.test == row.name).collect();
        for (index, cell) in row.cells.iter().enumerate() {
            let version = table.columns.get(index).map_or("", String::as_str);
            let own = of_test.get(index).filter(|one| one.version == version);
            let computed = own.and_then(|own| match is_relative {
                false => Some(own.rate.clone()),
                true if index == 0 => Some("1.00".to_owned()),
                true => Some(fixed(number(&own.rate)? / number(&of_test.first()?.rate)?, 2)),
            });
            let place = Place { line: row.line, row: &row.name, column: version };
            checked.add(place, cell, computed.map(Computed::exact).as_ref(), reading);
        }
    }
    checked.expect(rows.iter().map(|row| row.test.as_str()), |test| {
        table.rows.iter().any(|row| row.name == test)
    });
    checked.expect(rows.iter().map(|row| row.version.as_str()), |version| {
        table.columns.iter().any(|one| one == version)
    });
    Ok(checked)
}
