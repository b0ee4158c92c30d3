//! The memory that a sort works in: two arrays of entries, 32 bytes a key, kept by whoever sorts again.

use alloc::vec::Vec;

use crate::entry::Entry;
use crate::range::Sides;

/// Memory for the two sides, or none yet.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    entries: Vec<Entry>,
}

impl Scratch {
    /// Memory of no size.
    pub(crate) const fn new() -> Scratch {
        Scratch { entries: Vec::new() }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
    }

    /// Makes room for `len` keys. What was there is gone.
    pub(crate) fn reserve(&mut self, len: usize) {
        self.reserve_entries(2 * len);
    }

    fn reserve_entries(&mut self, count: usize) {
        if self.entries.len() < count {
            // Dropped first, so that old and new memory are not held at once.
            self.entries = Vec::new();
            self.entries = alloc::vec![0; count];
            use_large_pages(&mut self.entries);
        }
    }

    /// The two sides for `len` keys, for which room was made.
    pub(crate) fn sides(&mut self, len: usize) -> Sides<'_> {
        let (left, right) = self.entries.split_at_mut(len);
        [left, &mut right[..len]]
    }

    /// The two sides for `len` keys as one.
    pub(crate) fn both_sides(&mut self, len: usize) -> &mut [Entry] {
        &mut self.entries[..2 * len]
    }

    /// Room for so many numbers.
    pub(crate) fn numbers<T: Plain>(&mut self, count: usize) -> &mut [T] {
        self.reserve_entries((count * size_of::<T>()).div_ceil(size_of::<Entry>()));
        // SAFETY: any bytes are a valid number, aligned no more strictly than an entry, and there is room for them.
        unsafe { core::slice::from_raw_parts_mut(self.entries.as_mut_ptr().cast::<T>(), count) }
    }
}

/// An unsigned number, which any bytes are.
///
/// # Safety
/// Any bytes are a valid value, which is aligned as an entry is, or less.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: they are unsigned numbers, of up to the size of an entry.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for u64 {}
// SAFETY: as above.
unsafe impl Plain for u128 {}

/// Asks the system for large pages, which cost far less to hand out. Nothing depends on the answer.
#[cfg(all(feature = "std", target_os = "linux", not(miri)))]
fn use_large_pages(entries: &mut [Entry]) {
    const LARGE_PAGE_BYTES: usize = 2 << 20;
    const MADV_HUGEPAGE: core::ffi::c_int = 14;
    unsafe extern "C" {
        fn madvise(start: *mut core::ffi::c_void, len: usize, advice: core::ffi::c_int) -> core::ffi::c_int;
    }
    let bytes = size_of_val(entries);
    let start = entries.as_mut_ptr().cast::<u8>();
    let skip = start.align_offset(LARGE_PAGE_BYTES);
    if skip >= bytes || bytes - skip < LARGE_PAGE_BYTES {
        return;
    }
    // SAFETY: the advice changes how memory is backed, not what it holds, and the range lies within `entries`.
    unsafe { madvise(start.add(skip).cast(), (bytes - skip) & !(LARGE_PAGE_BYTES - 1), MADV_HUGEPAGE) };
}

#[cfg(not(all(feature = "std", target_os = "linux", not(miri))))]
fn use_large_pages(_: &mut [Entry]) {}
