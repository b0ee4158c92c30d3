//! Brings items into the order of sorted rows, in the memory that the sort has no more use for.

use alloc::vec::Vec;
use core::mem::MaybeUninit;

use crate::entry::{Entry, row};
use crate::range::{Range, Sides};

/// Keeps the rows of a ready range at the front of side 0, four to an entry.
///
/// The row of position p goes to bytes 4p..4p+4, which lie within entry p / 4. Ranges come from left to right and
/// entries are read in order, so entry p / 4 has been read by then, or is the one just read.
pub(crate) fn keep_rows(sides: &mut Sides<'_>, range: &Range) {
    let [left, right] = sides;
    if range.side == 1 {
        let rows = &mut rows_of(left)[range.start..range.end];
        rows.iter_mut().zip(&right[range.start..range.end]).for_each(|(place, entry)| *place = row(*entry));
        return;
    }
    for position in range.start..range.end {
        let row = row(left[position]);
        rows_of(left)[position] = row;
    }
}

/// Side 0 as rows.
fn rows_of(side: &mut [Entry]) -> &mut [u32] {
    // SAFETY: any bytes are a valid u32, and a u128 is aligned for it.
    unsafe { core::slice::from_raw_parts_mut(side.as_mut_ptr().cast::<u32>(), side.len() * 4) }
}

/// Brings items into the order of the rows that `keep_rows` kept: item `rows[p]` comes to position p. `both` are the
/// two sides, one behind the other.
pub(crate) fn apply<T>(both: &mut [Entry], items: &mut [T]) {
    let len = items.len();
    let (rows, free) = both.split_at_mut(len.div_ceil(4));
    let rows = &mut rows_of(rows)[..len];
    if let Some(copy) = room::<T>(free, len) {
        for (place, row) in copy.iter_mut().zip(rows) {
            let item = &items[*row as usize];
            // SAFETY: `item` is valid to read. It is not dropped twice: the copies replace all items below, and
            // nothing in between can panic, for every row is a position of `items`.
            *place = MaybeUninit::new(unsafe { core::ptr::read(item) });
        }
        // SAFETY: `copy` has `len` items, each row once, since rows are a permutation; the two do not overlap.
        unsafe { core::ptr::copy_nonoverlapping(copy.as_ptr().cast::<T>(), items.as_mut_ptr(), len) };
        return;
    }
    for start in 0..len {
        let mut position = start;
        loop {
            let row = core::mem::replace(&mut rows[position], position as u32) as usize;
            if row == start || row == position {
                break;
            }
            items.swap(position, row);
            position = row;
        }
    }
}

/// Brings items into the order of `rows`, a permutation: item `rows[p]` comes to position p.
pub(crate) fn gather<T>(items: &mut [T], rows: &[u32]) {
    assert_eq!(items.len(), rows.len(), "one row for each item");
    let mut copy: Vec<MaybeUninit<T>> = Vec::with_capacity(items.len());
    copy.extend(rows.iter().map(|row| {
        // SAFETY: the item is valid to read. It is not dropped twice: a copy is never dropped, and if a row were none,
        // the items would be as they were.
        MaybeUninit::new(unsafe { core::ptr::read(&items[*row as usize]) })
    }));
    // SAFETY: there are as many copies as items, each item once, since rows are a permutation; the two do not overlap.
    unsafe { core::ptr::copy_nonoverlapping(copy.as_ptr().cast::<T>(), items.as_mut_ptr(), items.len()) };
}

/// Room for `len` items in memory that is free, if they fit.
pub(crate) fn room<T>(free: &mut [Entry], len: usize) -> Option<&mut [MaybeUninit<T>]> {
    // SAFETY: memory of any content is a valid `MaybeUninit<T>`. What is written there later is never read as an
    // entry before it is overwritten by one; it has no padding problem as entries are plain bytes written anew.
    let (_, middle, _) = unsafe { free.align_to_mut::<MaybeUninit<T>>() };
    middle.get_mut(..len)
}

/// Reverses items; within each of `runs`, given as positions after that, the order is as it was before.
pub(crate) fn reverse<T>(items: &mut [T], runs: &[(usize, usize)]) {
    items.reverse();
    for (start, end) in runs {
        items[*start..*end].reverse();
    }
}
