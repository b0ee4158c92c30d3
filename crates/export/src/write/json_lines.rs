//! JSON Lines: one object per line with every column; a missing value is null.

use std::io::Write;

use crate::table::Table;
use crate::write::{Row, Rows, json};

pub(crate) struct JsonLines<W: Write> {
    out: std::io::BufWriter<W>,
    table: &'static Table,
}

impl<W: Write> JsonLines<W> {
    pub fn new(table: &'static Table, out: W) -> Self {
        Self { out: std::io::BufWriter::new(out), table }
    }
}

impl<W: Write> Rows for JsonLines<W> {
    fn put(&mut self, row: &Row) -> std::io::Result<()> {
        let mut separator = '{';
        for (column, cell) in self.table.columns.iter().zip(&**row) {
            write!(self.out, "{separator}\"{}\":", column.name)?;
            serde_json::to_writer(&mut self.out, &json(column, cell))?;
            separator = ',';
        }
        self.out.write_all(b"}\n")
    }

    fn finish(mut self: Box<Self>) -> std::io::Result<()> {
        self.out.flush()
    }
}
