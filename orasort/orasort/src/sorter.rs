//! `Sorter`: the sort with memory that is kept from one call to the next, and every way to call it.

use alloc::vec::Vec;

use crate::bytes::equal;
use crate::engine::Engine;
use crate::keys::{ByKey, Keys, Part, Rows};
use crate::load::packs;
use crate::merge::{is_worth_it, merge};
use crate::runs::{Found, equal_runs_from_end, order_of};
use crate::scratch::Scratch;
use crate::small::{is_for_std, is_tiny, sort_as_std};
use crate::sorted::{Sorted, SortedLcp};
use crate::survey::{Advice, Shape, are_runs, shape_of, survey};
use crate::{Options, Order, arrays, few, grouped, nearly, permute, short, top};

/// A sort that keeps its memory, 32 bytes a key of the largest input so far.
///
/// Memory that the system gives anew costs about as much time as the sort of random keys itself, so whoever sorts more
/// than once is better served by one `Sorter` than by the functions of this crate.
///
/// ```
/// let mut sorter = orasort::Sorter::new();
/// let mut words = ["pear", "apple", "fig"];
/// sorter.sort_unstable(&mut words);
/// assert_eq!(words, ["apple", "fig", "pear"]);
/// assert_eq!(sorter.argsort(&["b", "a"]), [1, 0]);
/// ```
#[derive(Debug, Default)]
pub struct Sorter {
    pub(crate) scratch: Scratch,
}

impl Sorter {
    /// A sorter that holds no memory yet.
    pub const fn new() -> Sorter {
        Sorter { scratch: Scratch::new() }
    }

    /// Bytes of memory held.
    pub fn scratch_bytes(&self) -> usize {
        self.scratch.bytes()
    }

    /// Gives the memory back.
    pub fn shrink(&mut self) {
        self.scratch = Scratch::new();
    }

    /// Sorts items by their bytes. Items with equal bytes may change places.
    pub fn sort_unstable<T: AsRef<[u8]>>(&mut self, items: &mut [T]) {
        self.sort_by_key_with(items, AsRef::as_ref, Options::default());
    }

    /// Sorts items by their bytes. Items with equal bytes stay in their order.
    pub fn sort<T: AsRef<[u8]>>(&mut self, items: &mut [T]) {
        self.sort_by_key_with(items, AsRef::as_ref, Options { stable: true, ..Options::default() });
    }

    /// Sorts items by a key that lies in them. Items with equal keys may change places.
    pub fn sort_unstable_by_key<T, F: Fn(&T) -> &[u8]>(&mut self, items: &mut [T], key: F) {
        self.sort_by_key_with(items, key, Options::default());
    }

    /// Sorts items by a key that lies in them. Items with equal keys stay in their order.
    pub fn sort_by_key<T, F: Fn(&T) -> &[u8]>(&mut self, items: &mut [T], key: F) {
        self.sort_by_key_with(items, key, Options { stable: true, ..Options::default() });
    }

    /// Sorts items by a key that lies in them, as the options say.
    ///
    /// The key of an item may be asked for many times. If `key` panics, the items are all there, in some order.
    pub fn sort_by_key_with<T, F: Fn(&T) -> &[u8]>(&mut self, items: &mut [T], key: F, options: Options) {
        self.sort_items(items, &key, options);
    }

    fn sort_items<T, F: Fn(&T) -> &[u8]>(&mut self, items: &mut [T], key: &F, options: Options) {
        if is_tiny(items.len()) || u32::try_from(items.len()).is_err() {
            return sort_as_std(items, key, options);
        }
        let keys = ByKey { items: &*items, key };
        if are_runs(&keys, options.order) {
            return sort_as_std(items, key, Options { stable: true, ..options });
        }
        match order_of(&keys, options.order) {
            Found::InOrder => {}
            Found::Reversed { ties } => {
                let runs = if options.stable && ties { equal_runs(&keys) } else { Vec::new() };
                permute::reverse(items, &runs);
            }
            Found::Mixed { in_order } if is_worth_it(in_order, items.len()) => {
                self.sort_items(&mut items[in_order..], key, options);
                let compare = |a: &T, b: &T| options.order.turned(key(a).cmp(key(b)));
                merge(&mut self.scratch, items, in_order, compare);
            }
            Found::Mixed { in_order } => self.sort_mixed(items, in_order, key, options),
        }
    }

    /// Sorts items of which the first so many are in order.
    fn sort_mixed<T, F: Fn(&T) -> &[u8]>(
        &mut self,
        items: &mut [T],
        in_order: usize,
        key: &F,
        options: Options,
    ) {
        let keys = ByKey { items: &*items, key };
        let shape = shape_of(&keys, options.order);
        if shape == Shape::Nearly {
            let mut own = Scratch::new();
            let (rows, copy) = own.places_and_room(items.len());
            if self.argsort_nearly(&keys, in_order, options.order, rows) {
                return permute::gather(items, rows, copy);
            }
        }
        if shape != Shape::Mixed {
            // The library's stable sort merges runs.
            let stable = options.stable || shape != Shape::Repeats;
            return sort_as_std(items, key, Options { stable, ..options });
        }
        match survey(&keys) {
            Advice::Dominant(row) if !options.stable => return self.sort_around(items, row, key, options),
            Advice::Sort(rows) if is_for_std(&keys, &rows) => return sort_as_std(items, key, options),
            Advice::Sort(rows) if short::fit(&keys, &rows) => {
                self.scratch.reserve_numbers::<T>(items.len());
                if short::sort(&mut self.scratch, &keys, options.order) {
                    return permute::apply(self.scratch.entries(), items);
                }
            }
            Advice::Sort(_) => {}
            advice => {
                let mut own = Scratch::new();
                let (rows, copy) = own.places_and_room(items.len());
                self.argsort_advised(&keys, &advice, options, rows);
                return permute::gather(items, rows, copy);
            }
        }
        let len = items.len();
        self.scratch.reserve(len);
        let mut sides = self.scratch.sides(len);
        let mut engine = Engine::start_fresh(&keys, &mut sides, options, packs());
        // SAFETY: rows are kept where entries were given out.
        while let Some(range) = unsafe { engine.next(&mut sides) } {
            permute::keep_rows(&mut sides, &range);
        }
        permute::apply(self.scratch.both_sides(len), items);
    }

    /// Sorts items of which many have the key of one of them: those are only put aside.
    fn sort_around<T, F: Fn(&T) -> &[u8]>(&mut self, items: &mut [T], row: usize, key: &F, options: Options) {
        // What equals the first is brought to the front, the rest is sorted, and its lesser part changes places with
        // the front.
        items.swap(0, row);
        let (first, rest) = items.split_at_mut(1);
        let model = key(&first[0]);
        let is_equal = |item: &T| key(item).len() == model.len() && equal(key(item), model);
        // Most are equal, so that few have to be moved.
        let (mut equal, mut end) = (0, rest.len());
        loop {
            equal += rest[equal..end].iter().take_while(|item| is_equal(item)).count();
            end -= rest[equal..end].iter().rev().take_while(|item| !is_equal(item)).count();
            if equal == end {
                break;
            }
            rest.swap(equal, end - 1);
        }
        let equal = equal + 1;
        self.sort_items(&mut items[equal..], key, options);
        let (equals, others) = items.split_at(equal);
        let model = key(&equals[0]);
        let before = others.partition_point(|item| options.order.turned(key(item).cmp(model)).is_lt());
        if before <= equal {
            let (equals, others) = items.split_at_mut(equal);
            equals[..before].swap_with_slice(&mut others[..before]);
        } else {
            items[..equal + before].rotate_left(equal);
        }
    }

    /// Sorts arrays of bytes, such as identifiers and addresses: faster than by references to them.
    ///
    /// Arrays of 4, 8 or 16 bytes are sorted where they are, beside as much memory; shorter ones take two copies, each
    /// of the next of these lengths.
    pub fn sort_arrays<const N: usize>(&mut self, items: &mut [[u8; N]], order: Order) {
        if N > 16 || u32::try_from(items.len()).is_err() {
            return self.sort_by_key_with(items, AsRef::as_ref, Options { order, stable: false });
        }
        arrays::sort(&mut self.scratch, items, order);
    }

    /// The rows of keys in their order. Rows of equal keys come in any order.
    ///
    /// Panics if there are more than `u32::MAX` keys.
    pub fn argsort<K: Keys + ?Sized>(&mut self, keys: &K) -> Vec<u32> {
        self.argsort_with(keys, Options::default())
    }

    /// The rows of keys in the order that the options ask for. Panics if there are more than `u32::MAX` keys.
    pub fn argsort_with<K: Keys + ?Sized>(&mut self, keys: &K, options: Options) -> Vec<u32> {
        let mut rows = alloc::vec![0; keys.len()];
        self.argsort_into(keys, options, &mut rows);
        rows
    }

    /// Writes the rows of keys in order to `rows`. Panics if it is not as long as there are keys, or if those are more
    /// than `u32::MAX`.
    pub fn argsort_into<K: Keys + ?Sized>(&mut self, keys: &K, options: Options, rows: &mut [u32]) {
        assert_eq!(keys.len(), rows.len(), "one place for each key");
        assert!(u32::try_from(rows.len()).is_ok(), "more than u32::MAX keys: argsort_u64 takes them");
        if are_runs(keys, options.order) {
            return sort_rows(keys, options.order, rows);
        }
        match order_of(keys, options.order) {
            Found::Mixed { in_order } if is_worth_it(in_order, rows.len()) => {
                let (first, rest) = rows.split_at_mut(in_order);
                first.iter_mut().zip(0..).for_each(|(place, row)| *place = row);
                self.argsort_part(&Part { keys: &keys, start: in_order, len: rest.len() }, options, rest);
                rest.iter_mut().for_each(|row| *row += in_order as u32);
                merge(&mut self.scratch, rows, in_order, |a, b| {
                    options.order.turned(keys.key(*a as usize).cmp(keys.key(*b as usize)))
                });
            }
            found => self.argsort_found(keys, found, options, rows),
        }
    }

    fn argsort_part(&mut self, part: &Part<'_>, options: Options, rows: &mut [u32]) {
        self.argsort_found(part, order_of(part, options.order), options, rows);
    }

    /// The rows of keys that were found to stand to the order as told.
    fn argsort_found<K: Keys + ?Sized>(
        &mut self,
        keys: &K,
        found: Found,
        options: Options,
        rows: &mut [u32],
    ) {
        let len = rows.len() as u32;
        match found {
            Found::InOrder => {
                rows.iter_mut().zip(0..len).for_each(|(place, row)| *place = row);
            }
            Found::Reversed { ties } => {
                rows.iter_mut().zip((0..len).rev()).for_each(|(place, row)| *place = row);
                if options.stable && ties {
                    let mut filled = 0;
                    equal_runs_from_end(keys, |start, end| {
                        rows[filled..][..end - start].reverse();
                        filled += end - start;
                    });
                }
            }
            Found::Mixed { .. } if is_tiny(rows.len()) => {
                rows.iter_mut().zip(0..len).for_each(|(place, row)| *place = row);
                rows.sort_unstable_by(|a, b| {
                    let order = keys.key(*a as usize).cmp(keys.key(*b as usize));
                    options.order.turned(order).then(a.cmp(b))
                });
            }
            Found::Mixed { in_order } => self.argsort_unordered(keys, in_order, options, rows),
        }
    }

    /// The rows of keys of which the first so many are in order.
    fn argsort_unordered<K: Keys + ?Sized>(
        &mut self,
        keys: &K,
        in_order: usize,
        options: Options,
        rows: &mut [u32],
    ) {
        let shape = shape_of(keys, options.order);
        if shape == Shape::Nearly && self.argsort_nearly(keys, in_order, options.order, rows) {
            return;
        }
        if matches!(shape, Shape::Runs | Shape::Nearly) {
            return sort_rows(keys, options.order, rows);
        }
        self.argsort_advised(keys, &survey(keys), options, rows);
    }

    /// The rows of keys, in the way that was found to fit.
    fn argsort_advised<K: Keys + ?Sized>(
        &mut self,
        keys: &K,
        advice: &Advice,
        options: Options,
        rows: &mut [u32],
    ) {
        match advice {
            Advice::Few(values) => self.argsort_few(keys, values, options, rows),
            Advice::Dominant(value) => self.argsort_few(keys, &[*value], options, rows),
            Advice::Grouped => grouped::argsort(keys, options.order, rows),
            Advice::Sort(samples) if short::fit(keys, samples) => {
                self.scratch.reserve_numbers::<()>(rows.len());
                if short::sort(&mut self.scratch, keys, options.order) {
                    rows.copy_from_slice(self.scratch.numbers(rows.len()));
                } else {
                    self.argsort_mixed(keys, options, rows);
                }
            }
            Advice::Sort(_) => self.argsort_mixed(keys, options, rows),
        }
    }

    /// The rows of keys that are nearly in order, those of equal keys in theirs. False if too many are not.
    fn argsort_nearly<K: Keys + ?Sized>(
        &mut self,
        keys: &K,
        in_order: usize,
        order: Order,
        rows: &mut [u32],
    ) -> bool {
        nearly::argsort(keys, in_order, order, rows, |others| {
            self.argsort_others(others, Options { order, stable: true })
        })
    }

    /// The rows of keys that are left over.
    fn argsort_others(&mut self, others: &Rows<'_>, options: Options) -> Vec<u32> {
        let mut sorted: Vec<u32> = (0..others.len() as u32).collect();
        if is_tiny(sorted.len()) {
            let compare = |a: &u32, b: &u32| others.key(*a as usize).cmp(others.key(*b as usize));
            sorted.sort_by(|a, b| options.order.turned(compare(a, b)));
        } else {
            self.argsort_mixed(others, options, &mut sorted);
        }
        sorted
    }

    /// The rows of keys in the order that the options ask for, for any number of keys.
    ///
    /// More than `u32::MAX` keys are sorted in parts of that length, which are then merged.
    pub fn argsort_u64_with<K: Keys + ?Sized>(&mut self, keys: &K, options: Options) -> Vec<u64> {
        self.argsort_parts(keys, options, u32::MAX as usize)
    }

    fn argsort_parts<K: Keys + ?Sized>(&mut self, keys: &K, options: Options, part_len: usize) -> Vec<u64> {
        if keys.len() <= part_len {
            return self.argsort_with(keys, options).into_iter().map(u64::from).collect();
        }
        let parts: Vec<(u64, Vec<u32>)> = (0..keys.len())
            .step_by(part_len)
            .map(|start| {
                let part = Part { keys: &keys, start, len: part_len.min(keys.len() - start) };
                let mut rows = alloc::vec![0; part.len];
                self.argsort_part(&part, options, &mut rows);
                (start as u64, rows)
            })
            .collect();
        let mut next = alloc::vec![0; parts.len()];
        let head = |next: &[usize], part: usize| -> Option<u64> {
            let (start, rows) = &parts[part];
            Some(start + u64::from(*rows.get(next[part])?))
        };
        core::iter::from_fn(|| {
            // Parts are very few. Of equal keys `min_by` takes the first part's, which keeps the order of rows.
            let heads = (0..parts.len()).filter_map(|part| Some((part, head(&next, part)?)));
            let (part, row) = heads.min_by(|(_, a), (_, b)| {
                options.order.turned(keys.key(*a as usize).cmp(keys.key(*b as usize)))
            })?;
            next[part] += 1;
            Some(row)
        })
        .collect()
    }

    /// The rows of keys of which most have the values of some rows.
    fn argsort_few<K: Keys + ?Sized>(
        &mut self,
        keys: &K,
        values: &[usize],
        options: Options,
        rows: &mut [u32],
    ) {
        few::argsort(keys, values, options.order, rows, |others| self.argsort_others(others, options));
    }

    fn argsort_mixed<K: Keys + ?Sized>(&mut self, keys: &K, options: Options, rows: &mut [u32]) {
        self.scratch.reserve(rows.len());
        let mut sides = self.scratch.sides(rows.len());
        let mut engine = Engine::start_fresh(keys, &mut sides, options, packs());
        // SAFETY: nothing else writes to the sides.
        unsafe { engine.rows_into(&mut sides, rows) };
    }

    /// The first `k` rows in order, or all if there are fewer keys. Panics if there are more than `u32::MAX` keys.
    pub fn top_k<K: Keys + ?Sized>(&mut self, keys: &K, k: usize) -> Vec<u32> {
        self.top_k_with(keys, k, Options::default())
    }

    /// The first `k` rows in the order that the options ask for. Panics if there are more than `u32::MAX` keys.
    pub fn top_k_with<K: Keys + ?Sized>(&mut self, keys: &K, k: usize, options: Options) -> Vec<u32> {
        top::top_k(self, keys, k, options)
    }

    /// Gives rows in order one by one, the first of them long before the sort is done.
    ///
    /// Panics if there are more than `u32::MAX` keys.
    pub fn sorted<'s, K: Keys + ?Sized>(&'s mut self, keys: &'s K, options: Options) -> Sorted<'s, K> {
        Sorted::new(&mut self.scratch, keys, options, packs())
    }

    /// As `sorted`, with the number of bytes that each key shares with the one before it.
    pub fn sorted_lcp<'s, K: Keys + ?Sized>(&'s mut self, keys: &'s K, options: Options) -> SortedLcp<'s, K> {
        SortedLcp::new(Sorted::new(&mut self.scratch, keys, options, false))
    }
}

/// Writes the rows of keys in order by the library's stable sort, which merges runs.
fn sort_rows<K: Keys + ?Sized>(keys: &K, order: Order, rows: &mut [u32]) {
    rows.iter_mut().zip(0..).for_each(|(place, row)| *place = row);
    let compare = |a: &u32, b: &u32| keys.key(*a as usize).cmp(keys.key(*b as usize));
    rows.sort_by(|a, b| order.turned(compare(a, b)));
}

/// The lengths of runs of equal keys that are longer than one, with where they are once the order is reversed.
fn equal_runs<K: Keys + ?Sized>(keys: &K) -> Vec<(usize, usize)> {
    let len = keys.len();
    let mut runs = Vec::new();
    equal_runs_from_end(keys, |start, end| {
        if end - start > 1 {
            runs.push((len - end, len - start));
        }
    });
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts merge into what one sort gives, rows of equal keys in order.
    #[test]
    fn parts_merge() {
        let len = if cfg!(miri) { 60 } else { 1_000 };
        let keys: Vec<[u8; 1]> = (0..len).map(|n| [(n * 7919 % len % 64) as u8]).collect();
        for order in [Order::Ascending, Order::Descending] {
            let options = Options { order, stable: true };
            let whole: Vec<u64> =
                Sorter::new().argsort_with(&keys, options).into_iter().map(u64::from).collect();
            for part_len in [1, 7, len / 3, len - 1, len, len + 1] {
                assert_eq!(
                    Sorter::new().argsort_parts(&keys, options, part_len),
                    whole,
                    "parts of {part_len}"
                );
            }
        }
        assert!(Sorter::new().argsort_parts(&[[0u8; 1]; 0], Options::default(), 5).is_empty());
    }
}
