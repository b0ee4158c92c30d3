//! Keys of which most have one of a few values: the values are put in order, not the keys.
//!
//! Every key is looked up among the values by a hash. Those found need no comparison: how many there are of a value,
//! and how many come before, tells their places. What is left over is sorted and goes between them.

use alloc::vec::Vec;

use crate::Order;
use crate::bytes::{chunk, equal};
use crate::keys::{Keys, Rows};

/// Values at most.
pub(crate) const VALUES_MAX: usize = 128;

/// Places of the table: a few times the values.
const PLACES: usize = 1024;

/// Values by hash.
struct Table<'k> {
    /// The number of a value, from 1 on.
    numbers: [u8; PLACES],
    values: Vec<&'k [u8]>,
    /// The first and last bytes of each value.
    ends: Vec<[u64; 2]>,
}

/// Eight bytes at the beginning and at the end of a key. Keys of up to sixteen have no others.
#[inline(always)]
fn ends(key: &[u8]) -> [u64; 2] {
    [chunk(key, 0), chunk(key, key.len().saturating_sub(8))]
}

/// A place for a key, from its length and its first and last bytes.
#[inline(always)]
fn place_of([first, last]: [u64; 2], len: usize) -> usize {
    let mixed = (first ^ last.rotate_left(29)).wrapping_add(len as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> (64 - PLACES.ilog2())
}

impl<'k> Table<'k> {
    fn new(values: Vec<&'k [u8]>) -> Self {
        let mut numbers = [0; PLACES];
        for (value, number) in values.iter().zip(1u8..) {
            let mut place = place_of(ends(value), value.len());
            while numbers[place] != 0 {
                place = (place + 1) & (PLACES - 1);
            }
            numbers[place] = number;
        }
        let ends = values.iter().map(|value| ends(value)).collect();
        Table { numbers, values, ends }
    }

    /// The number of a key's value, 0 if it is none of them.
    #[inline(always)]
    fn number_of(&self, key: &[u8]) -> u8 {
        let its_ends = ends(key);
        let mut place = place_of(its_ends, key.len());
        loop {
            let number = self.numbers[place];
            if number == 0 {
                return 0;
            }
            let value = self.values[usize::from(number) - 1];
            if value.len() == key.len()
                && self.ends[usize::from(number) - 1] == its_ends
                && (key.len() <= 16 || equal(value, key))
            {
                return number;
            }
            place = (place + 1) & (PLACES - 1);
        }
    }
}

/// Writes the rows of keys, at most `u32::MAX`, in order. Those of equal values stay in theirs. `values` are the rows
/// of the values, in ascending order, at most `VALUES_MAX`; `sort` puts rows of others in order.
pub(crate) fn argsort<K: Keys + ?Sized>(
    keys: &K,
    values: &[usize],
    order: Order,
    rows: &mut [u32],
    sort: impl FnOnce(&Rows<'_, K>) -> Vec<u32>,
) {
    let mut values: Vec<&[u8]> = values.iter().map(|row| keys.key(*row)).collect();
    if order == Order::Descending {
        values.reverse();
    }
    let table = Table::new(values);
    let mut counts = [0u32; VALUES_MAX + 1];
    let mut others = Vec::new();
    let mut numbers = Vec::with_capacity(rows.len());
    for row in 0..rows.len() {
        let number = table.number_of(keys.key(row));
        counts[usize::from(number)] += 1;
        numbers.push(number);
        if number == 0 {
            others.push(row as u32);
        }
    }
    let others = Rows { keys, rows: &others };
    let sorted = if others.rows.is_empty() { Vec::new() } else { sort(&others) };
    // Where each value's rows begin; what is left over goes between.
    let mut starts = [0u32; VALUES_MAX + 1];
    let (mut place, mut taken) = (0, 0);
    let mut put = |until: usize, place: &mut usize| {
        for row in &sorted[taken..until] {
            rows[*place] = others.rows[*row as usize];
            *place += 1;
        }
        taken = until;
    };
    let mut before = 0;
    for (number, value) in (1..).zip(&table.values) {
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
