//! The memory that a sort works in: two arrays of entries, 32 bytes a key, kept by whoever sorts again.

use alloc::vec::Vec;

use crate::engine::Sides;
use crate::entry::Entry;

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
        if self.entries.len() < 2 * len {
            // Dropped first, so that old and new memory are not held at once.
            self.entries = Vec::new();
            self.entries = alloc::vec![0; 2 * len];
        }
    }

    /// The two sides for `len` keys, for which room was made.
    pub(crate) fn sides(&mut self, len: usize) -> Sides<'_> {
        let (left, right) = self.entries.split_at_mut(len);
        [left, &mut right[..len]]
    }
}
