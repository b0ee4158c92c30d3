//! What a table is: its columns as data, and where its rows come from.

use crate::error::{Error, Result};
use crate::source::Source;
use crate::value::Value;

pub(crate) type Sink<'s> = dyn FnMut(&[Value<'_>]) -> Result<()> + 's;
/// What gives the rows of one run.
pub(crate) type Fill = fn(&Source<'_>, &mut Sink<'_>) -> Result<()>;

/// A table of the export.
#[derive(Debug)]
pub struct Table {
    /// Its name, and that of its files.
    pub name: &'static str,
    pub about: &'static str,
    /// The columns that tell its rows apart.
    pub key: &'static [&'static str],
    /// Columns in their order, in two parts: those that many tables begin with, and its own.
    pub(crate) parts: [&'static [Column]; 2],
    pub(crate) fill: Fill,
}

impl Table {
    /// Its columns, in their order.
    pub fn columns(&self) -> impl Iterator<Item = &'static Column> {
        self.parts.into_iter().flatten()
    }

    /// Whether a row is as described.
    pub(crate) fn check(&'static self, row: &[Value<'_>]) -> Result<()> {
        let misfit = |column: &str| Error::Misfit { table: self.name, column: column.to_owned() };
        let mut values = row.iter();
        for column in self.columns() {
            if !values.next().is_some_and(|value| column.fits(value)) {
                return Err(misfit(column.name));
            }
        }
        if values.next().is_some() { Err(misfit("beyond the last")) } else { Ok(()) }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Column {
    pub name: &'static str,
    /// The type of its values.
    pub kind: Kind,
    /// Their unit; empty where there is none.
    pub unit: &'static str,
    /// Whether a value may be missing.
    pub nullable: bool,
    pub about: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// 64 bits, signed.
    Integer,
    /// 64 bits.
    Real,
    /// True or false.
    Bool,
    /// A moment, to the millisecond, in UTC.
    Time,
}

impl Kind {
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
    /// The same column, whose values may be missing.
    pub(crate) const fn or_null(self) -> Self {
        Self { nullable: true, ..self }
    }

    /// The same column with a unit.
    pub(crate) const fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    fn fits(&self, value: &Value<'_>) -> bool {
        match value {
            Value::Null => self.nullable,
            Value::Text(_) => self.kind == Kind::Text,
            Value::Integer(_) => self.kind == Kind::Integer,
            Value::Real(_) => self.kind == Kind::Real,
            Value::Bool(_) => self.kind == Kind::Bool,
            Value::Time(_) => self.kind == Kind::Time,
        }
    }
}

const fn column(name: &'static str, kind: Kind, about: &'static str) -> Column {
    Column { name, kind, unit: "", nullable: false, about }
}

pub(crate) const fn text(name: &'static str, about: &'static str) -> Column {
    column(name, Kind::Text, about)
}

pub(crate) const fn integer(name: &'static str, about: &'static str) -> Column {
    column(name, Kind::Integer, about)
}

/// A number that may be missing, as measured ones may.
pub(crate) const fn real(name: &'static str, unit: &'static str, about: &'static str) -> Column {
    column(name, Kind::Real, about).unit(unit).or_null()
}

pub(crate) const fn boolean(name: &'static str, about: &'static str) -> Column {
    column(name, Kind::Bool, about)
}

pub(crate) const fn time(name: &'static str, about: &'static str) -> Column {
    column(name, Kind::Time, about)
}
