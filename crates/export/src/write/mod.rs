//! Writers of a table's rows, one per file format.

mod csv;
mod json_lines;
mod parquet;

use std::io::Write;
use std::rc::Rc;

use crate::error::{Error, Result};
use crate::format::Format;
use crate::table::{Column, Kind, Table};
use rqps_store::Cell;

/// A row that matches its table's description, shared between writers.
pub(crate) type Row = Rc<[Cell]>;

/// Writes the rows of a table. A full disk or a closed pipe is an I/O error.
pub(crate) trait Rows {
    fn put(&mut self, row: &Row) -> std::io::Result<()>;
    /// Writes buffered rows.
    fn finish(self: Box<Self>) -> std::io::Result<()>;
}

/// A writer of text.
///
/// # Errors
/// If the format is binary.
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

fn json(column: &Column, cell: &Cell) -> serde_json::Value {
    match cell {
        Cell::Integer(integer) if column.kind == Kind::Bool => (*integer != 0).into(),
        Cell::Integer(integer) => (*integer).into(),
        Cell::Real(real) => (*real).into(),
        Cell::Text(text) => text.as_str().into(),
        Cell::Null | Cell::Blob(_) => serde_json::Value::Null,
    }
}
