//! Tables and their columns, parsed from docs/EXPORT.md.
//!
//! The document's section Tables is the only description: names, order, types and nullability of columns come
//! from it, and each row is checked against it.

use std::sync::LazyLock;

use rqps_store::Cell;

use crate::error::{Error, Result};
use rqps_model::did_you_mean;

const DOCUMENT: &str = include_str!("../../../docs/EXPORT.md");
/// What follows the type of a column that may be null.
const NULLABLE: &str = " or null";
/// How a table refers to the columns that all observations have.
const OBSERVED: &str = "Columns of every observation, then:";

/// All tables, in the document's order: what was compared, conclusions, measurements, events.
pub static ALL: LazyLock<Vec<Table>> = LazyLock::new(|| {
    let mut sections = schema().split("\n**");
    let mut common = || sections.next().map(Column::all).unwrap_or_default();
    let (of_tables, of_observations) = (common(), common());
    sections.filter_map(|section| Table::parse(section, &of_tables, &of_observations)).collect()
});

/// The document's section Tables: every table with its columns, in Markdown.
pub fn schema() -> &'static str {
    let (_, rest) = DOCUMENT.split_once("\n## Tables\n\n").unwrap_or_default();
    rest.split("\n## ").next().unwrap_or_default()
}

/// # Errors
/// If no table has this name.
pub fn table(name: &str) -> Result<&'static Table> {
    ALL.iter().find(|table| table.name == name).ok_or_else(|| {
        let known: Vec<&str> = ALL.iter().map(|table| table.name).collect();
        let remedy = did_you_mean(name, known.iter().copied());
        let remedy = remedy.unwrap_or_else(|| format!("The tables are: {}.", known.join(", ")));
        Error::UnknownTable { name: name.to_owned(), remedy }
    })
}

#[derive(Debug)]
pub struct Table {
    /// Also the name of its files.
    pub name: &'static str,
    /// The columns that identify a row.
    pub key: Vec<&'static str>,
    pub columns: Vec<Column>,
}

impl Table {
    /// Parses "`name`**: … Key: `run`, `seq`." and its columns, which follow those of all tables and, if the
    /// table refers to them, those of all observations.
    fn parse(section: &'static str, of_tables: &[Column], of_observations: &[Column]) -> Option<Self> {
        let (name, rest) = section.strip_prefix('`')?.split_once("`**: ")?;
        let (about, _) = rest.split_once("\n- ")?;
        let (key, reference) = about.split_once(" Key: ")?.1.split_once('.')?;
        let of_observations: &[Column] = match reference.trim() {
            "" => &[],
            OBSERVED => of_observations,
            _ => return None,
        };
        let key = key.split(',').map(|column| column.trim().trim_matches('`')).collect();
        Some(Self { name, key, columns: [of_tables, of_observations, &Column::all(rest)].concat() })
    }

    /// Builds a row from the run's name and the remaining cells, and checks it against the description.
    pub(crate) fn row(&'static self, run: &str, cells: Vec<Cell>) -> Result<Vec<Cell>> {
        let misfit = |column: &str| Error::Misfit { table: self.name, column: column.to_owned() };
        if cells.len() + 1 != self.columns.len() {
            return Err(misfit("in all"));
        }
        let cells = [Cell::Text(run.to_owned())].into_iter().chain(cells);
        let checked = |(column, cell): (&Column, Cell)| column.cell(cell).ok_or_else(|| misfit(column.name));
        self.columns.iter().zip(cells).map(checked).collect()
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Column {
    pub name: &'static str,
    pub kind: Kind,
    /// Whether a value may be missing.
    pub nullable: bool,
}

rqps_model::words! {
    Kind {
        /// UTF-8.
        Text = "VARCHAR",
        /// 64-bit signed.
        Integer = "BIGINT",
        /// 64-bit.
        Real = "DOUBLE",
        /// Stored in the database as 1 or 0.
        Bool = "BOOLEAN",
        /// UTC with millisecond precision, stored in the database as ISO 8601.
        Time = "TIMESTAMP WITH TIME ZONE",
    }
}

impl Column {
    fn all(section: &'static str) -> Vec<Self> {
        section.lines().filter_map(Self::parse).flatten().collect()
    }

    /// Parses a line like "- `low`, `high` DOUBLE or null: …"; None for other lines.
    fn parse(line: &'static str) -> Option<impl Iterator<Item = Self>> {
        let (names, rest) = line.strip_prefix("- `")?.split_once("` ")?;
        let (kind, _) = rest.split_once(": ")?;
        let (kind, nullable) = kind.strip_suffix(NULLABLE).map_or((kind, false), |kind| (kind, true));
        let kind = kind.parse().ok()?;
        Some(names.split("`, `").map(move |name| Self { name, kind, nullable }))
    }

    /// Converts a value to the column's type; None if it does not fit. NaN and infinities become null.
    fn cell(&self, cell: Cell) -> Option<Cell> {
        let cell = match (self.kind, cell) {
            (Kind::Real, Cell::Integer(integer)) => Cell::Real(integer as f64),
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
