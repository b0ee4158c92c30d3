//! CSV: the names first; a missing value is an empty field.

use std::io::Write;

use crate::table::Table;
use crate::value::Value;
use crate::write::{Rows, utc};

pub(crate) struct Csv<W: Write> {
    writer: csv::Writer<W>,
    table: &'static Table,
    has_header: bool,
    number: Vec<u8>,
}

impl<W: Write> Csv<W> {
    pub fn new(table: &'static Table, out: W) -> Self {
        Self { writer: csv::Writer::from_writer(out), table, has_header: false, number: Vec::new() }
    }

    fn header(&mut self) -> std::io::Result<()> {
        if !self.has_header {
            self.has_header = true;
            self.writer.write_record(self.table.columns().map(|column| column.name)).map_err(of_system)?;
        }
        Ok(())
    }
}

impl<W: Write> Rows for Csv<W> {
    fn put(&mut self, row: &[Value<'_>]) -> std::io::Result<()> {
        self.header()?;
        for value in row {
            self.number.clear();
            match value {
                Value::Null => {}
                Value::Text(text) => {
                    self.writer.write_field(text.as_bytes()).map_err(of_system)?;
                    continue;
                }
                Value::Integer(integer) => serde_json::to_writer(&mut self.number, integer)?,
                Value::Real(real) => serde_json::to_writer(&mut self.number, real)?,
                Value::Bool(bool) => serde_json::to_writer(&mut self.number, bool)?,
                Value::Time(at_ms) => self.number.extend(utc(*at_ms).bytes()),
            }
            self.writer.write_field(&self.number).map_err(of_system)?;
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
