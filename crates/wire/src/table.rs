//! Rows of an administrative query, whatever the protocol.

use crate::Error;
use crate::error::shorten;

/// Most bytes of rows that one query may return.
pub(crate) const TABLE_BYTES_MAX: usize = 256 * 1024 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Column names, as the server gives them.
    pub columns: Vec<String>,
    /// One value per column in each row; `None` is NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Table {
    /// The first value of the first row; `None` without a row or when it is NULL.
    #[must_use]
    pub fn value(&self) -> Option<&str> {
        self.rows.first()?.first()?.as_deref()
    }

    /// [`Table::value`] as an integer; `sql` is where it came from, for the error.
    pub(crate) fn number(&self, sql: &str) -> Result<Option<i64>, Error> {
        let parse = |value: &str| {
            let wrong =
                |_| Error::Misuse(format!("{value:?} is not a 64-bit integer, from: {}", shorten(sql)));
            value.parse().map_err(wrong)
        };
        self.value().map(parse).transpose()
    }

    /// The position of the column called `name`.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }
}

/// The error for a result that is over the limit.
pub(crate) fn too_large(bytes: usize) -> Error {
    Error::Limit {
        what: format!("a result of {bytes} bytes"),
        limit: format!("{TABLE_BYTES_MAX} bytes"),
        remedy: "ask for fewer rows or columns",
    }
}
