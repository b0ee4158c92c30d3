//! Keys that are in order but for a few: those are taken out, sorted, and merged with the rest.
//!
//! One pass keeps every key that is not below the last one kept, and drops the others. Where many are dropped in a row,
//! what was kept last may be what is out of place: then that is dropped instead. For each key dropped its place among
//! those kept is searched from the place of the one after it, so keys that need not move are hardly looked at again.

use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::Order;
use crate::keys::{Keys, Rows};

/// After so many keys dropped in a row it is asked whether as many at most that were kept last should go instead.
const DOUBT: usize = 8;

/// One of so many keys may be out of place, and of those that follow each other one of so many.
const DROPPED_OF: usize = 8;
const IN_A_ROW_OF: usize = 64;

/// Writes the rows of keys, at most `u32::MAX`, in order. Those of equal keys stay in theirs. False if too many keys
/// are out of place: then what was written is of no use. The first `in_order` are known to be in order. `sort` puts
/// rows in order, those of equal keys too.
///
/// It is not made a part of its caller, where the loop took four instructions a key more.
#[inline(never)]
pub(crate) fn argsort<K: Keys + ?Sized>(
    keys: &K,
    in_order: usize,
    order: Order,
    rows: &mut [u32],
    sort: impl FnOnce(&Rows<'_>) -> Vec<u32>,
) -> bool {
    let Some((kept, dropped)) = take_out(keys, in_order, order, rows) else { return false };
    let dropped = Rows { keys: &keys, rows: &dropped };
    let sorted = if dropped.rows.is_empty() { Vec::new() } else { sort(&dropped) };
    let compare = |a: u32, b: u32| -> Ordering {
        order.turned(keys.key(a as usize).cmp(keys.key(b as usize))).then(a.cmp(&b))
    };
    // From the end on, so that what was kept moves away from the front.
    let (mut kept, mut end) = (kept, rows.len());
    for row in sorted.iter().rev().map(|place| dropped.rows[*place as usize]) {
        let above = count_above(&rows[..kept], |other| compare(other, row).is_gt());
        rows.copy_within(kept - above..kept, end - above);
        (kept, end) = (kept - above, end - above - 1);
        rows[end] = row;
    }
    true
}

/// Writes the rows of keys that are in order to the front of `rows`. Returns their number and the rows of the others,
/// which rise; none if those are too many.
fn take_out<K: Keys + ?Sized>(
    keys: &K,
    in_order: usize,
    order: Order,
    rows: &mut [u32],
) -> Option<(usize, Vec<u32>)> {
    let is_below = |a: u32, b: u32| order.turned(keys.key(a as usize).cmp(keys.key(b as usize))).is_lt();
    let in_a_row_max = rows.len() / IN_A_ROW_OF + 2 * DOUBT;
    let mut dropped = Vec::new();
    let (mut kept, mut row, mut in_a_row) = (in_order, in_order, 0);
    rows[..in_order].iter_mut().zip(0..).for_each(|(place, row)| *place = row);
    while row < rows.len() {
        let this = row as u32;
        row += 1;
        if kept == 0 || !is_below(this, rows[kept - 1]) {
            rows[kept] = this;
            (kept, in_a_row) = (kept + 1, 0);
            continue;
        }
        if in_a_row == 0 && kept > 1 && !is_below(this, rows[kept - 2]) {
            // The last one was too great.
            dropped.push(core::mem::replace(&mut rows[kept - 1], this));
        } else {
            dropped.push(this);
            in_a_row += 1;
        }
        if in_a_row > in_a_row_max || dropped.len() > rows.len() / DROPPED_OF {
            return None;
        }
        if in_a_row == DOUBT {
            let first = row as u32 - DOUBT as u32;
            let greatest = (first + 1..row as u32).fold(first, |a, b| if is_below(a, b) { b } else { a });
            let above = rows[..kept].iter().rev().take(DOUBT + 1);
            let above = above.take_while(|last| is_below(greatest, **last)).count();
            if above <= DOUBT {
                dropped.truncate(dropped.len() - DOUBT);
                dropped.extend_from_slice(&rows[kept - above..kept]);
                (kept, row, in_a_row) = (kept - above, row - DOUBT, 0);
            }
        }
    }
    dropped.sort_unstable();
    Some((kept, dropped))
}

/// How many of rising rows at their end are above something.
fn count_above(rows: &[u32], is_above: impl Fn(u32) -> bool) -> usize {
    let mut step = 1;
    while step <= rows.len() && is_above(rows[rows.len() - step]) {
        step *= 2;
    }
    let from = rows.len().saturating_sub(step);
    let to = rows.len() - step / 2;
    rows.len() - from - rows[from..to].partition_point(|row| !is_above(*row))
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::runs::{Found, order_of};

    /// Whatever is out of place where, rows come in order, those of equal keys too, or it is said that they do not.
    #[test]
    fn what_is_out_of_place_finds_it() {
        let len: u32 = if cfg!(miri) { 60 } else { 600 };
        let mut taken = 0;
        for case in 0..if cfg!(miri) { 8 } else { 400u32 } {
            let order = if case % 2 == 0 { Order::Ascending } else { Order::Descending };
            let mut numbers: Vec<u32> = (0..len).map(|n| n / (1 + case % 3)).collect();
            if order == Order::Descending {
                numbers.reverse();
            }
            let mut state = case;
            let mut next = || {
                state = state.wrapping_mul(0x915f_77f5).wrapping_add(0x1234_5671);
                (state >> 12) % len
            };
            match case % 5 {
                0 => (0..case % 20).for_each(|_| numbers.swap(next() as usize, next() as usize)),
                1 => numbers.rotate_right(case as usize % 12),
                2 => numbers[..case as usize % 12].fill(len),
                3 => (0..case % 12).for_each(|at| numbers[(len - 1 - at) as usize] = next()),
                _ => numbers.sort_by_key(|n| n.wrapping_mul(0x9e37_79b9) >> (case % 32)),
            }
            let keys: Vec<[u8; 4]> = numbers.iter().map(|n| n.to_be_bytes()).collect();
            let stable = |keys: &dyn Fn(u32) -> [u8; 4], rows: &mut Vec<u32>| {
                rows.sort_by(|a, b| order.turned(keys(*a).cmp(&keys(*b))));
            };
            let mut rows = vec![0; keys.len()];
            let sort = |others: &Rows<'_>| {
                let mut places: Vec<u32> = (0..others.rows.len() as u32).collect();
                stable(&|place| keys[others.rows[place as usize] as usize], &mut places);
                places
            };
            let in_order = match order_of(&keys[..], order) {
                Found::Mixed { in_order } => in_order,
                Found::InOrder | Found::Reversed { .. } => 0,
            };
            if argsort(&keys[..], in_order, order, &mut rows, sort) {
                taken += 1;
                let mut expected: Vec<u32> = (0..len).collect();
                stable(&|row| keys[row as usize], &mut expected);
                assert_eq!(rows, expected, "case {case}");
            }
        }
        assert!(taken > if cfg!(miri) { 2 } else { 200 }, "{taken}");
    }
}
