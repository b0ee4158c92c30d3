//! Brings items into the order of sorted rows, in the memory that the sort has no more use for.

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

/// Entries as rows, four each.
pub(crate) fn rows_of(side: &mut [Entry]) -> &mut [u32] {
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
        return gather(items, rows, copy);
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

/// Brings items into the order of `rows`, a permutation: item `rows[p]` comes to position p. `copy` is as long.
pub(crate) fn gather<T>(items: &mut [T], rows: &[u32], copy: &mut [MaybeUninit<T>]) {
    assert!(items.len() == rows.len() && items.len() == copy.len(), "one row for each item");
    for (place, row) in copy.iter_mut().zip(rows) {
        // SAFETY: the item is valid to read. It is not dropped twice: a copy is never dropped, and if a row were none,
        // the items would be as they were.
        *place = MaybeUninit::new(unsafe { core::ptr::read(&items[*row as usize]) });
    }
    // SAFETY: there are as many copies as items, each item once, since rows are a permutation; the two do not overlap.
    unsafe { core::ptr::copy_nonoverlapping(copy.as_ptr().cast::<T>(), items.as_mut_ptr(), items.len()) };
}

/// Up to so many items are moved one by one: a call of the library takes longer.
const FEW: usize = 6;

/// Moves the items from `first` on each to before the item whose place it is given, all of which are before `first` and
/// do not fall; the items there move up. `room` is for as many as there are places.
pub(crate) fn insert<T>(items: &mut [T], first: usize, places: &[u32], room: &mut [MaybeUninit<T>]) {
    let fits = first + places.len() == items.len() && places.len() == room.len();
    assert!(fits && places.is_sorted() && places.last().is_none_or(|place| *place as usize <= first));
    let start = items.as_mut_ptr();
    // SAFETY: `room` is as long as the items from `first` on, and does not overlap them.
    unsafe { core::ptr::copy_nonoverlapping(start.add(first), room.as_mut_ptr().cast::<T>(), room.len()) };
    let mut end = first;
    for (number, (place, item)) in places.iter().zip(&*room).enumerate().rev() {
        let place = *place as usize;
        // SAFETY: `place <= end <= first`, and `number` is below the number of items from `first` on, so all places are
        // within the items. Each item is copied to where nothing is that was not copied before: what lies between
        // `end` and `end + number + 1` has moved. Nothing can panic, so at the end each item is there once.
        unsafe {
            let to = start.add(place + number + 1);
            if end - place <= FEW {
                for at in (0..end - place).rev() {
                    core::ptr::copy_nonoverlapping(start.add(place + at), to.add(at), 1);
                }
            } else {
                core::ptr::copy(start.add(place), to, end - place);
            }
            core::ptr::copy_nonoverlapping(item.as_ptr(), start.add(place + number), 1);
        }
        end = place;
    }
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
