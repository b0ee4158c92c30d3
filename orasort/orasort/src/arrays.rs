//! Arrays of bytes, up to sixteen of them: keys that are their own items, sorted as the numbers that they are.
//!
//! Where a key has no more bytes than an entry has room for, nothing has to be found again, and no row has to be kept:
//! what the radix steps move is the keys. A step is the core's (`digit`); there are at most two words of 64 bits to
//! cut digits from, and steps nest at most as deep as these have digits.

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::{array, slice};

use crate::bytes::chunk;
use crate::digit::Digit;
use crate::insertion::{INSERTION_MAX, insertion_sort_by};
use crate::load::varying_bits;
use crate::narrow;
use crate::runs::{Found, order_of};
use crate::scratch::{Plain, Scratch};
use crate::small::{is_tiny, sort_as_std};
use crate::{Options, Order};

/// What digits are cut from.
pub(crate) trait Words: Copy + Ord {
    /// The upper word, or the one below it, for which there may be no room. Those whose words are equal are equal, or
    /// are in order where they come from.
    fn word(self, lower: bool) -> u64;
}

/// A key of up to sixteen bytes that is sorted where it is, in falling order where `FALLS`.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
struct Bytes<const N: usize, const FALLS: bool>([u8; N]);

// SAFETY: any bytes are some, aligned to one.
unsafe impl<const N: usize, const FALLS: bool> Plain for Bytes<N, FALLS> {}

impl<const N: usize, const FALLS: bool> Words for Bytes<N, FALLS> {
    #[inline(always)]
    fn word(self, lower: bool) -> u64 {
        let word = match self.0.first_chunk() {
            Some(four) if N == 4 => u64::from(u32::from_be_bytes(*four)) << 32,
            _ => chunk(&self.0, if lower { 8 } else { 0 }),
        };
        if FALLS { !word } else { word }
    }
}

impl<const N: usize, const FALLS: bool> Ord for Bytes<N, FALLS> {
    #[inline(always)]
    fn cmp(&self, other: &Self) -> Ordering {
        let upper = self.word(false).cmp(&other.word(false));
        if N <= 8 { upper } else { upper.then_with(|| self.word(true).cmp(&other.word(true))) }
    }
}

impl<const N: usize, const FALLS: bool> PartialOrd for Bytes<N, FALLS> {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<const N: usize, const FALLS: bool> PartialEq for Bytes<N, FALLS> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<const N: usize, const FALLS: bool> Eq for Bytes<N, FALLS> {}

/// As `Sorter::sort_arrays`, for arrays of up to sixteen bytes.
pub(crate) fn sort<const N: usize>(scratch: &mut Scratch, items: &mut [[u8; N]], order: Order) {
    if is_tiny(items.len()) {
        return sort_as_std(items, <[u8; N]>::as_slice, Options { order, stable: false });
    }
    match order_of(&*items, order) {
        Found::InOrder => {}
        Found::Reversed { .. } => items.reverse(),
        Found::Mixed { .. } if order == Order::Ascending => sort_mixed::<N, false>(scratch, items),
        Found::Mixed { .. } => sort_mixed::<N, true>(scratch, items),
    }
}

fn sort_mixed<const N: usize, const FALLS: bool>(scratch: &mut Scratch, items: &mut [[u8; N]]) {
    match N {
        4 | 8 | 16 => {
            // SAFETY: `Bytes` is an array and nothing else, and `items` is borrowed for as long.
            let keys = unsafe { slice::from_raw_parts_mut(items.as_mut_ptr().cast(), items.len()) };
            sort_bytes::<N, FALLS>(keys, scratch.numbers(items.len()));
        }
        0..4 => sort_padded::<N, 4, FALLS>(scratch, items),
        5..8 => sort_padded::<N, 8, FALLS>(scratch, items),
        _ => sort_padded::<N, 16, FALLS>(scratch, items),
    }
}

fn sort_bytes<const N: usize, const FALLS: bool>(keys: &mut [Bytes<N, FALLS>], free: &mut [Bytes<N, FALLS>]) {
    if N == 4 { narrow::sort(keys, free) } else { sort_numbers(keys, free) }
}

/// Sorts arrays of lengths that take several loads and stores by copies that take one.
fn sort_padded<const N: usize, const M: usize, const FALLS: bool>(
    scratch: &mut Scratch,
    items: &mut [[u8; N]],
) {
    let (keys, free) = scratch.numbers::<Bytes<M, FALLS>>(2 * items.len()).split_at_mut(items.len());
    for (key, item) in keys.iter_mut().zip(items.iter()) {
        key.0 = array::from_fn(|at| item.get(at).copied().unwrap_or(0));
    }
    sort_bytes(keys, free);
    items.iter_mut().zip(keys).for_each(|(item, key)| *item = array::from_fn(|at| key.0[at]));
}

/// Sorts numbers, with as many that are free.
pub(crate) fn sort_numbers<T: Words>(numbers: &mut [T], free: &mut [T]) {
    split(numbers, free, true, &mut Vec::new(), 0);
}

/// Up to so many bytes are sorted from a lower digit to a higher one, for they stay in the cache of a core.
const NEAR_BYTES: usize = 256 << 10;

/// Two digits have so many bits more than it takes to number what they tell apart, so that few have both of another.
const SPARE_BITS: u32 = 5;
/// By so many more they are all, if that does, and nothing is left together.
const ALL_BITS: u32 = 4;

/// Sorts numbers; they end where they are, or in `free`. `counts` has memory for each level of splits.
fn split<T: Words>(numbers: &mut [T], free: &mut [T], stay: bool, counts: &mut Vec<Vec<u32>>, level: usize) {
    let (lower, varying) = varying(numbers);
    if counts.len() == level {
        counts.push(Vec::new());
    }
    if varying != 0 && level > 0 && size_of_val(numbers) <= NEAR_BYTES {
        return by_digits(numbers, free, stay, counts, level, (lower, varying));
    }
    if varying == 0 || !scatter(numbers, free, lower, varying, &mut counts[level]) {
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

/// As `split`, from a lower digit to a higher one. What both leave together is sorted in its place.
fn by_digits<T: Words>(
    numbers: &mut [T],
    free: &mut [T],
    stay: bool,
    counts: &mut Vec<Vec<u32>>,
    level: usize,
    (lower, varying): (bool, u64),
) {
    let word = |number: T| number.word(lower);
    let enough = numbers.len().ilog2() + SPARE_BITS;
    let all = varying.count_ones();
    let bits = if all <= enough + ALL_BITS { all } else { enough };
    let high = Digit::choose(varying, bits.div_ceil(2));
    let rest = varying & high.below();
    let mut told = !high.below();
    let mut is_there = true;
    if rest != 0 {
        let low = Digit::choose(rest, bits / 2);
        told = !low.below();
        counts[level].resize(low.values().max(high.values()), 0);
        low.prepare(numbers, word, &mut counts[level]).scatter(free);
        high.prepare(free, word, &mut counts[level]).scatter(numbers);
    } else {
        counts[level].resize(high.values(), 0);
        high.prepare(numbers, word, &mut counts[level]).scatter(free);
        is_there = false;
    }
    let (sorted, other) = if is_there == stay {
        if stay { (numbers, free) } else { (free, numbers) }
    } else if stay {
        numbers.copy_from_slice(free);
        (numbers, free)
    } else {
        free.copy_from_slice(numbers);
        (free, numbers)
    };
    if varying & !told == 0 && (lower || size_of::<T>() <= 8) {
        return;
    }
    let mut start = 0;
    while start < sorted.len() {
        let value = word(sorted[start]) & told;
        let mut end = start + 1;
        while end < sorted.len() && word(sorted[end]) & told == value {
            end += 1;
        }
        if end - start > INSERTION_MAX {
            split(&mut sorted[start..end], &mut other[start..end], true, counts, level + 1);
        } else if end - start > 1 {
            insertion_sort_by(&mut sorted[start..end], |a, b| a < b);
        }
        start = end;
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

/// Scatters numbers by the first bits that vary; `counts` has then where each bucket ends. False if they were not
/// scattered, for too few would leave the largest bucket.
fn scatter<T: Words>(
    numbers: &[T],
    free: &mut [T],
    lower: bool,
    varying: u64,
    counts: &mut Vec<u32>,
) -> bool {
    let digit = Digit::fitting(varying, numbers.len());
    counts.resize(digit.values(), 0);
    let counted = digit.prepare(numbers, |number: T| number.word(lower), counts);
    if counted.tells_little() {
        return false;
    }
    counted.scatter(free);
    true
}
