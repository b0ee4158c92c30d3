//! Rows of several columns as one byte string each, so that the bytes order as the tuples do.
//!
//! A sort over `(tenant, -amount, name)` compares one column after the other, each with its own type and direction.
//! Here a row's columns become one byte string, and comparing two of these byte by byte gives the same answer: a sort
//! of byte strings then sorts rows. The form is the usual one of database engines, *memcomparable*:
//!
//! | column | bytes |
//! | --- | --- |
//! | unsigned integer | big-endian, as many bytes as the type has |
//! | signed integer | the same with the sign bit flipped, so negative ones come first |
//! | float | big-endian bits; sign bit flipped where it is clear, all bits where it is set: the order of `f64::total_cmp` |
//! | bool | one byte, 0 or 1 |
//! | bytes, string | the bytes, each zero followed by `ff`, and `00 00` at the end |
//! | any, descending | the bytes above, all bits flipped |
//! | any that may be null | a byte before: 1 for a value; for a null 0 or 2 and nothing after it |
//!
//! Why the end of a string is written as it is: a shorter string has to come before a longer one that begins with it,
//! *whatever column follows*, so its end has to be less than any byte that could stand there. A zero inside is written
//! `00 ff`, which is more than the end's `00 00`. No written string is the beginning of another, so flipping all bits
//! turns the order round exactly. Strings without zeros, nearly all, grow by two bytes and are copied in one go.
//!
//! A null's byte is not flipped: `Nulls::First` and `Nulls::Last` mean the same place in both directions.
//!
//! A [`RowEncoder`] is made from the fields once, so rows of several calls compare with each other. Whole columns are
//! encoded by [`RowEncoder::encode`], single rows by [`RowEncoder::row`]:
//!
//! ```
//! use orasort::row::{Column, Field, Kind, RowEncoder};
//!
//! let encoder = RowEncoder::new(vec![Field::new(Kind::U32), Field::new(Kind::Bytes).descending().nulls_last()]);
//! let tenants = [7u32, 3, 7, 7];
//! let names = [Some("ann"), Some("bob"), None, Some("cid")];
//! let rows = encoder.encode(&[Column::new(&tenants), Column::new(&names)])?;
//! assert_eq!(orasort::argsort(&rows), [1, 3, 0, 2]);
//! # Ok::<(), orasort::row::RowError>(())
//! ```

mod column;
mod error;
mod value;

pub use column::Column;
pub use error::RowError;
pub use value::Value;

use crate::bytes::prefetch;
use crate::{Keys, Order};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use value::{Form, NULL_FIRST, NULL_LAST, VALUE};

/// Rows that are written column by column before the next ones: their bytes stay in the CPU's first caches.
const CHUNK_ROWS: usize = 1024;

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Rust's names of the types say it.
pub enum Kind {
    Bool,
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    U128,
    F32,
    F64,
    /// Byte strings and texts; texts order by their UTF-8 bytes, which is the order of code points.
    Bytes,
}

/// Whether a field may be null, and where nulls stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nulls {
    /// The field has no nulls: encoding one is an error. Saves a byte a row.
    #[default]
    Never,
    /// Before all values, in both directions.
    First,
    /// After all values, in both directions.
    Last,
}

/// One column of the rows: its type, direction, and place of nulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The type of its values.
    pub kind: Kind,
    /// The direction of its values.
    pub order: Order,
    /// The place of its nulls.
    pub nulls: Nulls,
}

impl Field {
    /// An ascending field without nulls.
    pub const fn new(kind: Kind) -> Self {
        Self { kind, order: Order::Ascending, nulls: Nulls::Never }
    }

    /// The same, greatest value first.
    pub const fn descending(mut self) -> Self {
        self.order = Order::Descending;
        self
    }

    /// The same with nulls before all values.
    pub const fn nulls_first(mut self) -> Self {
        self.nulls = Nulls::First;
        self
    }

    /// The same with nulls after all values.
    pub const fn nulls_last(mut self) -> Self {
        self.nulls = Nulls::Last;
        self
    }

    const fn form(self) -> Form {
        let flip = match self.order {
            Order::Ascending => 0,
            Order::Descending => u8::MAX,
        };
        match self.nulls {
            Nulls::Never => Form { flip, marker: None, null: 0 },
            Nulls::First => Form { flip, marker: Some(VALUE), null: NULL_FIRST },
            Nulls::Last => Form { flip, marker: Some(VALUE), null: NULL_LAST },
        }
    }
}

/// Writes rows of given fields as byte strings that order as the rows do.
#[derive(Clone, Debug)]
pub struct RowEncoder {
    fields: Vec<Field>,
}

impl RowEncoder {
    /// An encoder of rows with these fields, the most significant first.
    pub fn new(fields: Vec<Field>) -> Self {
        Self { fields }
    }

    /// The fields of a row.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The rows of these columns, one column a field, all of one length.
    ///
    /// # Errors
    /// When the columns do not fit the fields, or a null stands where none may be.
    pub fn encode(&self, columns: &[Column<'_>]) -> Result<Rows, RowError> {
        let mut rows = Rows::default();
        self.encode_into(columns, &mut rows)?;
        Ok(rows)
    }

    /// Appends the rows of these columns to `rows`, which keep what they hold.
    ///
    /// # Errors
    /// As [`RowEncoder::encode`]; `rows` are then as they were.
    pub fn encode_into(&self, columns: &[Column<'_>], rows: &mut Rows) -> Result<(), RowError> {
        let count = self.check(columns)?;
        let first = rows.len();
        let mut end = rows.bytes.len();
        rows.offsets.resize(first + count + 1, 0);
        let pairs = || columns.iter().zip(&self.fields);
        for chunk in chunks(count) {
            let lengths = &mut rows.offsets[first + 1..][chunk.clone()];
            for (column, field) in pairs() {
                column.add_lengths(chunk.clone(), field.form(), lengths);
            }
            for length in lengths {
                end += *length;
                *length = end;
            }
        }
        rows.bytes.resize(end, 0);
        let mut cursors = vec![0; count.min(CHUNK_ROWS)];
        for chunk in chunks(count) {
            let cursors = &mut cursors[..chunk.len()];
            cursors.copy_from_slice(&rows.offsets[first..][chunk.clone()]);
            for (column, field) in pairs() {
                column.write(chunk.clone(), field.form(), &mut rows.bytes, cursors);
            }
        }
        Ok(())
    }

    /// Rows of the columns, when they fit the fields.
    fn check(&self, columns: &[Column<'_>]) -> Result<usize, RowError> {
        let (expected, found) = (self.fields.len(), columns.len());
        if expected != found {
            return Err(RowError::Columns { expected, found });
        }
        let rows = columns.first().map_or(0, Column::len);
        for (at, (column, field)) in columns.iter().zip(&self.fields).enumerate() {
            if column.kind() != field.kind {
                return Err(RowError::Kind { column: at, expected: field.kind, found: column.kind() });
            }
            if column.len() != rows {
                return Err(RowError::Length { column: at, expected: rows, found: column.len() });
            }
            if field.nulls == Nulls::Never
                && let Some(row) = column.first_null()
            {
                return Err(RowError::Null { column: at, row });
            }
        }
        Ok(rows)
    }

    /// Writes one row value by value to the end of `bytes`.
    pub fn row<'a>(&'a self, bytes: &'a mut Vec<u8>) -> RowWriter<'a> {
        RowWriter { fields: &self.fields, start: bytes.len(), next: 0, whole: false, bytes }
    }
}

fn chunks(count: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).step_by(CHUNK_ROWS).map(move |from| from..count.min(from + CHUNK_ROWS))
}

/// Writes the values of one row, in the order of the encoder's fields.
///
/// A row that is not finished leaves nothing in the buffer.
#[derive(Debug)]
pub struct RowWriter<'a> {
    fields: &'a [Field],
    bytes: &'a mut Vec<u8>,
    start: usize,
    next: usize,
    whole: bool,
}

impl RowWriter<'_> {
    /// Writes the next field's value; `Option` stands for a value that may be null.
    ///
    /// # Errors
    /// When all fields are written, the type is another, or it is a null where none may be. Nothing is written then.
    pub fn push<V: Value>(&mut self, value: V) -> Result<&mut Self, RowError> {
        let column = self.next;
        let Some(field) = self.fields.get(column) else {
            return Err(RowError::Columns { expected: self.fields.len(), found: column + 1 });
        };
        if V::KIND != field.kind {
            return Err(RowError::Kind { column, expected: field.kind, found: V::KIND });
        }
        if field.nulls == Nulls::Never && value.is_null() {
            return Err(RowError::Null { column, row: 0 });
        }
        let form = field.form();
        let at = self.bytes.len();
        self.bytes.resize(at + form.length(&value), 0);
        form.write(&value, &mut self.bytes[at..]);
        self.next += 1;
        Ok(self)
    }

    /// Keeps the row, and returns where in the buffer it stands.
    ///
    /// # Errors
    /// When a field is missing; nothing stays in the buffer then.
    pub fn finish(&mut self) -> Result<Range<usize>, RowError> {
        if self.next != self.fields.len() {
            return Err(RowError::Columns { expected: self.fields.len(), found: self.next });
        }
        self.whole = true;
        Ok(self.start..self.bytes.len())
    }
}

impl Drop for RowWriter<'_> {
    fn drop(&mut self) {
        if !self.whole {
            self.bytes.truncate(self.start);
        }
    }
}

/// Encoded rows, one after the other in one buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    bytes: Vec<u8>,
    offsets: Vec<usize>,
}

impl Default for Rows {
    fn default() -> Self {
        Self { bytes: Vec::new(), offsets: vec![0] }
    }
}

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of all rows.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where rows begin and end in [`Rows::bytes`]: row `i` at `offsets[i]..offsets[i + 1]`.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The bytes of one row.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row(&self, row: usize) -> &[u8] {
        &self.bytes[self.offsets[row]..self.offsets[row + 1]]
    }

    /// Removes all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.offsets.truncate(1);
    }
}

impl Keys for Rows {
    fn len(&self) -> usize {
        Rows::len(self)
    }

    #[inline]
    fn key(&self, row: usize) -> &[u8] {
        self.row(row)
    }

    #[inline]
    fn prefetch(&self, row: usize) {
        prefetch(self.offsets.as_ptr().wrapping_add(row));
    }
}
