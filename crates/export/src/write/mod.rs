//! A table's rows in each of the file formats.

mod csv;
mod json_lines;
mod parquet;

use std::io::Write;

use crate::error::{Error, Result};
use crate::format::Format;
use crate::table::Table;
use crate::value::Value;

/// Takes the rows of a table. A full disk or a closed pipe is an error of the file.
pub(crate) trait Rows {
    /// Takes a row that fits the table.
    fn put(&mut self, row: &[Value<'_>]) -> std::io::Result<()>;
    /// Writes what has been kept.
    fn finish(self: Box<Self>) -> std::io::Result<()>;
}

pub(crate) fn text<'w>(
    table: &'static Table,
    format: Format,
    out: impl Write + 'w,
) -> Result<Box<dyn Rows + 'w>> {
    match format {
        Format::Csv => Ok(Box::new(csv::Csv::new(table, out))),
        Format::JsonLines => Ok(Box::new(json_lines::JsonLines::new(table, out))),
        Format::Parquet => Err(Error::NotText),
    }
}

/// A writer to a file.
pub(crate) fn file<'w>(
    table: &'static Table,
    format: Format,
    out: impl Write + Send + 'w,
) -> std::io::Result<Box<dyn Rows + 'w>> {
    Ok(match format {
        Format::Csv => Box::new(csv::Csv::new(table, out)),
        Format::JsonLines => Box::new(json_lines::JsonLines::new(table, out)),
        Format::Parquet => Box::new(parquet::Parquet::new(table, out)?),
    })
}

/// `2026-07-30T14:15:03.123Z`.
fn utc(at_ms: i64) -> String {
    let at = std::time::UNIX_EPOCH + std::time::Duration::from_millis(at_ms.max(0) as u64);
    humantime::format_rfc3339_millis(at).to_string()
}
