//! Insertion sort, for what is few or near to its place.

use crate::entry::{Entry, head};

/// Up to this many entries are sorted by insertion.
pub(crate) const INSERTION_MAX: usize = 20;

/// Sorts entries that are few, or none of which is far from its place.
pub(crate) fn insertion_sort(entries: &mut [Entry]) {
    insertion_sort_by(entries, |a, b| head(a) < head(b));
}

/// Sorts what is few, or near to its place.
#[inline(always)]
pub(crate) fn insertion_sort_by<T: Copy>(entries: &mut [T], less: impl Fn(T, T) -> bool) {
    let Some(mut last) = entries.first().copied() else { return };
    for i in 1..entries.len() {
        let moving = entries[i];
        if !less(moving, last) {
            last = moving;
            continue;
        }
        // What is left of `i` moves up by one, so its greatest, `last`, comes to `i`.
        entries[i] = last;
        let mut hole = i - 1;
        // SAFETY: `hole` starts below the length, falls, and is above 0 where 1 is taken from it.
        unsafe {
            while hole > 0 && less(moving, *entries.get_unchecked(hole - 1)) {
                *entries.get_unchecked_mut(hole) = *entries.get_unchecked(hole - 1);
                hole -= 1;
            }
            *entries.get_unchecked_mut(hole) = moving;
        }
    }
}
