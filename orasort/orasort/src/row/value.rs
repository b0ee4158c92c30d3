//! How one value is written: the byte forms of the types, the marker of nulls, and the direction.

use super::Kind;
use alloc::string::String;
use alloc::vec::Vec;

/// Before a value of a field that may be null.
pub(super) const VALUE: u8 = 1;
/// A null that comes before all values.
pub(super) const NULL_FIRST: u8 = 0;
/// A null that comes after all values.
pub(super) const NULL_LAST: u8 = 2;

/// What stands in for the end of a string, and for a zero in it.
const END: [u8; 2] = [0, 0];
const ZERO: [u8; 2] = [0, u8::MAX];

/// How a field writes its values, whatever their type.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// Every byte of a value is xored with it: all bits for descending.
    pub(super) flip: u8,
    /// Stands before values, in fields that may be null.
    pub(super) marker: Option<u8>,
    /// Stands for a null.
    pub(super) null: u8,
}

impl Form {
    /// Bytes that [`Form::write`] writes.
    #[inline]
    pub(super) fn length<V: Value>(self, value: &V) -> usize {
        let marker = usize::from(self.marker.is_some());
        if value.is_null() { 1 } else { marker + value.encoded_len() }
    }

    /// Writes a value, or a null, to the beginning of `out`, and returns the number of bytes written.
    #[inline]
    pub(super) fn write<V: Value>(self, value: &V, out: &mut [u8]) -> usize {
        if value.is_null() {
            return self.write_null(out);
        }
        match self.marker {
            Some(marker) => {
                out[0] = marker;
                1 + value.write(self.flip, &mut out[1..])
            }
            None => value.write(self.flip, out),
        }
    }

    /// Writes a null.
    #[inline]
    pub(super) fn write_null(self, out: &mut [u8]) -> usize {
        out[0] = self.null;
        1
    }
}

/// A value that a row can hold: integers, floats, `bool`, byte strings, texts, and `Option` of them.
///
/// Implemented for these types only.
pub trait Value: sealed::Sealed {
    /// The type of its field.
    const KIND: Kind;

    /// Whether it is a null.
    #[doc(hidden)]
    #[inline]
    fn is_null(&self) -> bool {
        false
    }

    /// Bytes of a value that is not null.
    #[doc(hidden)]
    fn encoded_len(&self) -> usize;

    /// Writes a value that is not null, each byte xored with `flip`, and returns the number of bytes.
    #[doc(hidden)]
    fn write(&self, flip: u8, out: &mut [u8]) -> usize;
}

mod sealed {
    /// Keeps [`super::Value`] to the types whose byte form is given here.
    pub trait Sealed {}
}

/// Types of a fixed width: `$bits` turns a value into an unsigned integer of the same order.
macro_rules! fixed {
    ($($type:ty, $kind:ident, $unsigned:ty, $bits:expr;)*) => {$(
        impl sealed::Sealed for $type {}

        impl Value for $type {
            const KIND: Kind = Kind::$kind;

            #[inline]
            fn encoded_len(&self) -> usize {
                size_of::<$unsigned>()
            }

            #[inline]
            fn write(&self, flip: u8, out: &mut [u8]) -> usize {
                const WIDTH: usize = size_of::<$unsigned>();
                let bits: fn($type) -> $unsigned = $bits;
                let flips = <$unsigned>::from_ne_bytes([flip; WIDTH]);
                out[..WIDTH].copy_from_slice(&(bits(*self) ^ flips).to_be_bytes());
                WIDTH
            }
        }
    )*};
}

fixed! {
    bool, Bool, u8, |value| u8::from(value);
    u8, U8, u8, |value| value;
    u16, U16, u16, |value| value;
    u32, U32, u32, |value| value;
    u64, U64, u64, |value| value;
    u128, U128, u128, |value| value;
    i8, I8, u8, |value| value.cast_unsigned() ^ (1 << 7);
    i16, I16, u16, |value| value.cast_unsigned() ^ (1 << 15);
    i32, I32, u32, |value| value.cast_unsigned() ^ (1 << 31);
    i64, I64, u64, |value| value.cast_unsigned() ^ (1 << 63);
    i128, I128, u128, |value| value.cast_unsigned() ^ (1 << 127);
    f32, F32, u32, |value| {
        let bits = value.to_bits().cast_signed();
        (bits ^ ((bits >> 31) | i32::MIN)).cast_unsigned()
    };
    f64, F64, u64, |value| {
        let bits = value.to_bits().cast_signed();
        (bits ^ ((bits >> 63) | i64::MIN)).cast_unsigned()
    };
}

/// Bytes of a string in a row.
#[inline]
fn string_len(value: &[u8]) -> usize {
    let zeros = value.iter().filter(|byte| **byte == 0).count();
    value.len() + zeros + END.len()
}

/// Writes a string in a row.
#[inline]
fn write_string(value: &[u8], flip: u8, out: &mut [u8]) -> usize {
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        for (to, from) in out[at..at + bytes.len()].iter_mut().zip(bytes) {
            *to = from ^ flip;
        }
        at += bytes.len();
    };
    if value.contains(&0) {
        for (number, part) in value.split(|byte| *byte == 0).enumerate() {
            if number > 0 {
                put(&ZERO);
            }
            put(part);
        }
    } else {
        put(value);
    }
    put(&END);
    at
}

macro_rules! strings {
    ($($type:ty, $bytes:ident;)*) => {$(
        impl sealed::Sealed for $type {}

        impl Value for $type {
            const KIND: Kind = Kind::Bytes;

            #[inline]
            fn encoded_len(&self) -> usize {
                string_len(self.$bytes())
            }

            #[inline]
            fn write(&self, flip: u8, out: &mut [u8]) -> usize {
                write_string(self.$bytes(), flip, out)
            }
        }
    )*};
}

strings! {
    &[u8], as_ref;
    Vec<u8>, as_slice;
    &str, as_bytes;
    String, as_bytes;
}

impl<V: Value> sealed::Sealed for Option<V> {}

impl<V: Value> Value for Option<V> {
    const KIND: Kind = V::KIND;

    #[inline]
    fn is_null(&self) -> bool {
        self.as_ref().is_none_or(Value::is_null)
    }

    #[inline]
    fn encoded_len(&self) -> usize {
        self.as_ref().map_or(0, Value::encoded_len)
    }

    #[inline]
    fn write(&self, flip: u8, out: &mut [u8]) -> usize {
        self.as_ref().map_or(0, |value| value.write(flip, out))
    }
}
