//! What a table is: its columns, as docs/EXPORT.md describes them.
//!
//! The document's section Tables is the only description. Names, order, types and nullability of columns come from it,
//! and each row is checked against it.

use std::sync::LazyLock;

use rqps_store::Cell;

use crate::error::{Error, Result};

const DOCUMENT: &str = include_str!("../../../docs/EXPORT.md");

/// All tables, in the order of the document: what was compared, what it says, what was measured, what happened.
pub static ALL: LazyLock<Vec<Table>> = LazyLock::new(|| {
    let sections = schema().split("### ").skip(1);
    sections.filter_map(Table::parse).collect()
});

/// The document's section Tables: every table with its columns, in Markdown.
pub fn schema() -> &'static str {
    let (_, rest) = DOCUMENT.split_once("\n## Tables\n\n").unwrap_or_default();
    rest.split("\n## ").next().unwrap_or_default()
}

/// The table of that name.
///
/// # Errors
/// When there is none.
pub fn table(name: &str) -> Result<&'static Table> {
    ALL.iter().find(|table| table.name == name).ok_or_else(|| {
        let known: Vec<&str> = ALL.iter().map(|table| table.name).collect();
        Error::UnknownTable { name: name.to_owned(), known: known.join(", ") }
    })
}

/// A table of the export.
#[derive(Debug)]
pub struct Table {
    /// Its name, and that of its files.
    pub name: &'static str,
    /// The columns that tell its rows apart.
    pub key: Vec<&'static str>,
    pub columns: Vec<Column>,
}

impl Table {
    fn parse(section: &'static str) -> Option<Self> {
        let (name, rest) = section.split_once('\n')?;
        let (about, columns) = rest.split_once("\n\n|")?;
        let (_, key) = about.split_once(" Key: ")?;
        let key = key.trim_end_matches('.').split(", ").map(|column| column.trim_matches('`'));
        let columns = columns.lines().filter_map(Column::parse);
        Some(Self { name, key: key.collect(), columns: columns.collect() })
    }

    /// A row that matches the description, from the values that follow the name of the run.
    pub(crate) fn row(&'static self, run: &str, cells: Vec<Cell>) -> Result<Vec<Cell>> {
        let misfit = |column: &str| Error::Misfit { table: self.name, column: column.to_owned() };
        if cells.len() + 1 != self.columns.len() {
            return Err(misfit("in all"));
        }
        let cells = [Cell::Text(run.to_owned())].into_iter().chain(cells);
        let fitted = |(column, cell): (&Column, Cell)| column.cell(cell).ok_or_else(|| misfit(column.name));
        self.columns.iter().zip(cells).map(fitted).collect()
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Column {
    pub name: &'static str,
    /// The type of its values.
    pub kind: Kind,
    /// Whether a value may be missing.
    pub nullable: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// 64 bits, signed.
    Integer,
    /// 64 bits.
    Real,
    /// True or false; the database has 1 or 0.
    Bool,
    /// A moment, to the millisecond, in UTC; the database has it as ISO 8601.
    Time,
}

impl Kind {
    const ALL: [Kind; 5] = [Kind::Text, Kind::Integer, Kind::Real, Kind::Bool, Kind::Time];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Text => "VARCHAR",
            Kind::Integer => "BIGINT",
            Kind::Real => "DOUBLE",
            Kind::Bool => "BOOLEAN",
            Kind::Time => "TIMESTAMP WITH TIME ZONE",
        }
    }
}

impl Column {
    /// Of a line "| `seed` | VARCHAR | | yes | …"; none of other lines.
    fn parse(line: &'static str) -> Option<Self> {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let name = cells.next()?.strip_prefix('`')?.strip_suffix('`')?;
        let kind = cells.next()?;
        let kind = Kind::ALL.into_iter().find(|known| known.name() == kind)?;
        Some(Self { name, kind, nullable: cells.nth(1)? == "yes" })
    }

    /// The value in the type of the column; none if it does not fit. Infinite numbers become nulls.
    fn cell(&self, cell: Cell) -> Option<Cell> {
        let cell = match (self.kind, cell) {
            (Kind::Real, Cell::Integer(whole)) => Cell::Real(whole as f64),
            (Kind::Real, Cell::Real(real)) if !real.is_finite() => Cell::Null,
            (_, cell) => cell,
        };
        let fits = match cell {
            Cell::Null => self.nullable,
            Cell::Text(_) => matches!(self.kind, Kind::Text | Kind::Time),
            Cell::Integer(_) => matches!(self.kind, Kind::Integer | Kind::Bool),
            Cell::Real(_) => self.kind == Kind::Real,
            Cell::Blob(_) => false,
        };
        fits.then_some(cell)
    }
}
