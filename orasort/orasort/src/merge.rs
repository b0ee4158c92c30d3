//! A list whose first part is in order and whose second part was put in order becomes one.
//!
//! Places are searched first, with all comparisons; then items move, each once, and nobody's code runs. What of the
//! second part lies behind all of the first stays where it is, so a few items appended to many that were in order cost
//! a search each.

use core::cmp::Ordering;

use crate::permute::insert;
use crate::scratch::Scratch;

/// Whether so many keys, the first of them in order, are few enough behind those to be sorted for themselves. Where
/// more of them go between the others than by a search each, the library's merge takes less.
pub(crate) fn is_worth_it(in_order: usize, len: usize) -> bool {
    len - in_order <= len / 8
}

/// Merges `items[..first]` and `items[first..]`, both in order. Of equal items those of the first part come first.
pub(crate) fn merge<T>(
    scratch: &mut Scratch,
    items: &mut [T],
    first: usize,
    compare: impl Fn(&T, &T) -> Ordering,
) {
    let (head, tail) = items.split_at(first);
    let Some(last) = head.last() else { return };
    let moving = tail.partition_point(|item| compare(item, last).is_lt());
    let (places, room) = scratch.places_and_room::<T>(moving);
    let mut place = 0;
    for (its_place, item) in places.iter_mut().zip(tail) {
        place += count_up_to(&head[place..], |other| compare(other, item).is_le());
        *its_place = place as u32;
    }
    insert(&mut items[..first + moving], first, places, room);
}

/// How many items at the beginning of some are what `is_before` says, if those that are stand first. Takes few
/// questions where they are few.
fn count_up_to<T>(items: &[T], is_before: impl Fn(&T) -> bool) -> usize {
    let mut step = 1;
    while step <= items.len() && is_before(&items[step - 1]) {
        step *= 2;
    }
    let from = step / 2;
    from + items[from..items.len().min(step)].partition_point(is_before)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// Whatever the two parts are, they come in order, equal items of the first part before those of the second, and
    /// items that own memory are neither lost nor doubled.
    #[test]
    fn parts_become_one() {
        let mut state = 7u32;
        let mut next = |below: usize| {
            state = state.wrapping_mul(0x915f_77f5).wrapping_add(0x1234_5671);
            (state >> 12) as usize % below
        };
        for case in 0..if cfg!(miri) { 10 } else { 600 } {
            let (first, second) = (1 + next(80), next(if case % 2 == 0 { 6 } else { 80 }));
            let below = 1 + next(90);
            let mut numbers: Vec<(usize, usize)> =
                (0..first + second).map(|place| (next(below), place)).collect();
            numbers[..first].sort_unstable();
            numbers[first..].sort_unstable();
            let mut items: Vec<Vec<usize>> =
                numbers.iter().map(|(number, place)| [*number, *place].to_vec()).collect();
            merge(&mut Scratch::new(), &mut items, first, |a, b| a[0].cmp(&b[0]));
            numbers.sort_by_key(|(number, place)| (*number, *place >= first));
            assert!(items.iter().zip(&numbers).all(|(item, (number, _))| item[0] == *number), "case {case}");
            assert!(items.is_sorted_by_key(|item| (item[0], item[1] >= first)), "case {case}");
        }
    }
}
