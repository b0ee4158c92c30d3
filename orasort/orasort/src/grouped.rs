//! Keys that come grouped, as paths in the order of a listing do: neighbours agree further with each other than with
//! most other keys.
//!
//! One pass tells how far each key agrees with the one before it. From then on keys in a row that agree in all that is
//! looked at are one **group**, an interval of rows, and what is sorted is groups: by seven bytes of the first key of
//! each, from where the keys of a set begin to differ. Groups whose words are the same are the next set, and so is one
//! whose word does not tell all of it; there they fall apart where their keys agree no further. So the upper part of
//! the tree that keys are is sorted at the price of its groups, not of the keys, and keys that lie side by side are
//! looked at together.
//!
//! Every set but one of equal keys falls into two at least, seven bytes or more further on. So the cost is that of
//! loading seven bytes each of what tells keys apart, and of sorting words.

use alloc::vec::Vec;

use crate::Order;
use crate::bytes::{agree, chunk, common_prefix, common_prefix_from};
use crate::insertion::{INSERTION_MAX, insertion_sort_by};
use crate::keys::Keys;

/// Bytes of a key in a word, at its top.
const WORD_BYTES: usize = 7;

/// The lowest byte of a word is how many bytes of the key are left where it begins, or this of a key that goes on. So
/// words order as keys do as far as they reach, and keys of one word that do not go on are equal.
const GOES_ON: usize = WORD_BYTES + 1;
const LEFT_MASK: u64 = 0xff;

/// What is said of a key that is equal to the one before it, and the most that is said of others.
const EQUAL: u16 = u16::MAX;
const AGREE_MAX: usize = EQUAL as usize - 1;

/// So many keys are asked at once whether they agree.
const CHUNK: usize = 32;

/// A group: its word, its first row, the row behind its last. Integer order is that of words, then of rows.
type Group = u128;

fn group(word: u64, start: u32, end: u32) -> Group {
    u128::from(word) << 64 | u128::from(start) << 32 | u128::from(end)
}

fn word(group: Group) -> u64 {
    (group >> 64) as u64
}

fn start(group: Group) -> u32 {
    (group >> 32) as u32
}

fn end(group: Group) -> u32 {
    group as u32
}

fn is_single(group: Group) -> bool {
    start(group) + 1 == end(group)
}

/// Whether the keys of a group go on behind its word, which was xored with `flip`.
fn goes_on(group: Group, flip: u64) -> bool {
    (word(group) ^ flip) & LEFT_MASK == GOES_ON as u64
}

/// Groups from a place on up to where the next set begins.
struct Set {
    start: usize,
    /// Bytes that all keys share; none if the groups are in order.
    shared: Option<usize>,
}

/// Writes the rows of keys, one at least and at most `u32::MAX`, in order. Those of equal keys stay in theirs.
pub(crate) fn argsort<K: Keys + ?Sized>(keys: &K, order: Order, rows: &mut [u32]) {
    let agreed = agreed(keys);
    let flip = order.flip();
    let key = |group: Group| keys.key(start(group) as usize);
    let is_less = |a: Group, b: Group, from: usize| {
        let [rest_a, rest_b] = [a, b].map(|group| key(group).get(from..).unwrap_or(&[]));
        order.turned(rest_a.cmp(rest_b)).then(start(a).cmp(&start(b))).is_lt()
    };
    let mut groups = alloc::vec![group(0, 0, rows.len() as u32)];
    let mut sets = alloc::vec![Set { start: 0, shared: Some(0) }];
    // From the last set on, so that behind its groups there is room for what they fall apart into.
    let mut left = rows;
    while let Some(Set { start: from, shared }) = sets.pop() {
        let its = &mut groups[from..];
        let two = matches!(*its, [a, b] if is_single(a) && is_single(b));
        match shared {
            Some(shared) if two && is_less(its[1], its[0], shared) => its.swap(0, 1),
            Some(shared) if !two => {
                let common = common_of(keys, &agreed, its, shared);
                let its_rows = its.iter().map(|group| (end(*group) - start(*group)) as usize).sum::<usize>();
                // Few keys are compared, whatever they agree in.
                let is_few = its_rows <= INSERTION_MAX;
                let all_single = fall_apart(
                    &agreed,
                    &mut groups,
                    from,
                    if is_few { usize::MAX } else { common + GOES_ON },
                );
                let its = &mut groups[from..];
                for its in &mut *its {
                    let key = key(*its);
                    let bytes_left = key.len().saturating_sub(common).min(GOES_ON) as u64;
                    let word = chunk(key, common) & !LEFT_MASK | bytes_left;
                    *its = group(word ^ flip, start(*its), end(*its));
                }
                if !(all_single && is_few) {
                    its.sort_unstable();
                    push_sets(&mut sets, &groups, from, common, flip);
                    continue;
                }
                insertion_sort_by(its, |a, b| {
                    let tie = word(a) == word(b) && goes_on(a, flip);
                    if tie { is_less(a, b, common) } else { a < b }
                });
            }
            _ => {}
        }
        for group in groups.drain(from..).rev() {
            let (others, its) = left.split_at_mut(left.len() - (end(group) - start(group)) as usize);
            its.iter_mut().zip(start(group)..).for_each(|(place, row)| *place = row);
            left = others;
        }
    }
}

/// How many bytes each key has in common with the one before it, `EQUAL` if it is the same.
fn agreed<K: Keys + ?Sized>(keys: &K) -> Vec<u16> {
    let mut last = keys.key(0);
    let agreed = |row: usize| {
        let before = core::mem::replace(&mut last, keys.key(row));
        let common = common_prefix(before, last);
        if common == before.len().max(last.len()) { EQUAL } else { common.min(AGREE_MAX) as u16 }
    };
    (0..keys.len()).map(agreed).collect()
}

/// Bytes that all keys of some groups share, which are known to share so many.
fn common_of<K: Keys + ?Sized>(keys: &K, agreed: &[u16], groups: &[Group], shared: usize) -> usize {
    let key = |group: Group| keys.key(start(group) as usize);
    let model = key(groups[0]);
    let mut common = model.len();
    for group in groups {
        let within = &agreed[start(*group) as usize + 1..end(*group) as usize];
        let least = within.iter().fold(EQUAL, |least, agreed| least.min(*agreed));
        if least < EQUAL {
            common = common.min(usize::from(least));
        }
    }
    // Most often the last agrees with the first as far as all do.
    for (number, group) in groups[1..].iter().rev().enumerate() {
        if number == 0 || !agree(model, key(*group), shared, common) {
            common = common_prefix_from(&model[..common], key(*group), shared);
        }
    }
    common.max(shared)
}

/// Has the groups from a place on fall apart where keys agree in less than so many bytes. Whether each is of one key
/// then.
fn fall_apart(agreed: &[u16], groups: &mut Vec<Group>, from: usize, bytes: usize) -> bool {
    if groups[from..].iter().all(|group| is_single(*group)) {
        return true;
    }
    let bytes = u16::try_from(bytes).unwrap_or(EQUAL);
    let end_before = groups.len();
    for place in from..end_before {
        let (mut first, last) = (start(groups[place]), end(groups[place]));
        let mut row = first + 1;
        for some in agreed[row as usize..last as usize].chunks(CHUNK) {
            if some.iter().fold(false, |any, agreed| any | (*agreed < bytes)) {
                for (row, _) in (row..).zip(some).filter(|(_, agreed)| **agreed < bytes) {
                    groups.push(group(0, first, row));
                    first = row;
                }
            }
            row += some.len() as u32;
        }
        groups.push(group(0, first, last));
    }
    groups.drain(from..end_before);
    groups[from..].iter().all(|group| is_single(*group))
}

/// Pushes a set for each tie among the groups from a place on, which are in order and of keys that share `common`
/// bytes, and for those between.
fn push_sets(sets: &mut Vec<Set>, groups: &[Group], from: usize, common: usize, flip: u64) {
    let (mut start, mut in_order) = (from, false);
    while start < groups.len() {
        let first = groups[start];
        let same = groups[start..].iter().take_while(|group| word(**group) == word(first)).count();
        let is_set = goes_on(first, flip) && (same > 1 || !is_single(first));
        if is_set {
            sets.push(Set { start, shared: Some(common + WORD_BYTES) });
        } else if !in_order {
            sets.push(Set { start, shared: None });
        }
        in_order = !is_set;
        start += same;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;
    use core::cell::Cell;

    use super::*;

    /// Numbers of no order, each below the one asked for.
    fn numbers(seed: u32) -> impl FnMut(usize) -> usize {
        let mut state = seed;
        move |below| {
            state = state.wrapping_mul(0x915f_77f5).wrapping_add(0x1234_5671);
            (state >> 12) as usize % below
        }
    }

    /// Keys of which each is made from the one before: a piece of it, and then others, of few bytes.
    fn keys(seed: u32, len: usize) -> Vec<Vec<u8>> {
        let mut next = numbers(seed);
        let letters = [0, 0, 1, 255];
        let mut keys: Vec<Vec<u8>> = vec![vec![]];
        while keys.len() < len {
            // Now and then one that was long before.
            let before = keys.len() - 1 - if next(6) == 0 { next(keys.len()) } else { 0 };
            let mut key = keys[before].clone();
            key.truncate(key.len().saturating_sub([0, 0, 1, 3, 9, 40][next(6)]));
            (0..[0, 1, 2, 8, 8, 20][next(6)]).for_each(|_| key.push(letters[next(1 + seed as usize % 4)]));
            keys.push(key);
        }
        keys
    }

    fn check(keys: &[Vec<u8>]) {
        for order in [Order::Ascending, Order::Descending] {
            let mut expected: Vec<u32> = (0..keys.len() as u32).collect();
            expected.sort_by(|a, b| order.turned(keys[*a as usize].cmp(&keys[*b as usize])));
            let mut rows = vec![0; keys.len()];
            argsort(keys, order, &mut rows);
            assert_eq!(rows, expected);
        }
    }

    /// However far keys agree, and wherever they end, rows come in order, those of equal keys in theirs.
    #[test]
    fn groups_sort_as_the_library_does() {
        for case in 0..if cfg!(miri) { 12 } else { 400 } {
            let len = [1, 2, 3, INSERTION_MAX, INSERTION_MAX + 1, 90, 1500][case as usize % 7];
            check(&keys(case, if cfg!(miri) { len.min(60) } else { len }));
        }
    }

    /// Keys that agree in more than can be said of them.
    #[test]
    fn longer_than_is_said() {
        let mut next = numbers(5);
        let long = |last: usize| {
            let mut key = vec![7; AGREE_MAX - 20];
            (0..last).for_each(|place| key.push((place / 9) as u8));
            key
        };
        let mut keys: Vec<Vec<u8>> = (0..if cfg!(miri) { 3 } else { 60 }).map(|_| long(next(50))).collect();
        check(&keys);
        keys.iter_mut().enumerate().for_each(|(row, key)| key.push(row as u8 / 2));
        check(&keys);
    }

    /// Keys that are others each time they are asked for: whatever the order, each row is there once.
    #[test]
    fn keys_that_lie_end_in_some_order() {
        struct Lies {
            keys: Vec<Vec<u8>>,
            asked: Cell<usize>,
        }
        impl Keys for Lies {
            fn len(&self) -> usize {
                self.keys.len()
            }
            fn key(&self, row: usize) -> &[u8] {
                self.asked.set(self.asked.get() + 1);
                let other = if self.asked.get().is_multiple_of(3) {
                    self.asked.get() * 7 % self.keys.len()
                } else {
                    row
                };
                &self.keys[other]
            }
        }
        for case in 0..if cfg!(miri) { 2 } else { 40 } {
            let keys = keys(case, if cfg!(miri) { 40 } else { 700 });
            let mut rows = vec![0; keys.len()];
            argsort(&Lies { keys, asked: Cell::new(0) }, Order::Ascending, &mut rows);
            rows.sort_unstable();
            assert!(rows.iter().enumerate().all(|(place, row)| place == *row as usize));
        }
    }
}
