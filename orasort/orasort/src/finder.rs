//! Finds the key of an entry without asking the caller's list where it lies.
//!
//! To ask the list is to touch memory twice: what says where the key lies, then the key. Where both are anywhere in
//! memory that is twice the wait, and waiting is most of what a load costs. So while entries are made for the first
//! time, and the list is read from its beginning to its end anyway, each entry is given the place of its key: 32 bits,
//! counted from a base, and 8 bits of length.
//!
//! That does where all keys lie within 4 GiB; then they are **near**. Otherwise they are far, and the list is asked. It
//! is asked too for a key of 255 bytes or more, whose length has no room.

use crate::bytes::prefetch;
use crate::entry::{Entry, LENGTH_MAX, entry, head, length, place, row};
use crate::keys::Keys;

/// Where keys lie. A copy finds what the original does.
#[derive(Debug)]
pub(crate) struct Finder<'k, K: ?Sized> {
    pub(crate) keys: &'k K,
    /// What heads are xored with: a descending order is the ascending order of inverted heads.
    pub(crate) flip: u64,
    /// What places are counted from.
    base: usize,
    near: bool,
}

impl<K: ?Sized> Clone for Finder<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: ?Sized> Copy for Finder<'_, K> {}

impl<'k, K: Keys + ?Sized> Finder<'k, K> {
    /// A finder of keys that are taken for near.
    pub(crate) fn new(keys: &'k K, flip: u64) -> Self {
        // Of a static the compiler would make the base an address that the linker finds too far off.
        let first = core::hint::black_box(if keys.is_empty() { 0 } else { keys.key(0).as_ptr().addr() });
        Finder { keys, flip, base: first.wrapping_sub(1 << 31), near: true }
    }

    /// The finder that asks the list.
    pub(crate) fn far(self) -> Self {
        Finder { near: false, ..self }
    }

    /// Whether the list is asked where keys lie.
    pub(crate) fn asks_the_list(&self) -> bool {
        !self.near
    }

    /// An entry for a key that the list just gave for a row, or none if it lies too far off.
    #[inline(always)]
    pub(crate) fn entry(&self, head: u64, row: u32, key: &'k [u8]) -> Option<Entry> {
        let place = match key {
            // They may lie anywhere, and are not looked for.
            [] => 0,
            _ if !self.near => 0,
            _ => u32::try_from(key.as_ptr().expose_provenance().wrapping_sub(self.base)).ok()?,
        };
        Some(entry(head, row, place))
    }

    /// The key of an entry.
    ///
    /// # Safety
    /// The entry was made by this finder, or by one that it is a copy of, and has the length and the place that it was
    /// made with.
    #[inline(always)]
    pub(crate) unsafe fn key(&self, entry: Entry) -> &'k [u8] {
        let len = length(head(entry), self.flip);
        if !self.near || len == LENGTH_MAX {
            return self.keys.key(row(entry) as usize);
        }
        if len == 0 {
            return &[];
        }
        let first = core::ptr::with_exposed_provenance(self.base.wrapping_add(place(entry) as usize));
        // SAFETY: the entry has the address and the length of a slice that `keys.key` gave for as long as `keys` is
        // borrowed, which is as long as this one is; the address was exposed when it was taken.
        unsafe { core::slice::from_raw_parts(first, len) }
    }

    /// Sixteen bytes of the key of an entry from `at` on, if it has so many and the entry tells where it lies.
    ///
    /// # Safety
    /// As of `key`.
    #[inline(always)]
    pub(crate) unsafe fn sixteen(&self, entry: Entry, at: usize) -> Option<&'k [u8; 16]> {
        let len = length(head(entry), self.flip);
        if !self.near || len == LENGTH_MAX || at + 16 > len {
            return None;
        }
        let first: *const [u8; 16] =
            core::ptr::with_exposed_provenance(self.base.wrapping_add(place(entry) as usize + at));
        // SAFETY: as of `key`, and the key has these bytes.
        Some(unsafe { &*first })
    }

    /// Asks for what says where the key of an entry lies, if that is not the entry itself.
    #[inline(always)]
    pub(crate) fn prefetch_place(&self, entry: Entry) {
        if !self.near || length(head(entry), self.flip) == LENGTH_MAX {
            self.keys.prefetch(row(entry) as usize);
        }
    }

    /// Asks for the memory of an entry's key around one of its bytes, or, if the list has to be asked for it, of that.
    #[inline(always)]
    pub(crate) fn prefetch(&self, entry: Entry, at: usize) {
        self.prefetch_place(entry);
        if self.near {
            self.prefetch_key(entry, at, at);
        }
    }

    /// Asks for the memory of an entry's key around two of its bytes.
    #[inline(always)]
    pub(crate) fn prefetch_key(&self, entry: Entry, first: usize, last: usize) {
        let key: *const u8 = if self.near {
            core::ptr::without_provenance(self.base.wrapping_add(place(entry) as usize))
        } else {
            self.keys.key(row(entry) as usize).as_ptr()
        };
        prefetch(key.wrapping_add(first));
        prefetch(key.wrapping_add(last));
    }
}
