//! Sorts on several threads: the same sort, with its first steps shared and its ranges dealt out.
//!
//! 1. **Shared steps.** All threads load the words of all entries, count their digits, and scatter them to buckets,
//!    each thread a part of the entries. A bucket that is still too large to be one thread's work is cut again in the
//!    same way. This is the core's radix step; only here several threads write to the same side.
//! 2. **Dealt ranges.** What is left is many ranges, final in their place and independent of each other. Threads take
//!    them from a list, the largest first, and run the core's engine on each.
//! 3. **Moved items.** If items are sorted, not rows, all threads bring them to their places, each a part.
//!
//! The result does not depend on the number of threads, or on which thread was faster: entries with equal keys stay in
//! the order of their rows, so there is only one result. A sort on several threads is therefore always stable.
//!
//! Extra memory is that of the core, 32 bytes a key, and for items 4 bytes a key for the rows, and the items' size
//! again if an item has more than 32 bytes. Threads are the standard library's, and live as long as a step. If the
//! system gives fewer than asked for, those that there are do all the work.
//!
//! ```
//! use std::num::NonZeroUsize;
//!
//! let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
//! let mut keys: Vec<String> = (0..100_000u32).map(|i| format!("{:08x}", i.wrapping_mul(0x9e37_79b9))).collect();
//! let rows = orasort::par_argsort(&keys, threads);
//! assert!(rows.is_sorted_by_key(|row| &keys[*row as usize]));
//! orasort::par_sort_unstable(&mut keys, threads);
//! assert!(keys.is_sorted());
//! ```

mod items;
mod step;
mod threads;

use crate::engine::Engine;
use crate::entry::Entry;
use crate::finder::Finder;
use crate::keys::{ByKey, Keys};
use crate::load::packs;
use crate::runs::{Found, order_of};
use crate::{Options, Sorter};
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroUsize;
use step::{Kind, Part, Shared};

/// Fewer keys than this for a thread are not worth starting it: it costs as much as sorting some thousand keys.
/// Under Miri, where all takes long, few keys have to do.
const KEYS_PER_THREAD_MIN: usize = if cfg!(miri) { 64 } else { 8 << 10 };

/// Ranges for a thread, about: enough that threads end at the same time though ranges differ in cost.
const RANGES_PER_THREAD: usize = 12;

/// Shared steps at most. Keys whose buckets stay too large for longer are left to one thread.
const STEPS_MAX: usize = 64;

/// The rows of keys in their order, found by several threads. Rows of equal keys come in order.
///
/// Panics if there are more than `u32::MAX` keys.
pub fn par_argsort<K: Keys + Sync + ?Sized>(keys: &K, threads: NonZeroUsize) -> Vec<u32> {
    par_argsort_with(keys, Options::default(), threads)
}

/// The rows of keys in the order that the options ask for, found by several threads. Rows of equal keys come in order.
///
/// Panics if there are more than `u32::MAX` keys.
pub fn par_argsort_with<K: Keys + Sync + ?Sized>(
    keys: &K,
    options: Options,
    threads: NonZeroUsize,
) -> Vec<u32> {
    Sorter::new().par_argsort_with(keys, options, threads)
}

/// Sorts items by their bytes on several threads. Items with equal bytes stay in their order.
pub fn par_sort_unstable<T: AsRef<[u8]> + Send + Sync>(items: &mut [T], threads: NonZeroUsize) {
    Sorter::new().par_sort_by_key_with(items, AsRef::as_ref, Options::default(), threads);
}

impl Sorter {
    /// As [`par_argsort_with`], with the sorter's memory.
    pub fn par_argsort_with<K: Keys + Sync + ?Sized>(
        &mut self,
        keys: &K,
        options: Options,
        threads: NonZeroUsize,
    ) -> Vec<u32> {
        let mut rows = vec![0; keys.len()];
        self.par_argsort_into(keys, options, threads, &mut rows);
        rows
    }

    /// Writes the rows of keys in order to `rows`, as [`par_argsort_with`] gives them.
    ///
    /// Panics if it is not as long as there are keys, or if those are more than `u32::MAX`.
    pub fn par_argsort_into<K: Keys + Sync + ?Sized>(
        &mut self,
        keys: &K,
        options: Options,
        threads: NonZeroUsize,
        rows: &mut [u32],
    ) {
        assert_eq!(keys.len(), rows.len(), "one place for each key");
        assert!(u32::try_from(rows.len()).is_ok(), "more than u32::MAX keys");
        let options = Options { stable: true, ..options };
        let threads = threads.get().min(rows.len() / KEYS_PER_THREAD_MIN);
        if threads < 2 || !matches!(order_of(keys, options.order), Found::Mixed { .. }) {
            return self.argsort_into(keys, options, rows);
        }
        self.sort_shared(keys, options, threads, rows);
    }

    /// Sorts items by their bytes on several threads. Items with equal bytes stay in their order.
    pub fn par_sort_unstable<T: AsRef<[u8]> + Send + Sync>(
        &mut self,
        items: &mut [T],
        threads: NonZeroUsize,
    ) {
        self.par_sort_by_key_with(items, AsRef::as_ref, Options::default(), threads);
    }

    /// Sorts items by a key that lies in them, as the options say, on several threads. Items with equal keys stay in
    /// their order.
    ///
    /// The key of an item is asked for a few times. If `key` panics, the items are all there, in some order.
    pub fn par_sort_by_key_with<T, F>(
        &mut self,
        items: &mut [T],
        key: F,
        options: Options,
        threads: NonZeroUsize,
    ) where
        T: Send + Sync,
        F: Fn(&T) -> &[u8] + Sync,
    {
        let options = Options { stable: true, ..options };
        let threads = threads.get().min(items.len() / KEYS_PER_THREAD_MIN);
        let keys = ByKey { items: &*items, key: &key };
        if threads < 2
            || u32::try_from(items.len()).is_err()
            || !matches!(order_of(&keys, options.order), Found::Mixed { .. })
        {
            return self.sort_by_key_with(items, key, options);
        }
        let mut rows = vec![0; items.len()];
        self.sort_shared(&keys, options, threads, &mut rows);
        items::apply(self.scratch.both_sides(items.len()), items, &rows, threads);
    }

    /// Sorts keys of no known order.
    fn sort_shared<K: Keys + Sync + ?Sized>(
        &mut self,
        keys: &K,
        options: Options,
        threads: usize,
        rows: &mut [u32],
    ) {
        let len = rows.len();
        self.scratch.reserve(len);
        let mut sides = self.scratch.sides(len);
        let finder = Finder::new(keys, options.order.flip());
        let mut shared = Shared { finder, sides: &mut sides, threads };
        let ranges = cut(&mut shared, len.div_ceil(threads * RANGES_PER_THREAD));
        let finder = shared.finder;
        let mut tasks = deal(&ranges, &mut sides, rows);
        tasks.sort_by_key(|task| task.rows.len());
        threads::for_each(threads, tasks, |task| task.sort(finder, options));
    }
}

/// Cuts all entries into ranges of about `target` entries, where keys let it, in their order.
fn cut<K: Keys + Sync + ?Sized>(shared: &mut Shared<'_, '_, '_, K>, target: usize) -> Vec<Part> {
    let mut waiting = vec![shared.whole()];
    let mut ranges = Vec::new();
    let mut steps = 0;
    while let Some(part) = waiting.pop() {
        if part.len() <= target || steps == STEPS_MAX {
            ranges.push(part);
            continue;
        }
        steps += 1;
        match shared.step(part, target) {
            step::Cut::Parts(parts) => waiting.extend(parts),
            step::Cut::Equal(part) => ranges.push(part),
        }
    }
    ranges.sort_by_key(|range| range.start);
    ranges
}

/// A range with its places: one thread's work.
struct Task<'a> {
    part: &'a Part,
    /// The entries, and their shadow.
    sides: [&'a mut [Entry]; 2],
    rows: &'a mut [u32],
}

/// Gives each of `ranges`, which follow each other, its places.
fn deal<'a>(ranges: &'a [Part], sides: &'a mut [&mut [Entry]; 2], rows: &'a mut [u32]) -> Vec<Task<'a>> {
    let [mut left, mut right] = sides.each_mut().map(|side| &mut **side);
    let mut rows = rows;
    let mut tasks = Vec::with_capacity(ranges.len());
    for part in ranges {
        let [mut entries, mut shadow] =
            [&mut left, &mut right].map(|side| side.split_off_mut(..part.len()).unwrap_or_default());
        if part.side == 1 {
            core::mem::swap(&mut entries, &mut shadow);
        }
        let rows = rows.split_off_mut(..part.len()).unwrap_or_default();
        tasks.push(Task { part, sides: [entries, shadow], rows });
    }
    tasks
}

impl Task<'_> {
    fn sort<K: Keys + ?Sized>(self, finder: Finder<'_, K>, options: Options) {
        let [entries, shadow] = self.sides;
        let mut start = 0;
        for end in self.part.ends.iter().map(|end| end - self.part.start) {
            let mut sides = [&mut entries[start..end], &mut shadow[start..end]];
            let rows = &mut self.rows[start..end];
            let mut engine = match self.part.kind {
                Kind::Fresh => Engine::start_fresh(finder.keys, &mut sides, options, packs()),
                // SAFETY: `Shared::step` loaded the part with the finder that this one is a copy of, and then moved its
                // entries.
                Kind::Loaded => unsafe {
                    Engine::start_loaded(finder, &mut sides, self.part.shared, options, packs())
                },
            };
            // SAFETY: nothing else writes to the task's sides.
            unsafe { engine.rows_into(&mut sides, rows) };
            start = end;
        }
    }
}
