//! Numbers of 32 bits, sorted from their last digit to their first.
//!
//! Such a sort moves every number once for each digit, whatever the numbers are: no branch depends on them, and where
//! many lie close together, as addresses of one net do, it takes no longer.

use crate::arrays::Words;

/// Fewer numbers are sorted by digits of 8 bits: the counts of longer ones would take longer than another step.
const WIDE_FROM: usize = 4 << 10;

/// More numbers are parted by their first byte before, so that the rest is done in the cache of a core.
const NEAR_MAX: usize = 128 << 10;

/// Values of a byte, and of a digit of more bits.
const BYTE: usize = 1 << 8;
const WIDE: usize = 1 << 11;

/// Sorts what the upper half of a word tells apart, with as many that are free.
pub(crate) fn sort<T: Words>(numbers: &mut [T], free: &mut [T]) {
    if numbers.len() < WIDE_FROM {
        by_digits::<T, BYTE, 4>(numbers, free, true);
    } else if numbers.len() <= NEAR_MAX {
        by_digits::<T, WIDE, 3>(numbers, free, true);
    } else {
        let mut ends = [0; BYTE];
        numbers.iter().for_each(|number| ends[digit::<T, BYTE>(*number, 3)] += 1);
        scatter::<T, BYTE>(numbers, free, 3, &mut ends);
        let mut start = 0;
        for end in ends.map(|end| end as usize) {
            by_digits::<T, BYTE, 3>(&mut free[start..end], &mut numbers[start..end], false);
            start = end;
        }
    }
}

/// Sorts by the last digits; they end where they are, or in `free`. A digit that is the same in all is left out.
fn by_digits<T: Words, const VALUES: usize, const DIGITS: usize>(
    numbers: &mut [T],
    free: &mut [T],
    stay: bool,
) {
    let mut counts = [[0; VALUES]; DIGITS];
    for number in &*numbers {
        for (place, counts) in counts.iter_mut().enumerate() {
            counts[digit::<T, VALUES>(*number, place)] += 1;
        }
    }
    let (mut from, mut to) = (numbers, free);
    let mut is_here = true;
    for (place, counts) in counts.iter_mut().enumerate() {
        if counts.iter().all(|count| *count as usize != from.len()) {
            scatter::<T, VALUES>(from, to, place, counts);
            core::mem::swap(&mut from, &mut to);
            is_here = !is_here;
        }
    }
    if is_here != stay {
        to.copy_from_slice(from);
    }
}

#[inline(always)]
fn digit<T: Words, const VALUES: usize>(number: T, place: usize) -> usize {
    ((number.word(false) >> 32) as usize >> (VALUES.ilog2() as usize * place)) % VALUES
}

/// Puts each number at the place that its digit gives it. Counts of digits become the ends of their numbers.
#[inline(always)]
fn scatter<T: Words, const VALUES: usize>(
    from: &[T],
    to: &mut [T],
    place: usize,
    counts: &mut [u32; VALUES],
) {
    let mut next = 0;
    for count in counts.iter_mut() {
        next += core::mem::replace(count, next);
    }
    for number in from {
        let count = &mut counts[digit::<T, VALUES>(*number, place)];
        to[*count as usize] = *number;
        *count += 1;
    }
}
