//! Keys of which most have one of a few values: the values are put in order, not the keys.
//!
//! Every key is looked up among the values by a hash. Those found need no comparison: how many there are of a value,
//! and how many come before, tells their places. What is left over is sorted and goes between them.

use alloc::vec::Vec;

use crate::Order;
use crate::bytes::{chunk, equal};
use crate::keys::{Keys, Rows};

/// Values at most: a table of more would not stay in the cache next to the core.
pub(crate) const VALUES_MAX: usize = 1024;

/// Places of the table for each value, and of the smallest table.
const PLACES_OF: usize = 4;
const PLACES_MIN: usize = 1024;

/// Longer keys are compared by the library, which takes more at once.
const LONG: usize = 64;

/// Values by hash.
pub(crate) struct Table<'k> {
    /// The number of a value, from 1 on. A power of two, more than there are values.
    numbers: Vec<u16>,
    values: Vec<&'k [u8]>,
    /// The first and last bytes of each value.
    ends: Vec<[u64; 2]>,
}

/// Eight bytes at the beginning and at the end of a key. Keys of up to sixteen have no others.
#[inline(always)]
fn ends(key: &[u8]) -> [u64; 2] {
    [chunk(key, 0), chunk(key, key.len().saturating_sub(8))]
}

/// A hash of a key, from its length and its first and last bytes.
#[inline(always)]
fn hash_of([first, last]: [u64; 2], len: usize) -> u64 {
    let mixed = (first ^ last.rotate_left(29)).wrapping_add(len as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl<'k> Table<'k> {
    /// A table with room for so many values, at most `VALUES_MAX`.
    pub(crate) fn for_values(count: usize) -> Self {
        let places = (PLACES_OF * count).next_power_of_two().max(PLACES_MIN);
        Table { numbers: alloc::vec![0; places], values: Vec::new(), ends: Vec::new() }
    }

    /// The number of values.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// The number of a key's value, or if it is none of them, the place where it belongs.
    #[inline(always)]
    fn find(&self, key: &[u8], its_ends: [u64; 2]) -> Result<u16, usize> {
        let mask = self.numbers.len() - 1;
        let mut place = (hash_of(its_ends, key.len()) >> 32) as usize & mask;
        loop {
            let number = self.numbers[place];
            if number == 0 {
                return Err(place);
            }
            let value = self.values[usize::from(number) - 1];
            if value.len() == key.len() && self.ends[usize::from(number) - 1] == its_ends {
                let is_equal = match key.len() {
                    ..=16 => true,
                    17..=LONG => equal(value, key),
                    _ => value == key,
                };
                if is_equal {
                    return Ok(number);
                }
            }
            place = (place + 1) & mask;
        }
    }

    /// The number of a key's value, which is added if there are fewer than so many; 0 if it is none of them.
    #[inline(always)]
    fn number_of(&mut self, key: &'k [u8], count_max: usize) -> u16 {
        let its_ends = ends(key);
        match self.find(key, its_ends) {
            Ok(number) => number,
            Err(place) if self.len() < count_max => {
                self.add(key, its_ends, place);
                self.len() as u16
            }
            Err(_) => 0,
        }
    }

    /// Whether a key's value is there already; it is afterwards. There is room for it.
    pub(crate) fn has_or_add(&mut self, key: &'k [u8]) -> bool {
        let its_ends = ends(key);
        let Err(place) = self.find(key, its_ends) else { return true };
        self.add(key, its_ends, place);
        false
    }

    /// Adds a value at the place where it belongs.
    fn add(&mut self, key: &'k [u8], its_ends: [u64; 2], place: usize) {
        self.values.push(key);
        self.ends.push(its_ends);
        self.numbers[place] = self.values.len() as u16;
    }
}

/// Writes the rows of keys, at most `u32::MAX`, in order. Those of equal values stay in theirs. `values` are the rows
/// of values, at most `VALUES_MAX`, each once; as many more are taken as come; `sort` puts rows of others in order.
pub(crate) fn argsort<K: Keys + ?Sized>(
    keys: &K,
    values: &[usize],
    order: Order,
    rows: &mut [u32],
    sort: impl FnOnce(&Rows<'_>) -> Vec<u32>,
) {
    let count_max = (2 * values.len()).min(VALUES_MAX);
    let mut table = Table::for_values(count_max);
    for row in values {
        table.has_or_add(keys.key(*row));
    }
    let mut counts = alloc::vec![0u32; count_max + 1];
    let mut others = Vec::new();
    let mut numbers = Vec::with_capacity(rows.len());
    for row in 0..rows.len() {
        let number = table.number_of(keys.key(row), count_max);
        counts[usize::from(number)] += 1;
        numbers.push(number);
        if number == 0 {
            others.push(row as u32);
        }
    }
    let others = Rows { keys: &keys, rows: &others };
    let sorted = if others.rows.is_empty() { Vec::new() } else { sort(&others) };
    // Where each value's rows begin; what is left over goes between.
    let mut starts = alloc::vec![0u32; counts.len()];
    let (mut place, mut taken) = (0, 0);
    let mut put = |until: usize, place: &mut usize| {
        for row in &sorted[taken..until] {
            rows[*place] = others.rows[*row as usize];
            *place += 1;
        }
        taken = until;
    };
    let mut before = 0;
    let mut values: Vec<(usize, &[u8])> = (1..).zip(table.values).collect();
    values.sort_unstable_by(|a, b| order.turned(a.1.cmp(b.1)));
    for (number, value) in values {
        let less = |row: &u32| order.turned(others.key(*row as usize).cmp(value)).is_lt();
        before += sorted[before..].partition_point(less);
        put(before, &mut place);
        starts[number] = place as u32;
        place += counts[number] as usize;
    }
    put(sorted.len(), &mut place);
    for (row, number) in (0..).zip(numbers) {
        if number > 0 {
            let start = &mut starts[usize::from(number)];
            rows[*start as usize] = row;
            *start += 1;
        }
    }
}
