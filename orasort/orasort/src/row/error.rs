//! What can be wrong with columns, said with the column and what was expected of it.

use super::Kind;
use core::fmt;

/// Columns or values that do not fit the fields. Columns count from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RowError {
    /// Not one column, or value, a field.
    Columns {
        /// Number of fields.
        expected: usize,
        /// Number of columns or values given.
        found: usize,
    },
    /// A column of another type than its field.
    Kind {
        /// Which column.
        column: usize,
        /// The field's type.
        expected: Kind,
        /// The column's type.
        found: Kind,
    },
    /// A column with another number of rows than the first one.
    Length {
        /// Which column.
        column: usize,
        /// Rows of the first column.
        expected: usize,
        /// Rows of this column.
        found: usize,
    },
    /// Fewer validity bits than rows.
    Bits {
        /// Rows of the column.
        expected: usize,
        /// Bits from the offset on.
        found: usize,
    },
    /// A null in a field that has none.
    Null {
        /// Which column.
        column: usize,
        /// Which row; 0 where rows are written one by one.
        row: usize,
    },
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Columns { expected, found } => {
                write!(f, "{found} columns for {expected} fields: give one column a field, in the same order")
            }
            Self::Kind { column, expected, found } => {
                write!(f, "column {column} holds {found:?}, its field is {expected:?}: make them the same")
            }
            Self::Length { column, expected, found } => {
                write!(
                    f,
                    "column {column} has {found} rows, the first column {expected}: all need the same number"
                )
            }
            Self::Bits { expected, found } => {
                write!(
                    f,
                    "{found} validity bits for {expected} rows: give one bit a row, counted from the offset"
                )
            }
            Self::Null { column, row } => {
                write!(f, "null in column {column}, row {row}: give its field nulls_first or nulls_last")
            }
        }
    }
}

impl core::error::Error for RowError {}
