//! CSV with a header row; a missing value is an empty field.

use std::io::Write;

use crate::table::Table;
use crate::write::{Row, Rows, json};
use rqps_store::Cell;

pub(crate) struct Csv<W: Write> {
    writer: csv::Writer<W>,
    table: &'static Table,
    has_header: bool,
}

impl<W: Write> Csv<W> {
    pub fn new(table: &'static Table, out: W) -> Self {
        Self { writer: csv::Writer::from_writer(out), table, has_header: false }
    }

    fn header(&mut self) -> std::io::Result<()> {
        if !self.has_header {
            self.has_header = true;
            self.writer
                .write_record(self.table.columns.iter().map(|column| column.name))
                .map_err(system_error)?;
        }
        Ok(())
    }
}

impl<W: Write> Rows for Csv<W> {
    fn put(&mut self, row: &Row) -> std::io::Result<()> {
        self.header()?;
        for (column, cell) in self.table.columns.iter().zip(&**row) {
            match cell {
                Cell::Null => self.writer.write_field(""),
                Cell::Text(text) => self.writer.write_field(text),
                cell => self.writer.write_field(json(column, cell).to_string()),
            }
            .map_err(system_error)?;
        }
        self.writer.write_record(None::<&[u8]>).map_err(system_error)
    }

    fn finish(mut self: Box<Self>) -> std::io::Result<()> {
        self.header()?;
        self.writer.flush()
    }
}

/// The system error behind a CSV error, so that a closed pipe and a full disk are reported as such.
fn system_error(error: csv::Error) -> std::io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => std::io::Error::other(format!("{other:?}")),
    }
}
