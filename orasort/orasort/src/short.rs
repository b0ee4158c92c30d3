//! Short keys: those of which a number of 64 bits has room for all that tells them apart, beside their row.
//!
//! Such a number is half an entry: less memory, and half of what a radix step moves. No key is looked at again, and
//! equal keys stay in their order, since rows are part of the numbers. What a window claims is checked on every key, as
//! for entries; if a key has more than there is room for, none is sorted here.

use crate::Order;
use crate::arrays::{Words, sort_numbers};
use crate::entry::is_open;
use crate::finder::Finder;
use crate::keys::Keys;
use crate::load::{Made, guess_fresh, make, packs};
use crate::scratch::{Plain, Scratch};

/// Bits of the row and of the length, below those of the key.
const ROW_BITS: u32 = 20;
const LENGTH_BITS: u32 = 5;
const KEY_BITS: u32 = 64 - LENGTH_BITS - ROW_BITS;

/// The longest key: its length has room.
const LENGTH_MAX: usize = (1 << LENGTH_BITS) - 1;

/// Rows that are taken out of their numbers at once.
const BLOCK: usize = 64;

/// A key and its row as a number. From the top: the word of its window, its length, its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
struct Short(u64);

// SAFETY: it is a number.
unsafe impl Plain for Short {}

impl Made for Short {
    #[inline(always)]
    fn of<'k, K: Keys + ?Sized>(finder: &Finder<'k, K>, head: u64, row: u32, key: &'k [u8]) -> Option<Self> {
        let length = (key.len() ^ finder.flip as usize) & LENGTH_MAX;
        let word = head & !0 << (64 - KEY_BITS);
        let is_whole = !is_open(head, finder.flip) && key.len() <= LENGTH_MAX;
        is_whole.then_some(Short(word | (length as u64) << ROW_BITS | u64::from(row)))
    }
}

impl Words for Short {
    /// Without the row: where all else is equal rows rise, and no step by their bits is needed.
    #[inline(always)]
    fn word(self, lower: bool) -> u64 {
        if lower { 0 } else { self.0 >> ROW_BITS << ROW_BITS }
    }
}

/// Whether keys are likely to be short enough, by the rows that a survey looked at, if it looked at any.
pub(crate) fn fit<K: Keys + ?Sized>(keys: &K, sampled: &[usize]) -> bool {
    if keys.len() >> ROW_BITS != 0 || sampled.is_empty() || !packs() {
        return false;
    }
    let is_short = |row: &usize| keys.key(*row).len() <= LENGTH_MAX;
    sampled.iter().all(is_short) && {
        let window = guess_fresh(&Finder::new(keys, 0), keys.len(), true, KEY_BITS);
        sampled.iter().all(|row| keys.key(*row).len() <= window.end())
    }
}

/// Writes the rows of keys in order to the front of the scratch, for which room was made. False if a key has more than
/// a number has room for; then nothing is written that is of use.
pub(crate) fn sort<K: Keys + ?Sized>(scratch: &mut Scratch, keys: &K, order: Order) -> bool {
    let len = keys.len();
    assert!(len >> ROW_BITS == 0, "rows have room");
    let finder = Finder::new(keys, order.flip());
    let mut window = guess_fresh(&finder, len, true, KEY_BITS);
    let (numbers, free) = scratch.numbers::<Short>(2 * len).split_at_mut(len);
    let Some(passed) = make(&finder, numbers, 0, &mut window) else { return false };
    // By now the window fits all, unless the keys have changed.
    let again = make(&finder, &mut numbers[..passed.redo], 0, &mut window);
    if again.is_none_or(|again| again.redo > 0) {
        return false;
    }
    sort_numbers(numbers, free);
    for start in (0..len).step_by(BLOCK) {
        let mut rows = [0; BLOCK];
        let count = BLOCK.min(len - start);
        for (row, number) in rows.iter_mut().zip(&scratch.numbers::<Short>(len)[start..]) {
            *row = (number.0 & ((1 << ROW_BITS) - 1)) as u32;
        }
        // They take the place of numbers that were read.
        scratch.numbers(len)[start..start + count].copy_from_slice(&rows[..count]);
    }
    true
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString};
    use alloc::vec::Vec;

    use super::*;

    const LEN: usize = if cfg!(miri) { 150 } else { 3_000 };

    /// The rows of keys in order, or none if one is too long.
    fn rows(keys: &[String], order: Order) -> Option<Vec<u32>> {
        let mut scratch = Scratch::new();
        scratch.reserve_numbers::<()>(keys.len());
        sort(&mut scratch, keys, order).then(|| scratch.numbers(keys.len()).to_vec())
    }

    /// Keys of all lengths, some equal, some of other bytes than those that were looked at, come in order, equal ones
    /// in theirs.
    #[test]
    fn short_keys_come_in_order() {
        let number = |n: usize| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7;
        let decimals = |n: usize| (number(n) % 10usize.pow(1 + n as u32 % 8)).to_string();
        let letters = |n: usize| "ba".repeat(4)[..number(n) % 9].to_string();
        let dates = |n: usize| alloc::format!("2026-03-{:02}T{:02}", n % 31, number(n) % 24);
        let same = |_: usize| "same".to_string();
        let mut refused = 0;
        for kind in [&decimals as &dyn Fn(usize) -> String, &letters, &dates, &same] {
            let mut keys: Vec<String> = (0..LEN).map(kind).collect();
            let sampled: Vec<usize> = (0..LEN).step_by(LEN / 48).collect();
            assert!(fit(&keys, &sampled) && !fit(&keys, &[]));
            // The first time nothing is put in the place of a key.
            for other in [None, Some(""), Some("2026"), Some("~")] {
                if let Some(other) = other {
                    keys[LEN / 2 + 1] = other.to_string();
                }
                for order in [Order::Ascending, Order::Descending] {
                    let mut expected: Vec<u32> = (0..LEN as u32).collect();
                    expected.sort_by(|a, b| order.turned(keys[*a as usize].cmp(&keys[*b as usize])));
                    match rows(&keys, order) {
                        Some(rows) => assert!(rows == expected, "{other:?} {order:?}"),
                        None => {
                            assert!(other.is_some());
                            refused += 1;
                        }
                    }
                }
            }
        }
        assert!(refused < 16, "half of them");
    }

    /// A key of which not all has room is seen, wherever it is.
    #[test]
    fn longer_keys_are_refused() {
        for at in [0, LEN / 2 + 1, LEN - 1] {
            let mut keys: Vec<String> = (0..LEN).map(|n| n.to_string()).collect();
            keys[at] = "1".repeat(LENGTH_MAX + 1);
            assert!(rows(&keys, Order::Ascending).is_none(), "{at}");
        }
        assert!(!fit(&alloc::vec!["1".repeat(LENGTH_MAX + 1); LEN], &[0]));
    }
}
