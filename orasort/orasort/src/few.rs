//! Keys of which most have one of a few values, or of many keys one of some ten thousand: the values are put in order,
//! not the keys.
//!
//! Every key is looked up among the values by a hash. Those found need no comparison: how many there are of a value,
//! and how many come before, tells their places. What is left over is sorted together with the values.

use alloc::vec::Vec;

use crate::bytes::{chunk, equal, prefetch, two_chunks_by};
use crate::finder::Finder;
use crate::keys::{Keys, Rows};
use crate::load::by_level;
use crate::pext::{self, PLAIN};

/// Values at most: a table of more would not stay in the cache next to the core.
const FEW_MAX: usize = 1024;

/// Of so many keys, where a step of their sort does not stay in that cache either, there may be so many.
const MANY_FROM: usize = if cfg!(miri) { 700 } else { 1 << 18 };
const MANY_MAX: usize = if cfg!(miri) { 100 } else { u16::MAX as usize };

/// Whether so many keys may have many values.
pub(crate) fn may_be_many(len: usize) -> bool {
    len >= MANY_FROM
}

/// The most values of so many keys.
pub(crate) fn values_max(len: usize) -> usize {
    if may_be_many(len) { MANY_MAX } else { FEW_MAX }
}

/// Places of the table for each value, and of the smallest table.
const PLACES_OF: usize = 4;
const PLACES_MIN: usize = 1024;

/// Keys that are looked up at once, so that no wait for memory depends on another.
const BLOCK: usize = 32;

/// So many places are looked at for a key, which bounds what keys of one hash can cost.
const LOOKS_MAX: usize = 32;

/// Longer keys are compared by the library, which takes more at once.
const LONG: usize = 64;

/// Values by hash.
pub(crate) struct Table<'k> {
    /// The number of a value, from 1 on. A power of two, more than there are values.
    numbers: Vec<u16>,
    values: Vec<Value<'k>>,
}

#[derive(Clone, Copy, Default)]
struct Value<'k> {
    key: &'k [u8],
    /// Its first and last bytes. Keys of up to sixteen have no others.
    ends: [u64; 2],
}

/// A key that is looked up.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sought<'k> {
    value: Value<'k>,
    hash: usize,
}

impl<'k> Sought<'k> {
    /// # Safety
    /// As of `two_chunks_by`.
    #[inline(always)]
    unsafe fn new<const LEVEL: u8>(key: &'k [u8]) -> Self {
        // SAFETY: the caller promised it.
        let ([first, second], _) = unsafe { two_chunks_by::<LEVEL>(key, 0) };
        let (last, middle) = match key.len() {
            ..=16 => (second, 0),
            len => (chunk(key, len - 8), chunk(key, len / 2)),
        };
        let hash = hash_of([first, middle, last], key.len()) as usize;
        Sought { value: Value { key, ends: [first, last] }, hash }
    }
}

by_level! {
    /// Reads keys from a row on.
    [] seek [], seek_pext, seek_masked => seek_as(block: &mut [Sought<'k>], start: usize) -> ();
}

/// # Safety
/// As of `two_chunks_by`.
#[inline(always)]
unsafe fn seek_as<'k, K: Keys + ?Sized, const LEVEL: u8>(
    finder: &Finder<'k, K>,
    block: &mut [Sought<'k>],
    start: usize,
) {
    for (row, sought) in (start..).zip(block) {
        // SAFETY: the caller promised it.
        *sought = unsafe { Sought::new::<LEVEL>(finder.keys.key(row)) };
    }
}

/// A hash of a key, from its length and its first, middle and last bytes.
#[inline(always)]
fn hash_of([first, middle, last]: [u64; 3], len: usize) -> u64 {
    let mixed = (first ^ middle.rotate_left(13) ^ last.rotate_left(29))
        .wrapping_add(len as u64)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

impl<'k> Table<'k> {
    /// A table with room for so many values, at most `MANY_MAX`.
    pub(crate) fn for_values(count: usize) -> Self {
        let places = (PLACES_OF * count).next_power_of_two().max(PLACES_MIN);
        Table { numbers: alloc::vec![0; places], values: Vec::new() }
    }

    /// Asks for the memory of the number that a key is likely to have.
    #[inline(always)]
    fn ask_for_number(&self, sought: &Sought<'_>) {
        prefetch(self.numbers.as_ptr().wrapping_add(sought.hash & self.mask()));
    }

    /// Asks for the memory of the value that a key is likely to have.
    #[inline(always)]
    fn ask_for_value(&self, sought: &Sought<'_>) {
        let number = usize::from(self.numbers[sought.hash & self.mask()]);
        prefetch(self.values.as_ptr().wrapping_add(number).wrapping_sub(1));
    }

    /// What takes a hash to a place.
    #[inline(always)]
    fn mask(&self) -> usize {
        self.numbers.len() - 1
    }

    /// The number of a key's value, or if it is none of them, the place where it belongs, if there is one near to where
    /// its hash says. Once there is none there never is one, so that a key is a value always or never.
    #[inline(always)]
    fn find(&self, sought: &Sought<'_>) -> Result<u16, Option<usize>> {
        let Value { key, ends } = sought.value;
        let mut place = sought.hash & self.mask();
        for _ in 0..LOOKS_MAX {
            let number = self.numbers[place];
            if number == 0 {
                return Err(Some(place));
            }
            let value = &self.values[usize::from(number) - 1];
            if value.key.len() == key.len() && value.ends == ends {
                let is_equal = match key.len() {
                    ..=16 => true,
                    17..=LONG => equal(value.key, key),
                    _ => value.key == key,
                };
                if is_equal {
                    return Ok(number);
                }
            }
            place = (place + 1) & self.mask();
        }
        Err(None)
    }

    /// Whether a key's value is there already; it is afterwards, if a place is near to where its hash says. There is
    /// room for it.
    pub(crate) fn has_or_add(&mut self, key: &'k [u8]) -> bool {
        // SAFETY: every processor has what `PLAIN` takes.
        let sought = unsafe { Sought::new::<PLAIN>(key) };
        let Err(place) = self.find(&sought) else { return true };
        if let Some(place) = place {
            self.add(&sought, place);
        }
        false
    }

    /// Adds a key as a value at the place where it belongs, and gives its number.
    fn add(&mut self, sought: &Sought<'k>, place: usize) -> u16 {
        self.values.push(sought.value);
        let number = self.values.len() as u16;
        self.numbers[place] = number;
        number
    }
}

/// Writes the rows of keys, at most `u32::MAX`, in order. Those of equal values stay in theirs. `values` are the rows
/// of values, at most `values_max`, each once; more are taken as they come; `sort` puts a row of each, and those of
/// others, in order.
pub(crate) fn argsort<K: Keys + ?Sized>(
    keys: &K,
    values: &[usize],
    rows: &mut [u32],
    sort: impl FnOnce(&Rows<'_>) -> Vec<u32>,
) {
    let most = values_max(rows.len());
    let count_max = if may_be_many(rows.len()) { most } else { (2 * values.len()).min(most) };
    let mut table = Table::for_values(count_max);
    // The rows that are put in order, each with the number of its value or 0.
    let (mut sorted_rows, mut their_numbers) = (Vec::new(), Vec::new());
    for row in values {
        let count = table.values.len();
        if !table.has_or_add(keys.key(*row)) && table.values.len() > count {
            sorted_rows.push(*row as u32);
            their_numbers.push(table.values.len() as u16);
        }
    }
    let mut counts = alloc::vec![0u32; count_max + 1];
    let mut numbers = Vec::with_capacity(rows.len());
    let (finder, mut block) = (Finder::new(keys, 0), [Sought::default(); BLOCK]);
    for start in (0..rows.len()).step_by(BLOCK) {
        let block = &mut block[..BLOCK.min(rows.len() - start)];
        seek(&finder, block, start);
        block.iter().for_each(|sought| table.ask_for_number(sought));
        block.iter().for_each(|sought| table.ask_for_value(sought));
        for (row, sought) in (start..).zip(&*block) {
            let number = table.find(sought).unwrap_or_else(|place| {
                let place = place.filter(|_| table.values.len() < count_max);
                let number = place.map_or(0, |place| table.add(sought, place));
                sorted_rows.push(row as u32);
                their_numbers.push(number);
                number
            });
            counts[usize::from(number)] += 1;
            numbers.push(number);
        }
    }
    // Counts become where the next row of each value goes.
    let mut place = 0;
    for at in sort(&Rows { keys: &keys, rows: &sorted_rows }) {
        let (row, number) = (sorted_rows[at as usize], usize::from(their_numbers[at as usize]));
        if number == 0 {
            rows[place as usize] = row;
            place += 1;
        } else {
            place += core::mem::replace(&mut counts[number], place);
        }
    }
    for (row, number) in (0..).zip(numbers) {
        if number > 0 {
            let next = &mut counts[usize::from(number)];
            rows[*next as usize] = row;
            *next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString};

    use super::*;

    /// Keys of more values than the table takes, shorter and longer than its ends tell, come in order, equal ones in
    /// theirs, and so do those that have one hash.
    #[test]
    fn more_values_than_there_is_room_for_come_in_order() {
        let len = MANY_FROM + 1;
        let number = |n: usize| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % (len / 3);
        let of_hashes = |n: usize| "value ".repeat(number(n) % 13) + &number(n).to_string();
        let of_one_hash = |n: usize| alloc::format!("the same{:08}{:>24}", number(n), "the same");
        for kind in [&of_hashes as &dyn Fn(usize) -> String, &of_one_hash] {
            let keys: Vec<String> = (0..len).map(kind).collect();
            let (mut rows, mut count) = (alloc::vec![0; len], 0);
            argsort(&keys, &[0, 1], &mut rows, |others| {
                count = others.len();
                let mut sorted: Vec<u32> = (0..count as u32).collect();
                sorted.sort_by(|a, b| others.key(*a as usize).cmp(others.key(*b as usize)));
                sorted
            });
            let mut expected: Vec<u32> = (0..len as u32).collect();
            expected.sort_by(|a, b| keys[*a as usize].cmp(&keys[*b as usize]));
            assert!(count > MANY_MAX && rows == expected);
        }
    }
}
