//! CSV: the names first; a missing value is an empty field.

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
                .map_err(of_system)?;
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
            .map_err(of_system)?;
        }
        self.writer.write_record(None::<&[u8]>).map_err(of_system)
    }

    fn finish(mut self: Box<Self>) -> std::io::Result<()> {
        self.header()?;
        self.writer.flush()
    }
}

/// What the system said, where it is behind the error: a closed pipe and a full disk are told as such.
fn of_system(error: csv::Error) -> std::io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => std::io::Error::other(format!("{other:?}")),
    }
}
