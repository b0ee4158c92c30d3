//! The radix step: a digit made of bits that differ, a count, a stable scatter from one side to the other.
//!
//! A digit is not a fixed byte. It is taken from the highest bits in which entries of the partition differ, in up to
//! `FIELDS` runs, so that bits that all share do not widen it: two lower-case letters give ten bits, not sixteen.
//! Leaving out constant bits keeps the order, and bits above the digit are constant, so digits order as entries do
//! as far as they tell them apart.

use crate::entry::{Entry, TAG_SHIFT};

/// Bits of the widest digit.
pub(crate) const DIGIT_BITS_MAX: u32 = 12;

/// Runs of varying bits in one digit.
const FIELDS: usize = 3;

/// How a digit is cut from an entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Digit {
    /// The 64 bits of the entry that it is cut from begin here.
    window: u32,
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
    /// The digit of at most `bits_max` bits from the highest of the bits that vary. `varying` is not 0 and has no bit
    /// of the row.
    pub(crate) fn choose(varying: u128, bits_max: u32) -> Digit {
        // Either the top of the entry, or the part that ends with the tag: wide enough for a digit in both cases.
        let window = if varying >> 96 != 0 { 64 } else { TAG_SHIFT };
        let mut left = (varying >> window) as u64;
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
        Digit { window, bits, fields }
    }

    /// The number of values that the digit can take.
    pub(crate) fn values(&self) -> usize {
        1 << self.bits
    }

    #[inline(always)]
    fn of<const TOP: bool, const MANY: bool>(&self, entry: Entry) -> usize {
        let window = (if TOP { entry >> 64 } else { entry >> TAG_SHIFT }) as u64;
        let [a, b, c] = &self.fields;
        let mut digit = (window >> (a.shift & 63)) & a.mask;
        if MANY {
            digit |= (window >> (b.shift & 63)) & b.mask | (window >> (c.shift & 63)) & c.mask;
        }
        digit as usize
    }

    /// Adds the entries of `from` to `counts`, by digit. `counts` has `values()` places.
    pub(crate) fn count(&self, from: &[Entry], counts: &mut [u32]) {
        match (self.window == 64, self.fields[1].mask != 0) {
            (true, false) => self.count_as::<true, false>(from, counts),
            (true, true) => self.count_as::<true, true>(from, counts),
            (false, false) => self.count_as::<false, false>(from, counts),
            (false, true) => self.count_as::<false, true>(from, counts),
        }
    }

    fn count_as<const TOP: bool, const MANY: bool>(&self, from: &[Entry], counts: &mut [u32]) {
        for entry in from {
            counts[self.of::<TOP, MANY>(*entry)] += 1;
        }
    }

    /// Moves the entries of `from` to `to`, each to the place that `places` has for its digit, which then goes up by
    /// one. Entries of one digit keep their order. `places` began as the sums of the counts of digits below.
    pub(crate) fn scatter(&self, from: &[Entry], to: &mut [Entry], places: &mut [u32]) {
        match (self.window == 64, self.fields[1].mask != 0) {
            (true, false) => self.scatter_as::<true, false>(from, to, places),
            (true, true) => self.scatter_as::<true, true>(from, to, places),
            (false, false) => self.scatter_as::<false, false>(from, to, places),
            (false, true) => self.scatter_as::<false, true>(from, to, places),
        }
    }

    fn scatter_as<const TOP: bool, const MANY: bool>(
        &self,
        from: &[Entry],
        to: &mut [Entry],
        places: &mut [u32],
    ) {
        for entry in from {
            let place = &mut places[self.of::<TOP, MANY>(*entry)];
            to[*place as usize] = *entry;
            *place += 1;
        }
    }
}
