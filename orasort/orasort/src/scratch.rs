//! The memory that a sort works in: two arrays of entries, 32 bytes a key, kept by whoever sorts again.

use alloc::vec::Vec;
use core::mem::MaybeUninit;

use crate::entry::Entry;
use crate::pages::{Pages, ask_for_all};
use crate::permute::{room, rows_of};
use crate::range::Sides;

/// From so many entries on memory comes straight from the system, in large pages: 4 MiB. Of less memory they save
/// little, and a system whose memory is in pieces takes long to put one together.
const PAGES_FROM: usize = 256 << 10;

/// Entries, all zero at first.
#[derive(Debug)]
enum Block {
    Heap(Vec<Entry>),
    Pages(Pages),
}

/// Memory for the two sides, or none yet.
#[derive(Debug)]
pub(crate) struct Scratch {
    block: Block,
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Scratch {
    /// Memory of no size.
    pub(crate) const fn new() -> Scratch {
        Scratch { block: Block::Heap(Vec::new()) }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        match &self.block {
            Block::Heap(entries) => entries.capacity() * size_of::<Entry>(),
            Block::Pages(pages) => size_of_val(pages.as_slice()),
        }
    }

    /// Makes room for `len` keys. What was there is gone.
    pub(crate) fn reserve(&mut self, len: usize) {
        self.reserve_entries(2 * len, PAGES_FROM);
    }

    /// Bytes that the sides take of each key.
    pub(crate) const BYTES_OF_KEY: usize = 2 * size_of::<Entry>();

    /// As `reserve`, of memory that may be refused: false if it was. Large pages may take so many bytes more.
    pub(crate) fn try_reserve(&mut self, len: usize, spare_bytes: usize) -> bool {
        let count = 2 * len;
        if self.entries().len() >= count {
            return true;
        }
        *self = Scratch::new();
        let takes_pages = count >= PAGES_FROM && Pages::extra_bytes(count) <= spare_bytes;
        if let Some(pages) = Some(count).filter(|_| takes_pages).and_then(Pages::new) {
            self.block = Block::Pages(pages);
            return true;
        }
        let mut entries = Vec::new();
        let is_there = entries.try_reserve_exact(count).is_ok();
        if is_there {
            ask_for_all(entries.spare_capacity_mut());
            entries.resize(count, 0);
            self.block = Block::Heap(entries);
        }
        is_there
    }

    /// Makes room for two numbers of each of `len` keys, or for their rows and as many items behind those.
    pub(crate) fn reserve_numbers<T>(&mut self, len: usize) {
        let rows_and_items = len.div_ceil(4) + (len * size_of::<T>()).div_ceil(size_of::<Entry>()) + 1;
        self.reserve_entries(rows_and_items.clamp(len, 2 * len), PAGES_FROM);
    }

    fn reserve_entries(&mut self, count: usize, pages_from: usize) {
        if self.entries().len() < count {
            // Dropped first, so that old and new memory are not held at once.
            *self = Scratch::new();
            let pages = if count < pages_from { None } else { Pages::new(count) };
            self.block = pages.map_or_else(|| Block::Heap(zeros(count)), Block::Pages);
        }
    }

    /// All of it.
    pub(crate) fn entries(&mut self) -> &mut [Entry] {
        match &mut self.block {
            Block::Heap(entries) => entries,
            Block::Pages(pages) => pages.as_mut_slice(),
        }
    }

    /// The two sides for `len` keys, for which room was made.
    pub(crate) fn sides(&mut self, len: usize) -> Sides<'_> {
        let (left, right) = self.entries().split_at_mut(len);
        [left, &mut right[..len]]
    }

    /// The two sides for `len` keys as one.
    pub(crate) fn both_sides(&mut self, len: usize) -> &mut [Entry] {
        &mut self.entries()[..2 * len]
    }

    /// Room for so many numbers.
    pub(crate) fn numbers<T: Plain>(&mut self, count: usize) -> &mut [T] {
        self.reserve_entries((count * size_of::<T>()).div_ceil(size_of::<Entry>()), PAGES_FROM / 2);
        // SAFETY: any bytes are a valid number, aligned no more strictly than an entry, and there is room for them.
        unsafe { core::slice::from_raw_parts_mut(self.entries().as_mut_ptr().cast::<T>(), count) }
    }

    /// Room for so many numbers and as many items. What was there is gone.
    pub(crate) fn places_and_room<T>(&mut self, count: usize) -> (&mut [u32], &mut [MaybeUninit<T>]) {
        let numbers = count.div_ceil(size_of::<Entry>() / size_of::<u32>());
        // One entry more, of which items that begin at other addresses than entries do may take a part.
        let items = (count * size_of::<T>()).div_ceil(size_of::<Entry>()) + align_of::<T>() / 16 + 1;
        // It is filled once and not looked at again.
        self.reserve_entries(numbers + items, PAGES_FROM / 2);
        let (numbers, items) = self.entries().split_at_mut(numbers);
        let items = room(items, count).unwrap_or(&mut []);
        (&mut rows_of(numbers)[..count], items)
    }
}

/// So many entries that are zero.
fn zeros(count: usize) -> Vec<Entry> {
    let mut entries = alloc::vec![0; count];
    // From the allocator comes what is zero, not what is written to.
    entries.clear();
    ask_for_all(entries.spare_capacity_mut());
    // SAFETY: they were all there, and the system changes nothing.
    unsafe { entries.set_len(count) };
    entries
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
