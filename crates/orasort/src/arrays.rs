//! Arrays of bytes, up to sixteen of them: keys that are their own items, sorted as the numbers that they are.
//!
//! Where a key has no more bytes than an entry has room for, nothing has to be found again, and no row has to be kept:
//! what the radix steps move is the keys. A step is the core's (`digit`); there are at most two words of 64 bits to
//! cut digits from, and steps nest at most as deep as these have digits.

use alloc::vec::Vec;

use crate::digit::Digit;
use crate::engine::{COMPARE_MAX, INSERTION_MAX, digit_bits_max, insertion_sort_by};
use crate::runs::{Found, order_of};
use crate::scratch::Scratch;
use crate::small::{is_tiny, sort_as_std};
use crate::{Options, Order};

/// A number that keys are sorted as.
trait Number: Copy + Ord {
    /// The number of a key, its first byte at the top.
    fn of(key: &[u8]) -> Self;

    /// The first bytes of it, as many as it has.
    fn write(self, key: &mut [u8]);

    /// The number with all bits the other way round.
    fn inverted(self) -> Self;

    /// The upper 64 bits, or what is below them.
    fn word(self, lower: bool) -> u64;
}

impl Number for u64 {
    #[inline(always)]
    fn of(key: &[u8]) -> u64 {
        let mut bytes = [0; 8];
        bytes[..key.len()].copy_from_slice(key);
        u64::from_be_bytes(bytes)
    }

    #[inline(always)]
    fn write(self, key: &mut [u8]) {
        key.copy_from_slice(&self.to_be_bytes()[..key.len()]);
    }

    #[inline(always)]
    fn inverted(self) -> u64 {
        !self
    }

    #[inline(always)]
    fn word(self, lower: bool) -> u64 {
        if lower { 0 } else { self }
    }
}

impl Number for u128 {
    #[inline(always)]
    fn of(key: &[u8]) -> u128 {
        let mut bytes = [0; 16];
        bytes[..key.len()].copy_from_slice(key);
        u128::from_be_bytes(bytes)
    }

    #[inline(always)]
    fn write(self, key: &mut [u8]) {
        key.copy_from_slice(&self.to_be_bytes()[..key.len()]);
    }

    #[inline(always)]
    fn inverted(self) -> u128 {
        !self
    }

    #[inline(always)]
    fn word(self, lower: bool) -> u64 {
        if lower { self as u64 } else { (self >> 64) as u64 }
    }
}

/// As `Sorter::sort_arrays`, for arrays of up to sixteen bytes.
pub(crate) fn sort<const N: usize>(scratch: &mut Scratch, items: &mut [[u8; N]], order: Order) {
    if is_tiny(items.len()) {
        return sort_as_std(items, <[u8; N]>::as_slice, Options { order, stable: false });
    }
    match (order_of(&*items), order) {
        (Found::Rising, Order::Ascending) | (Found::Falling { .. }, Order::Descending) => {}
        (Found::Falling { .. }, Order::Ascending) | (Found::Rising, Order::Descending) => items.reverse(),
        (Found::Mixed, _) => {
            scratch.reserve(items.len());
            if N <= 8 {
                sort_as(scratch.narrow_sides(items.len()), items, order);
            } else {
                sort_as(scratch.sides(items.len()), items, order);
            }
        }
    }
}

fn sort_as<const N: usize, T: Number>([numbers, free]: [&mut [T]; 2], items: &mut [[u8; N]], order: Order) {
    let turned = |number: T| if order == Order::Ascending { number } else { number.inverted() };
    for (number, item) in numbers.iter_mut().zip(items.iter()) {
        *number = turned(T::of(item));
    }
    split(numbers, free, true, &mut Vec::new(), 0);
    for (number, item) in numbers.iter().zip(items) {
        turned(*number).write(item);
    }
}

/// Sorts numbers; they end where they are, or in `free`. `counts` has memory for each level of splits.
fn split<T: Number>(numbers: &mut [T], free: &mut [T], stay: bool, counts: &mut Vec<Vec<u32>>, level: usize) {
    let (lower, varying) = varying(numbers);
    if varying == 0 || !scatter(numbers, free, lower, varying, counts, level) {
        numbers.sort_unstable();
        if !stay {
            free.copy_from_slice(numbers);
        }
        return;
    }
    let ends = core::mem::take(&mut counts[level]);
    // Buckets of a few are sorted together: none of their numbers is far from its place.
    let (mut start, mut near) = (0, 0);
    for end in ends.iter().map(|end| *end as usize) {
        if end - start > INSERTION_MAX {
            finish(&mut free[near..start], &mut numbers[near..start], stay);
            split(&mut free[start..end], &mut numbers[start..end], !stay, counts, level + 1);
            near = end;
        }
        start = end;
    }
    finish(&mut free[near..], &mut numbers[near..], stay);
    counts[level] = ends;
}

/// Sorts numbers that are near to their places; they end where they are, or in `home`.
fn finish<T: Number>(numbers: &mut [T], home: &mut [T], go_home: bool) {
    insertion_sort_by(numbers, |a, b| a < b);
    if go_home {
        home.copy_from_slice(numbers);
    }
}

/// The bits in which numbers differ in their upper word, or, if there are none, in their lower word.
fn varying<T: Number>(numbers: &[T]) -> (bool, u64) {
    for lower in [false, true] {
        let (mut all, mut any) = (!0, 0);
        for number in numbers {
            all &= number.word(lower);
            any |= number.word(lower);
        }
        if any & !all != 0 {
            return (lower, any & !all);
        }
    }
    (true, 0)
}

/// Scatters numbers by the first bits that vary; `counts[level]` has then where each bucket ends. False if they were
/// not scattered, for too few would leave the largest bucket.
fn scatter<T: Number>(
    numbers: &[T],
    free: &mut [T],
    lower: bool,
    varying: u64,
    counts: &mut Vec<Vec<u32>>,
    level: usize,
) -> bool {
    let len = numbers.len();
    let digit = Digit::choose(varying, digit_bits_max(len));
    if counts.len() == level {
        counts.push(Vec::new());
    }
    counts[level].resize(digit.values(), 0);
    let counted = digit.prepare(numbers, |number: T| number.word(lower), &mut counts[level]);
    if len <= COMPARE_MAX && counted.largest > len - len / 8 {
        return false;
    }
    counted.scatter(free);
    true
}
