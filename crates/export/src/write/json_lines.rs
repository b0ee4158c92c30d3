//! JSON Lines: an object a line, every column in it; a missing value is null.

use std::io::Write;

use crate::table::Table;
use crate::value::Value;
use crate::write::{Rows, utc};

pub(crate) struct JsonLines<W: Write> {
    out: std::io::BufWriter<W>,
    /// What stands before each value: `{"run":`, `,"arm":`.
    leads: Vec<String>,
}

impl<W: Write> JsonLines<W> {
    pub fn new(table: &'static Table, out: W) -> Self {
        let lead =
            |(index, name): (usize, &str)| format!("{}\"{name}\":", if index == 0 { '{' } else { ',' });
        let leads = table.columns().map(|column| column.name).enumerate().map(lead).collect();
        Self { out: std::io::BufWriter::new(out), leads }
    }
}

impl<W: Write> Rows for JsonLines<W> {
    fn put(&mut self, row: &[Value<'_>]) -> std::io::Result<()> {
        for (lead, value) in self.leads.iter().zip(row) {
            self.out.write_all(lead.as_bytes())?;
            match value {
                Value::Null => self.out.write_all(b"null")?,
                Value::Text(text) => serde_json::to_writer(&mut self.out, text)?,
                Value::Integer(integer) => serde_json::to_writer(&mut self.out, integer)?,
                Value::Real(real) => serde_json::to_writer(&mut self.out, real)?,
                Value::Bool(bool) => serde_json::to_writer(&mut self.out, bool)?,
                Value::Time(at_ms) => serde_json::to_writer(&mut self.out, &utc(*at_ms))?,
            }
        }
        self.out.write_all(b"}\n")
    }

    fn finish(mut self: Box<Self>) -> std::io::Result<()> {
        self.out.flush()
    }
}
