//! Keys in Arrow arrays, sorted where they are: no key is copied, and nulls stand first or last.
//!
//! Arrays of `Binary`, `LargeBinary`, `Utf8`, `LargeUtf8`, `BinaryView`, `Utf8View` and `FixedSizeBinary` are [`Keys`].
//! As such they know no nulls: a null is a key of the bytes that its slot happens to have, most often none.
//! [`argsort`] and [`argsort_any`] take nulls out first, so that they are not sorted at all:
//!
//! ```
//! use arrow_array::StringArray;
//! use orasort::Sorter;
//! use orasort::arrow::{ArrayOptions, argsort};
//!
//! let names = StringArray::from(vec![Some("oak"), None, Some("ash"), Some("elm")]);
//! let rows = argsort(&mut Sorter::new(), &names, ArrayOptions::default());
//! assert_eq!(rows, [2, 3, 0, 1]);
//! ```
//!
//! [`column`] makes an array a column of [row](crate::row) keys, for a sort by several arrays.

use crate::bytes::prefetch;
use crate::keys::Rows;
use crate::row::Column;
use crate::{Keys, Options, Sorter};
use alloc::vec::Vec;
use arrow_array::types::{self, ByteArrayType, ByteViewType};
use arrow_array::{
    Array, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, GenericByteArray, GenericByteViewArray,
    LargeBinaryArray, LargeStringArray, PrimitiveArray, StringArray, StringViewArray,
};

impl<T: ByteArrayType> Keys for GenericByteArray<T> {
    fn len(&self) -> usize {
        Array::len(self)
    }

    #[inline]
    fn key(&self, row: usize) -> &[u8] {
        self.value(row).as_ref()
    }

    #[inline]
    fn prefetch(&self, row: usize) {
        prefetch(self.value_offsets().as_ptr().wrapping_add(row));
    }
}

impl<T: ByteViewType + ?Sized> Keys for GenericByteViewArray<T> {
    fn len(&self) -> usize {
        Array::len(self)
    }

    #[inline]
    fn key(&self, row: usize) -> &[u8] {
        self.value(row).as_ref()
    }
}

impl Keys for FixedSizeBinaryArray {
    fn len(&self) -> usize {
        Array::len(self)
    }

    #[inline]
    fn key(&self, row: usize) -> &[u8] {
        self.value(row)
    }
}

/// The order of an array's values, and the place of its nulls. The default is ascending, nulls last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrayOptions {
    /// The order of the values that are not null.
    pub sort: Options,
    /// Whether nulls come before all values, in both directions.
    pub nulls_first: bool,
}

/// Does the same with an array of any type whose values are [`Keys`]. `None` if it is of another.
macro_rules! with_keys {
    ($any:expr, $array:ident => $body:expr) => {
        with_keys!($any, $array => $body; BinaryArray, LargeBinaryArray, StringArray, LargeStringArray, BinaryViewArray,
            StringViewArray, FixedSizeBinaryArray)
    };
    ($any:expr, $array:ident => $body:expr; $($kind:ty),*) => {{
        $(if let Some($array) = $any.as_any().downcast_ref::<$kind>() {
            return Some($body);
        })*
        None
    }};
}

/// The rows of an array in the order that the options ask for. Rows of nulls come in order.
///
/// Panics if there are more than `u32::MAX` rows.
pub fn argsort<A: Array + Keys>(sorter: &mut Sorter, array: &A, options: ArrayOptions) -> Vec<u32> {
    let len = u32::try_from(Array::len(array)).expect("more than u32::MAX rows");
    let Some(nulls) = array.logical_nulls().filter(|nulls| nulls.null_count() > 0) else {
        return sorter.argsort_with(array, options.sort);
    };
    let (valid, null): (Vec<u32>, Vec<u32>) = (0..len).partition(|row| nulls.is_valid(*row as usize));
    let sorted = sorter.argsort_with(&Rows { keys: array, rows: &valid }, options.sort);
    let sorted = sorted.into_iter().map(|row| valid[row as usize]);
    if options.nulls_first { null.into_iter().chain(sorted).collect() } else { sorted.chain(null).collect() }
}

/// As [`argsort`] for an array whose type is known when the program runs. `None` if it is none whose values are
/// [`Keys`].
pub fn argsort_any(sorter: &mut Sorter, array: &dyn Array, options: ArrayOptions) -> Option<Vec<u32>> {
    with_keys!(array, array => argsort(sorter, array, options))
}

/// An array as a column of rows, nulls among it, without copying. `None` for types that rows do not know, or that Arrow
/// keeps as single bits.
///
/// The column's kind is the type of the array's values: `Date32` is `I32`, `Decimal128` is `I128`.
pub fn column(array: &dyn Array) -> Option<Column<'_>> {
    let column = strings(array).or_else(|| numbers(array))?;
    match array.nulls() {
        Some(nulls) => column.valid_bits(nulls.validity(), nulls.offset()).ok(),
        None => Some(column),
    }
}

fn strings(array: &dyn Array) -> Option<Column<'_>> {
    with_keys!(array, array => Column::keys(array))
}

fn numbers(array: &dyn Array) -> Option<Column<'_>> {
    macro_rules! first_of {
        ($($kind:ident),*) => {{
            $(if let Some(array) = array.as_any().downcast_ref::<PrimitiveArray<types::$kind>>() {
                return Some(Column::new(array.values()));
            })*
            None
        }};
    }
    first_of!(
        Int8Type,
        Int16Type,
        Int32Type,
        Int64Type,
        UInt8Type,
        UInt16Type,
        UInt32Type,
        UInt64Type,
        Float32Type,
        Float64Type,
        Decimal32Type,
        Decimal64Type,
        Decimal128Type,
        Date32Type,
        Date64Type,
        Time32SecondType,
        Time32MillisecondType,
        Time64MicrosecondType,
        Time64NanosecondType,
        TimestampSecondType,
        TimestampMillisecondType,
        TimestampMicrosecondType,
        TimestampNanosecondType,
        DurationSecondType,
        DurationMillisecondType,
        DurationMicrosecondType,
        DurationNanosecondType
    )
}
