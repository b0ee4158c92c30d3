//! The rows of an administrative query.

use std::io;

use crate::Error;
use crate::error::shorten;

/// Limit on the bytes of rows that one query may return.
pub(crate) const TABLE_BYTES_MAX: usize = 256 * 1024 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Column names, as sent by the server.
    pub columns: Vec<String>,
    /// One value per column in each row; `None` is NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Table {
    /// The first value of the first row; `None` if there is no row or it is NULL.
    #[must_use]
    pub fn value(&self) -> Option<&str> {
        self.rows.first()?.first()?.as_deref()
    }

    /// [`Table::value`] as an integer; `sql` is the query, for the error message.
    pub(crate) fn number(&self, sql: &str) -> Result<Option<i64>, Error> {
        let parse = |value: &str| {
            let wrong =
                |_| Error::Misuse(format!("{value:?} is not a 64-bit integer, from: {}", shorten(sql)));
            value.parse().map_err(wrong)
        };
        self.value().map(parse).transpose()
    }

    /// The index of the column called `name`.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }
}

/// A table being read.
#[derive(Default)]
pub(crate) struct Answer {
    table: Table,
    bytes: usize,
}

impl Answer {
    /// Starts over with the columns of the next result.
    pub(crate) fn start(&mut self, columns: Vec<String>) {
        *self = Self { table: Table { columns, rows: Vec::new() }, bytes: 0 };
    }

    /// Adds a row of `bytes` bytes, unless the table is over the limit.
    pub(crate) fn push(
        &mut self,
        bytes: usize,
        row: impl FnOnce(usize) -> io::Result<Vec<Option<String>>>,
    ) -> io::Result<()> {
        self.bytes += bytes;
        if self.bytes <= TABLE_BYTES_MAX {
            self.table.rows.push(row(self.table.columns.len())?);
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<Table, Error> {
        if self.bytes > TABLE_BYTES_MAX {
            return Err(Error::Limit {
                what: format!("a result of {} bytes", self.bytes),
                limit: format!("{TABLE_BYTES_MAX} bytes"),
                remedy: "ask for fewer rows or columns",
            });
        }
        Ok(self.table)
    }
}
