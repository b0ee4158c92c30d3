//! A column of values as the caller holds it: nothing is copied before it becomes part of the rows.

use super::value::{Form, Value};
use super::{Kind, RowError};
use crate::Keys;
use alloc::boxed::Box;
use core::fmt;
use core::ops::Range;

/// Values of one field, borrowed, with or without nulls.
pub struct Column<'a> {
    source: Box<dyn Source + 'a>,
    valid: Valid<'a>,
}

/// Which rows hold a value.
#[derive(Clone, Copy, Debug)]
enum Valid<'a> {
    All,
    /// One bit a row, least significant first, from the bit `offset` on.
    Bits {
        bits: &'a [u8],
        offset: usize,
    },
}

impl Valid<'_> {
    #[inline]
    fn is_valid(self, row: usize) -> bool {
        match self {
            Self::All => true,
            Self::Bits { bits, offset } => {
                let bit = offset + row;
                bits[bit / 8] >> (bit % 8) & 1 == 1
            }
        }
    }
}

impl<'a> Column<'a> {
    /// A column of numbers, strings, or `Option` of them.
    pub fn new<V: Value>(values: &'a [V]) -> Self {
        Self { source: Box::new(Slice(values)), valid: Valid::All }
    }

    /// A column of strings that stand wherever `keys` find them: an arena, an Arrow array.
    pub fn keys<K: Keys + ?Sized>(keys: &'a K) -> Self {
        Self { source: Box::new(Strings(keys)), valid: Valid::All }
    }

    /// The same with nulls where a bit is clear: row `i` is bit `offset + i`, least significant first, as in Arrow.
    ///
    /// # Errors
    /// When there are fewer bits than rows.
    pub fn valid_bits(mut self, bits: &'a [u8], offset: usize) -> Result<Self, RowError> {
        let found = (bits.len() * 8).saturating_sub(offset);
        if found < self.len() {
            return Err(RowError::Bits { expected: self.len(), found });
        }
        self.valid = Valid::Bits { bits, offset };
        Ok(self)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.source.len()
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type of its values.
    pub fn kind(&self) -> Kind {
        self.source.kind()
    }

    pub(super) fn first_null(&self) -> Option<usize> {
        let by_bits = match self.valid {
            Valid::All => None,
            Valid::Bits { .. } => (0..self.len()).find(|row| !self.valid.is_valid(*row)),
        };
        let by_value = self.source.first_null();
        by_bits.into_iter().chain(by_value).min()
    }

    /// Adds the length of each of these rows' values to `lengths`.
    pub(super) fn add_lengths(&self, rows: Range<usize>, form: Form, lengths: &mut [usize]) {
        self.source.add_lengths(rows, form, self.valid, lengths);
    }

    /// Writes the values of these rows, each at its cursor, which moves behind it.
    pub(super) fn write(&self, rows: Range<usize>, form: Form, bytes: &mut [u8], cursors: &mut [usize]) {
        self.source.write(rows, form, self.valid, bytes, cursors);
    }
}

impl fmt::Debug for Column<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Column({:?}, {} rows)", self.kind(), self.len())
    }
}

/// Values that are called for by the chunk, so that the type is looked up once a chunk and not once a value.
trait Source {
    fn len(&self) -> usize;
    fn kind(&self) -> Kind;
    fn first_null(&self) -> Option<usize>;
    fn add_lengths(&self, rows: Range<usize>, form: Form, valid: Valid<'_>, lengths: &mut [usize]);
    fn write(
        &self,
        rows: Range<usize>,
        form: Form,
        valid: Valid<'_>,
        bytes: &mut [u8],
        cursors: &mut [usize],
    );
}

/// Values that are called for one by one.
trait Values {
    const KIND: Kind;
    fn len(&self) -> usize;
    fn first_null(&self) -> Option<usize>;
    /// The length of a row's value, as `form` writes it.
    fn length(&self, row: usize, form: Form) -> usize;
    /// Writes a row's value to the beginning of `out`, and returns its length.
    fn write(&self, row: usize, form: Form, out: &mut [u8]) -> usize;
}

impl<T: Values> Source for T {
    fn len(&self) -> usize {
        Values::len(self)
    }

    fn kind(&self) -> Kind {
        T::KIND
    }

    fn first_null(&self) -> Option<usize> {
        Values::first_null(self)
    }

    fn add_lengths(&self, rows: Range<usize>, form: Form, valid: Valid<'_>, lengths: &mut [usize]) {
        for (row, length) in rows.zip(lengths) {
            *length += if valid.is_valid(row) { self.length(row, form) } else { 1 };
        }
    }

    fn write(
        &self,
        rows: Range<usize>,
        form: Form,
        valid: Valid<'_>,
        bytes: &mut [u8],
        cursors: &mut [usize],
    ) {
        for (row, cursor) in rows.zip(cursors) {
            let out = &mut bytes[*cursor..];
            *cursor +=
                if valid.is_valid(row) { Values::write(self, row, form, out) } else { form.write_null(out) };
        }
    }
}

struct Slice<'a, V>(&'a [V]);

impl<V: Value> Values for Slice<'_, V> {
    const KIND: Kind = V::KIND;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn first_null(&self) -> Option<usize> {
        self.0.iter().position(Value::is_null)
    }

    #[inline]
    fn length(&self, row: usize, form: Form) -> usize {
        form.length(&self.0[row])
    }

    #[inline]
    fn write(&self, row: usize, form: Form, out: &mut [u8]) -> usize {
        form.write(&self.0[row], out)
    }
}

struct Strings<'a, K: ?Sized>(&'a K);

impl<K: Keys + ?Sized> Values for Strings<'_, K> {
    const KIND: Kind = Kind::Bytes;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn first_null(&self) -> Option<usize> {
        None
    }

    #[inline]
    fn length(&self, row: usize, form: Form) -> usize {
        form.length(&self.0.key(row))
    }

    #[inline]
    fn write(&self, row: usize, form: Form, out: &mut [u8]) -> usize {
        form.write(&self.0.key(row), out)
    }
}
