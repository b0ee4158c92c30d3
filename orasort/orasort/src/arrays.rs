//! Arrays of bytes, up to sixteen of them: keys that are their own items, sorted as the numbers that they are.
//!
//! Where a key has no more bytes than an entry has room for, nothing has to be found again, and no row has to be kept:
//! what the radix steps move is the keys. A step is the core's (`digit`); there are at most two words of 64 bits to
//! cut digits from, and steps nest at most as deep as these have digits.

use alloc::vec::Vec;
use core::ops::Not;

use crate::bytes::chunk;
use crate::digit::Digit;
use crate::insertion::{INSERTION_MAX, insertion_sort_by};
use crate::load::varying_bits;
use crate::runs::{Found, order_of};
use crate::scratch::Scratch;
use crate::small::{is_tiny, sort_as_std};
use crate::{Options, Order};

/// What digits are cut from.
pub(crate) trait Words: Copy + Ord {
    /// The upper word, or the one below it, for which there may be no room. Those whose words are equal are equal, or
    /// are in order where they come from.
    fn word(self, lower: bool) -> u64;
}

impl Words for u64 {
    #[inline(always)]
    fn word(self, lower: bool) -> u64 {
        if lower { 0 } else { self }
    }
}

impl Words for u128 {
    #[inline(always)]
    fn word(self, lower: bool) -> u64 {
        if lower { self as u64 } else { (self >> 64) as u64 }
    }
}

/// A number that keys are sorted as.
trait Number: Words + Not<Output = Self> {
    /// The number of two words.
    fn of(upper: u64, lower: u64) -> Self;
}

impl Number for u64 {
    #[inline(always)]
    fn of(upper: u64, _: u64) -> u64 {
        upper
    }
}

impl Number for u128 {
    #[inline(always)]
    fn of(upper: u64, lower: u64) -> u128 {
        u128::from(upper) << 64 | u128::from(lower)
    }
}

/// As `Sorter::sort_arrays`, for arrays of up to sixteen bytes.
pub(crate) fn sort<const N: usize>(scratch: &mut Scratch, items: &mut [[u8; N]], order: Order) {
    if is_tiny(items.len()) {
        return sort_as_std(items, <[u8; N]>::as_slice, Options { order, stable: false });
    }
    match order_of(&*items, order) {
        Found::InOrder => {}
        Found::Reversed { .. } => items.reverse(),
        Found::Mixed { .. } => {
            let len = items.len();
            if N <= 4 {
                sort_narrow(scratch.numbers(len), items, order);
            } else if N <= 8 {
                sort_as(scratch.numbers::<u64>(2 * len), items, order);
            } else {
                sort_as(scratch.numbers::<u128>(2 * len), items, order);
            }
        }
    }
}

/// Bits of a digit of arrays of up to four bytes, and so many digits.
const NARROW_BITS: u32 = 8;
const NARROW_VALUES: usize = 1 << NARROW_BITS;
const NARROW_DIGITS: usize = 4;

/// Sorts arrays of up to four bytes from their last digit to their first, to and fro between `items` and as many
/// numbers. A digit that is the same in all is left out.
fn sort_narrow<const N: usize>(numbers: &mut [u32], items: &mut [[u8; N]], order: Order) {
    let turned = |number: u32| if order == Order::Ascending { number } else { !number };
    let number_of = |item: &[u8; N]| turned((chunk(item, 0) >> 32) as u32);
    let put = |item: &mut [u8; N], number: u32| item.copy_from_slice(&turned(number).to_be_bytes()[..N]);
    let mut counts = [[0u32; NARROW_VALUES]; NARROW_DIGITS];
    for number in items.iter().map(number_of) {
        for (place, counts) in counts.iter_mut().enumerate() {
            counts[narrow_digit(number, place)] += 1;
        }
    }
    let mut is_home = true;
    for (place, counts) in counts.iter_mut().enumerate() {
        if counts.iter().any(|count| *count as usize == items.len()) {
            continue;
        }
        if is_home {
            let from = items.iter().map(number_of);
            scatter_narrow(from, place, counts, |at, number| numbers[at] = number);
        } else {
            let from = numbers.iter().copied();
            scatter_narrow(from, place, counts, |at, number| put(&mut items[at], number));
        }
        is_home = !is_home;
    }
    if !is_home {
        items.iter_mut().zip(numbers).for_each(|(item, number)| put(item, *number));
    }
}

#[inline(always)]
fn narrow_digit(number: u32, place: usize) -> usize {
    (number >> (NARROW_BITS * place as u32)) as usize % NARROW_VALUES
}

/// Puts each number at the place that its digit gives it.
#[inline(always)]
fn scatter_narrow(
    numbers: impl Iterator<Item = u32>,
    place: usize,
    counts: &mut [u32; NARROW_VALUES],
    mut put: impl FnMut(usize, u32),
) {
    let mut next = 0;
    for count in counts.iter_mut() {
        next += core::mem::replace(count, next);
    }
    for number in numbers {
        let count = &mut counts[narrow_digit(number, place)];
        put(*count as usize, number);
        *count += 1;
    }
}

fn sort_as<const N: usize, T: Number>(both: &mut [T], items: &mut [[u8; N]], order: Order) {
    let (numbers, free) = both.split_at_mut(items.len());
    let turned = |number: T| if order == Order::Ascending { number } else { !number };
    for (number, item) in numbers.iter_mut().zip(items.iter()) {
        *number = turned(T::of(chunk(item, 0), chunk(item, 8)));
    }
    sort_numbers(numbers, free);
    for (number, item) in numbers.iter().zip(items) {
        let number = turned(*number);
        let words = [false, true].map(|lower| number.word(lower).to_be_bytes());
        item.copy_from_slice(&words.as_flattened()[..N]);
    }
}

/// Sorts numbers, with as many that are free.
pub(crate) fn sort_numbers<T: Words>(numbers: &mut [T], free: &mut [T]) {
    split(numbers, free, true, &mut Vec::new(), 0);
}

/// Sorts numbers; they end where they are, or in `free`. `counts` has memory for each level of splits.
fn split<T: Words>(numbers: &mut [T], free: &mut [T], stay: bool, counts: &mut Vec<Vec<u32>>, level: usize) {
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
fn finish<T: Words>(numbers: &mut [T], home: &mut [T], go_home: bool) {
    insertion_sort_by(numbers, |a, b| a < b);
    if go_home {
        home.copy_from_slice(numbers);
    }
}

/// The bits in which numbers differ in their upper word, or, if there are none, in their lower word.
fn varying<T: Words>(numbers: &[T]) -> (bool, u64) {
    let of_word = |lower| varying_bits(numbers.iter().map(|number| number.word(lower)));
    match of_word(false) {
        0 => (true, of_word(true)),
        upper => (false, upper),
    }
}

/// Scatters numbers by the first bits that vary; `counts[level]` has then where each bucket ends. False if they were
/// not scattered, for too few would leave the largest bucket.
fn scatter<T: Words>(
    numbers: &[T],
    free: &mut [T],
    lower: bool,
    varying: u64,
    counts: &mut Vec<Vec<u32>>,
    level: usize,
) -> bool {
    let digit = Digit::fitting(varying, numbers.len());
    if counts.len() == level {
        counts.push(Vec::new());
    }
    counts[level].resize(digit.values(), 0);
    let counted = digit.prepare(numbers, |number: T| number.word(lower), &mut counts[level]);
    if counted.tells_little() {
        return false;
    }
    counted.scatter(free);
    true
}
