//! The radix step: a digit made of bits that differ, a count, a stable scatter from one side to the other.
//!
//! A digit is not a fixed byte. It is taken from the highest bits in which entries of the partition differ, in up to
//! `FIELDS` runs, so that bits that all share do not widen it: two lower-case letters give ten bits, not sixteen.
//! Leaving out constant bits keeps the order, and bits above the digit are constant, so digits order as entries do
//! as far as they tell them apart.

use crate::entry::{Entry, head};

/// Bits of the widest digit: its counts take as much memory as a core's cache has for a part of the entries.
const DIGIT_BITS_MAX: u32 = 15;

/// Ranges up to this length are sorted by comparing words when a digit splits off less than an eighth.
const COMPARE_MAX: usize = 16 << 10;

/// Entries that are looked at to tell whether a digit spreads, and how many pairs of them may have one digit.
const SAMPLES: usize = 24;
const PAIRS_MAX: u32 = 4;

/// Fewer entries are counted at once, which takes no longer than looking at samples. Then no more than one of
/// `SHARE_MIN` of them may have one digit.
const SPREADS_FROM: usize = 256;
const SHARE_MIN: usize = 4;

/// From this length on, a digit has `DIGIT_BITS_LARGE`: more buckets would not stay in the cache of a core. Of fewer
/// entries one step by as many bits as tell nearly all apart is better than two, or than one and comparisons.
const LARGE: usize = 1 << 18;
pub(crate) const DIGIT_BITS_LARGE: u32 = 10;

/// Runs of varying bits in one digit.
const FIELDS: usize = 3;

/// How a digit is cut from an entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Digit {
    /// Bits in the digit.
    pub(crate) bits: u32,
    fields: [Field; FIELDS],
}

/// One run of bits: shifted right, then masked.
#[derive(Debug, Clone, Copy, Default)]
struct Field {
    shift: u32,
    mask: u64,
}

impl Digit {
    /// The digit of at most `bits_max` bits from the highest of the word's bits that vary, which are not none.
    pub(crate) fn choose(varying: u64, bits_max: u32) -> Digit {
        // A single constant bit between two that vary costs less in the digit than as the end of a run.
        let mut left = varying | (varying << 1 & varying >> 1);
        let mut fields = [Field::default(); FIELDS];
        let mut runs = [(0u32, 0u32); FIELDS];
        let mut bits = 0;
        for run in &mut runs {
            if left == 0 || bits == bits_max {
                break;
            }
            let top = 63 - left.leading_zeros();
            let length = (left << (63 - top)).leading_ones().min(bits_max - bits);
            *run = (top + 1 - length, length);
            left &= (1u64 << (top + 1 - length)) - 1;
            bits += length;
        }
        let mut below = bits;
        for (field, (low, length)) in fields.iter_mut().zip(runs) {
            if length > 0 {
                below -= length;
                *field = Field { shift: low - below, mask: ((1u64 << length) - 1) << below };
            }
        }
        Digit { bits, fields }
    }

    /// The digit for so many entries, four at least, from the highest of the bits that vary, which are not none.
    pub(crate) fn fitting(varying: u64, len: usize) -> Digit {
        if len >= LARGE { Digit::choose(varying, DIGIT_BITS_LARGE) } else { Digit::widest(varying, len) }
    }

    /// As `fitting`, whether or not all buckets would stay in the cache of a core.
    pub(crate) fn widest(varying: u64, len: usize) -> Digit {
        Digit::choose(varying, (len.ilog2() - 1).min(DIGIT_BITS_MAX))
    }

    /// The number of values that the digit can take.
    pub(crate) fn values(&self) -> usize {
        1 << self.bits
    }

    /// The bits below all that the digit is cut from.
    pub(crate) fn below(&self) -> u64 {
        let covered = self.fields.iter().fold(0, |bits, field| bits | field.mask << field.shift);
        (covered & covered.wrapping_neg()).wrapping_sub(1)
    }

    #[inline(always)]
    fn of<const MANY: bool>(&self, word: u64) -> usize {
        let [a, b, c] = &self.fields;
        let mut digit = (word >> (a.shift & 63)) & a.mask;
        if MANY {
            digit |= (word >> (b.shift & 63)) & b.mask | (word >> (c.shift & 63)) & c.mask;
        }
        digit as usize
    }

    /// Calls `work` for each entry with its digit, which is below `values()`. `word` tells what it is cut from.
    #[inline(always)]
    pub(crate) fn visit<E: Copy>(
        &self,
        entries: &[E],
        word: impl Fn(E) -> u64,
        mut work: impl FnMut(usize, E),
    ) {
        if self.fields[1].mask == 0 {
            entries.iter().for_each(|entry| work(self.of::<false>(word(*entry)), *entry));
        } else {
            entries.iter().for_each(|entry| work(self.of::<true>(word(*entry)), *entry));
        }
    }

    /// Whether few of a few entries have the digit of another, or entries are so few that counting tells. Such a digit
    /// tells about as much as seven comparisons of each entry do, which take as long.
    pub(crate) fn spreads(&self, entries: &[Entry]) -> bool {
        if entries.len() < SPREADS_FROM {
            return true;
        }
        let mut samples = [0u16; SAMPLES];
        for (number, sample) in samples.iter_mut().enumerate() {
            *sample = self.of::<true>(head(entries[entries.len() * number / SAMPLES])) as u16;
        }
        let same = |number: usize| {
            let others = &samples[number + 1..];
            others.iter().map(|other| u32::from(*other == samples[number])).sum::<u32>()
        };
        (0..SAMPLES).map(same).sum::<u32>() <= PAIRS_MAX
    }

    /// Adds entries to the counts of their digits. `counts` has at least `values()` places.
    pub(crate) fn count<E: Copy>(&self, entries: &[E], word: impl Fn(E) -> u64, counts: &mut [u32]) {
        let counts = &mut counts[..self.values()];
        self.visit(entries, word, |digit, _| {
            debug_assert!(digit < counts.len());
            // SAFETY: the fields' masks have only bits below `self.bits`, and `counts` has `1 << self.bits` places.
            *unsafe { counts.get_unchecked_mut(digit) } += 1;
        });
    }

    /// Counts entries by digit, to be scattered. `counts` has at least `values()` places. `word` gives the same for the
    /// same entry, always.
    pub(crate) fn prepare<'a, E: Copy, W: Fn(E) -> u64 + Copy>(
        &self,
        from: &'a [E],
        word: W,
        counts: &'a mut [u32],
    ) -> Counted<'a, E, W> {
        let places = &mut counts[..self.values()];
        places.fill(0);
        self.count(from, word, places);
        let (mut next, mut largest) = (0, 0);
        for place in places.iter_mut() {
            largest = largest.max(*place);
            next += core::mem::replace(place, next);
        }
        Counted { digit: *self, from, word, places, largest: largest as usize }
    }
}

/// Entries that were counted by digit and can be scattered. It borrows them, so they are still those that were counted.
pub(crate) struct Counted<'a, E, W> {
    digit: Digit,
    from: &'a [E],
    word: W,
    /// Where the next entry of each digit goes.
    places: &'a mut [u32],
    /// The number of entries with the most frequent digit.
    largest: usize,
}

impl<E: Copy, W: Fn(E) -> u64> Counted<'_, E, W> {
    /// Whether comparing the words of so few entries is better than a scatter by a digit that tells so few apart.
    pub(crate) fn tells_little(&self) -> bool {
        match self.from.len() {
            len if len < SPREADS_FROM => self.largest > len / SHARE_MIN,
            len => len <= COMPARE_MAX && self.largest > len - len / 8,
        }
    }

    /// The number of entries with the most frequent digit.
    pub(crate) fn largest(&self) -> usize {
        self.largest
    }

    /// Moves the entries to `to`, in order of digits; entries of one digit keep their order. Afterwards the counts
    /// have become the end of each digit's entries in `to`.
    pub(crate) fn scatter(self, to: &mut [E]) {
        assert_eq!(self.from.len(), to.len(), "sides of one length");
        let places = self.places;
        self.digit.visit(self.from, self.word, |digit, entry| {
            debug_assert!(digit < places.len());
            // SAFETY: as in `count`, for the digit. Its place began at the number of entries with lower digits and goes
            // up by one with each of its entries; these are the entries that were counted, by the same words, so it
            // stays below their number, which is the length of `to`.
            unsafe {
                let place = places.get_unchecked_mut(digit);
                debug_assert!((*place as usize) < to.len());
                *to.get_unchecked_mut(*place as usize) = entry;
                *place += 1;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::load::scan;

    /// Whatever bits vary, digits rise with entries, fit, and tell some of them apart.
    #[test]
    fn digits_order_as_entries() {
        let mut state = 1u128;
        for case in 0..if cfg!(miri) { 20 } else { 3_000 } {
            let mut next = || {
                state = state.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(3);
                state ^ state >> 61
            };
            let mask = match case % 4 {
                0 => next() & next() & next(),
                1 => next() & !0 << 108,
                2 => next() & !0 >> 40,
                _ => next(),
            };
            let constant = next();
            let mut entries: Vec<Entry> = (0..40).map(|_| (next() & mask) | (constant & !mask)).collect();
            entries.sort_unstable();
            let varying = scan(&entries);
            if varying == 0 {
                continue;
            }
            let digit = Digit::choose(varying, 1 + case % DIGIT_BITS_MAX);
            let mut digits = vec![];
            digit.visit(&entries, head, |value, _| digits.push(value));
            assert!(
                digits.is_sorted() && digits[0] < digits[39] && digits[39] < digit.values(),
                "{varying:x}"
            );
            let (mut counts, mut moved) = (vec![0; digit.values()], vec![0; 40]);
            let counted = digit.prepare(&entries, head, &mut counts);
            assert!(counted.largest < 40);
            counted.scatter(&mut moved);
            assert_eq!(moved, entries);
        }
    }
}
