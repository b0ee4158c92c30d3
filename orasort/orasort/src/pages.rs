//! Memory straight from the system, in large pages.
//!
//! The system hands memory out page by page, as each is first touched, and clears it. Small pages are a thousand such
//! steps for a sort of 100,000 keys, which may take as long as the sort; a large page is one step that clears 2 MiB. It
//! is asked for where the last one would not be full, too: what is cleared in vain costs less than some dozen small
//! pages. Where the system has none to give the memory is of small pages.

use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::slice;

use crate::entry::Entry;

/// Bytes of a large page.
const LARGE_BYTES: usize = 2 << 20;

/// Bytes of a small page, or of several.
const PAGE_BYTES: usize = if cfg!(target_arch = "x86_64") { 4 << 10 } else { 64 << 10 };

/// Fewer bytes than these are left to small pages, each as it is touched.
const WORTH_BYTES: usize = 128 << 10;

/// Entries, all zero at first, in memory of their own.
#[derive(Debug)]
pub(crate) struct Pages {
    entries: NonNull<Entry>,
    count: usize,
    mapping: NonNull<u8>,
    mapped_bytes: usize,
}

// SAFETY: the memory belongs to this value alone, as that of a `Vec` does.
unsafe impl Send for Pages {}
// SAFETY: as above; it changes only by way of `&mut self`.
unsafe impl Sync for Pages {}

impl Pages {
    /// Bytes that so many entries take in large pages beyond their own.
    pub(crate) fn extra_bytes(count: usize) -> usize {
        match count.wrapping_mul(size_of::<Entry>()) % LARGE_BYTES {
            last if last >= WORTH_BYTES => LARGE_BYTES - last,
            _ => 0,
        }
    }

    /// Memory for so many entries. None if the system gives none, or is not asked on this machine.
    pub(crate) fn new(count: usize) -> Option<Pages> {
        let bytes = count.checked_mul(size_of::<Entry>())?.checked_add(Pages::extra_bytes(count))?;
        let mapped_bytes = bytes.checked_add(LARGE_BYTES).filter(|bytes| isize::try_from(*bytes).is_ok())?;
        let mapping = system::map(mapped_bytes)?;
        let skipped = mapping.addr().get().wrapping_neg() % LARGE_BYTES;
        // SAFETY: less than a large page, by which the mapping is longer than `bytes`.
        let first = unsafe { mapping.byte_add(skipped) };
        // SAFETY: the range lies within the mapping.
        unsafe { system::ask_for_large(first, bytes) };
        Some(Pages { entries: first.cast(), count, mapping, mapped_bytes })
    }

    pub(crate) fn as_slice(&self) -> &[Entry] {
        // SAFETY: the mapping has room for `count` entries from there on, aligned to a page, and zeros are entries.
        unsafe { slice::from_raw_parts(self.entries.as_ptr(), self.count) }
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [Entry] {
        // SAFETY: as above, and `self` is borrowed for as long.
        unsafe { slice::from_raw_parts_mut(self.entries.as_ptr(), self.count) }
    }
}

/// Has the system give the pages of memory that is going to be written to from its beginning to its end all at once,
/// not each as it is first touched, which takes half as long again. Memory that the allocator had before is there,
/// and is not asked for: to be told so for every page would take a tenth of a sort.
pub(crate) fn ask_for_all(memory: &mut [MaybeUninit<Entry>]) {
    let bytes = size_of_val(memory);
    let skipped = memory.as_ptr().addr().wrapping_neg() % PAGE_BYTES;
    if bytes < WORTH_BYTES {
        return;
    }
    let Some(first) = NonNull::new(memory.as_mut_ptr().cast::<u8>().wrapping_add(skipped)) else { return };
    // SAFETY: the range lies within `memory`.
    unsafe { system::ask_for_all(first, (bytes - skipped) / PAGE_BYTES * PAGE_BYTES) };
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: it is the mapping that `new` made, whole, and nobody borrows from it any more.
        unsafe { system::unmap(self.mapping, self.mapped_bytes) };
    }
}

/// Linux, on machines of which the numbers are known.
#[cfg(all(
    feature = "std",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64",
    not(miri)
))]
mod system {
    use core::ffi::{c_int, c_long, c_void};
    use core::ptr::{self, NonNull};

    const PROT_READ_WRITE: c_int = 3;
    const MAP_PRIVATE_ANONYMOUS: c_int = 0x22;
    const MADV_HUGEPAGE: c_int = 14;
    /// Linux has it since 5.14, and refuses before.
    const MADV_POPULATE_WRITE: c_int = 23;

    unsafe extern "C" {
        fn mmap(
            at: *mut c_void,
            len: usize,
            protection: c_int,
            flags: c_int,
            file: c_int,
            from: c_long,
        ) -> *mut c_void;
        fn munmap(start: *mut c_void, len: usize) -> c_int;
        fn madvise(start: *mut c_void, len: usize, advice: c_int) -> c_int;
        fn mincore(start: *mut c_void, len: usize, answer: *mut u8) -> c_int;
    }

    /// So many zero bytes, none at all if there are no more.
    pub(super) fn map(bytes: usize) -> Option<NonNull<u8>> {
        // SAFETY: the system finds a place itself, so nothing that is in use is touched.
        let start = unsafe { mmap(ptr::null_mut(), bytes, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0) };
        // An address of -1 is its way to refuse.
        NonNull::new(start.cast()).filter(|start: &NonNull<u8>| start.addr().get() != usize::MAX)
    }

    /// # Safety
    /// The range is within what `map` gave.
    pub(super) unsafe fn ask_for_large(start: NonNull<u8>, bytes: usize) {
        // SAFETY: the advice changes how memory is backed, not what it holds. Nothing depends on the answer.
        unsafe { madvise(start.as_ptr().cast(), bytes, MADV_HUGEPAGE) };
    }

    /// # Safety
    /// The range is one allocation's, and begins with a page.
    pub(super) unsafe fn ask_for_all(start: NonNull<u8>, bytes: usize) {
        let middle = bytes / super::PAGE_BYTES / 2 * super::PAGE_BYTES;
        let mut is_there = 1;
        // SAFETY: of a page of the range, which is one place of the answer. Pages that are there already are left
        // alone.
        unsafe {
            mincore(start.as_ptr().add(middle).cast(), 1, &raw mut is_there);
            if is_there & 1 == 0 {
                madvise(start.as_ptr().cast(), bytes, MADV_POPULATE_WRITE);
            }
        }
    }

    /// # Safety
    /// The range is what `map` gave, and is used no more.
    pub(super) unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller promised it.
        unsafe { munmap(start.as_ptr().cast(), bytes) };
    }
}

/// Elsewhere the allocator's memory has to do.
#[cfg(not(all(
    feature = "std",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64",
    not(miri)
)))]
mod system {
    use core::ptr::NonNull;

    pub(super) fn map(_: usize) -> Option<NonNull<u8>> {
        None
    }

    pub(super) unsafe fn ask_for_large(_: NonNull<u8>, _: usize) {}

    pub(super) unsafe fn ask_for_all(_: NonNull<u8>, _: usize) {}

    pub(super) unsafe fn unmap(_: NonNull<u8>, _: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory is zero, all of it can be written, and what can't be had is refused.
    #[test]
    fn memory_is_zero_and_whole() {
        for count in [1, 8 << 10, (128 << 10) - 1, (128 << 10) + 1, 300_000] {
            let Some(mut pages) = Pages::new(count) else { return };
            assert_eq!(pages.as_slice().len(), count);
            assert!(pages.as_slice().iter().all(|entry| *entry == 0));
            pages.as_mut_slice().fill(!0);
        }
        assert!(Pages::new(usize::MAX / 16).is_none());
        assert!(Pages::new(usize::MAX).is_none());
    }
}
