//! Brings items to their places on several threads.

use super::threads::for_each;
use crate::entry::Entry;
use crate::permute::room;
use alloc::vec::Vec;
use core::mem::MaybeUninit;

/// Brings items into the order of `rows`, a permutation: item `rows[p]` comes to position p. `free` is memory that
/// serves for copies, if they fit.
pub(super) fn apply<T: Send + Sync>(free: &mut [Entry], items: &mut [T], rows: &[u32], threads: usize) {
    let len = items.len();
    let mut own = Vec::new();
    let copies = match room::<T>(free, len) {
        Some(room) => room,
        None => {
            own.reserve_exact(len);
            &mut own.spare_capacity_mut()[..len]
        }
    };
    let chunk = len.div_ceil(threads * 4).max(1);
    let all = &*items;
    let jobs = copies.chunks_mut(chunk).zip(rows.chunks(chunk)).collect();
    for_each(threads, jobs, |(copies, rows): (&mut [MaybeUninit<T>], &[u32])| {
        for (copy, row) in copies.iter_mut().zip(rows) {
            let item: &T = &all[*row as usize];
            // SAFETY: `item` is valid to read. Until all items are replaced by their copies, these are memory without
            // an owner: whatever panics before leaves the items as they were.
            *copy = MaybeUninit::new(unsafe { core::ptr::read(item) });
        }
    });
    let jobs = items.chunks_mut(chunk).zip(copies.chunks(chunk)).collect();
    for_each(threads, jobs, |(items, copies): (&mut [T], &[MaybeUninit<T>])| {
        // SAFETY: copies are as many as items, each item once, since `rows` is a permutation; the loop above wrote all
        // of them. They lie in other memory. From the first such job to the last nothing panics: no job does, and
        // `for_each` does not. So at the end each item has one owner again.
        unsafe {
            core::ptr::copy_nonoverlapping(copies.as_ptr().cast::<T>(), items.as_mut_ptr(), items.len())
        };
    });
}
