//! Where keys come from: a slice of anything that is bytes, an arena with offsets, values of one width.

use alloc::vec::Vec;

use crate::bytes::prefetch;

/// A list of keys, each known by its row. Keys order as their bytes do.
///
/// A key must stay as it is while it is sorted. If it does not, the order of the result is not defined, and the sort
/// may panic; a result is a permutation of the rows all the same.
pub trait Keys {
    /// The number of keys.
    fn len(&self) -> usize;

    /// The key of a row. Panics if there is no such row.
    fn key(&self, row: usize) -> &[u8];

    /// Whether there is no key.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Asks for the memory that says where the key of a row lies, without waiting for it. Any row may be asked for.
    fn prefetch(&self, _row: usize) {}
}

impl<T: AsRef<[u8]>> Keys for [T] {
    fn len(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn key(&self, row: usize) -> &[u8] {
        self[row].as_ref()
    }

    #[inline(always)]
    fn prefetch(&self, row: usize) {
        prefetch(self.as_ptr().wrapping_add(row));
    }
}

/// What derefs to keys: a reference, a list, an array.
macro_rules! as_its_keys {
    ($(($($generics:tt)*) $kind:ty, $this:ident => $keys:expr;)*) => {$(
        impl<$($generics)*> Keys for $kind {
            fn len(&self) -> usize {
                let $this = self;
                $keys.len()
            }

            #[inline(always)]
            fn key(&self, row: usize) -> &[u8] {
                let $this = self;
                $keys.key(row)
            }


            #[inline(always)]
            fn prefetch(&self, row: usize) {
                let $this = self;
                $keys.prefetch(row);
            }
        }
    )*};
}

as_its_keys! {
    (T: AsRef<[u8]>) Vec<T>, this => this.as_slice();
    (T: AsRef<[u8]>, const N: usize) [T; N], this => this.as_slice();
    (K: Keys + ?Sized) &K, this => **this;
}

/// An offset into an arena: `i32`, `i64`, `u32`, `u64` or `usize`.
pub trait Offset: Copy + sealed::Sealed {
    /// The offset in bytes. A negative offset becomes one that no arena reaches.
    fn bytes(self) -> usize;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! offsets {
    ($($kind:ty),*) => {$(
        impl sealed::Sealed for $kind {}
        impl Offset for $kind {
            #[inline(always)]
            #[allow(clippy::cast_possible_truncation)]
            fn bytes(self) -> usize {
                self as usize
            }
        }
    )*};
}

offsets!(i32, i64, u32, u64, usize);

/// Keys one behind the other in one buffer, as Arrow's binary arrays have them.
///
/// Key `row` is `bytes[offsets[row]..offsets[row + 1]]`, so there is one offset more than there are keys. A key whose
/// offsets do not lie within the buffer, or are out of order, makes the sort panic.
#[derive(Debug, Clone, Copy)]
pub struct Arena<'a, O> {
    /// The bytes of all keys.
    pub bytes: &'a [u8],
    /// Where each key begins, and at last where the last one ends.
    pub offsets: &'a [O],
}

impl<O: Offset> Keys for Arena<'_, O> {
    fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    #[inline(always)]
    fn key(&self, row: usize) -> &[u8] {
        &self.bytes[self.offsets[row].bytes()..self.offsets[row + 1].bytes()]
    }

    #[inline(always)]
    fn prefetch(&self, row: usize) {
        prefetch(self.offsets.as_ptr().wrapping_add(row));
    }
}

/// Keys of one width, one behind the other.
///
/// Bytes that are left over at the end belong to no key. A width of 0 makes an empty list.
#[derive(Debug, Clone, Copy)]
pub struct FixedWidth<'a> {
    /// The bytes of all keys.
    pub bytes: &'a [u8],
    /// Bytes of one key.
    pub width: usize,
}

impl Keys for FixedWidth<'_> {
    fn len(&self) -> usize {
        self.bytes.len().checked_div(self.width).unwrap_or(0)
    }

    #[inline(always)]
    fn key(&self, row: usize) -> &[u8] {
        &self.bytes[row * self.width..][..self.width]
    }
}

/// Items whose key a function tells.
pub(crate) struct ByKey<'a, T, F> {
    pub(crate) items: &'a [T],
    pub(crate) key: F,
}

impl<T, F: Fn(&T) -> &[u8]> Keys for ByKey<'_, T, F> {
    fn len(&self) -> usize {
        self.items.len()
    }

    #[inline(always)]
    fn key(&self, row: usize) -> &[u8] {
        (self.key)(&self.items[row])
    }

    #[inline(always)]
    fn prefetch(&self, row: usize) {
        prefetch(self.items.as_ptr().wrapping_add(row));
    }
}

/// Some rows of a list as a list.
///
/// Of any list, so that the sort of a part is compiled once, not once more for each kind of keys.
pub(crate) struct Rows<'a> {
    pub(crate) keys: &'a dyn Keys,
    pub(crate) rows: &'a [u32],
}

impl Keys for Rows<'_> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    #[inline(always)]
    fn key(&self, row: usize) -> &[u8] {
        self.keys.key(self.rows[row] as usize)
    }

    #[inline(always)]
    fn prefetch(&self, row: usize) {
        if let Some(row) = self.rows.get(row) {
            self.keys.prefetch(*row as usize);
        }
    }
}

/// Some neighbours among the keys of any list.
pub(crate) struct Part<'a> {
    pub(crate) keys: &'a dyn Keys,
    pub(crate) start: usize,
    pub(crate) len: usize,
}

impl Keys for Part<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn key(&self, row: usize) -> &[u8] {
        self.keys.key(self.start + row)
    }

    fn prefetch(&self, row: usize) {
        self.keys.prefetch(self.start + row);
    }
}
