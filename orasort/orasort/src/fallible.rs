//! Sorts that keep to a budget of memory and say so where it does not do, instead of ending the program.
//!
//! All memory that grows with the keys, but for up to 128 KiB of counts, is asked for before anything is done, in one
//! or two pieces, so a sort is refused at its beginning or not at all. That leaves out the ways of sorting that find
//! out what memory they need as they go: keys in order but for a few, grouped keys, runs, and few values are sorted
//! as any others.

use alloc::vec::Vec;
use core::error::Error;
use core::fmt;

use crate::engine::Engine;
use crate::keys::{ByKey, Keys};
use crate::load::packs;
use crate::permute;
use crate::runs::{Found, order_of};
use crate::scratch::Scratch;
use crate::small::{is_for_std, is_tiny, sort_as_std};
use crate::{Options, Sorter};

/// Why a sort was refused. What was to be sorted is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// There are more keys than an entry can count.
    TooManyKeys {
        /// So many.
        keys: usize,
    },
    /// The sort needs more memory than the budget has.
    OverBudget {
        /// What it needs.
        needed_bytes: usize,
        /// What it may take.
        budget_bytes: usize,
    },
    /// The allocator has no more memory.
    OutOfMemory {
        /// What it was asked for.
        needed_bytes: usize,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::TooManyKeys { keys } => {
                write!(to, "{keys} keys are more than {}: sort them in parts, or by argsort_u64", u32::MAX)
            }
            Refused::OverBudget { needed_bytes, budget_bytes } => write!(
                to,
                "the sort needs {needed_bytes} bytes and may take {budget_bytes}: give it more, or sort in parts"
            ),
            Refused::OutOfMemory { needed_bytes } => {
                write!(to, "there is no memory of {needed_bytes} bytes: free some, or sort in parts")
            }
        }
    }
}

impl Error for Refused {}

/// As [`argsort_with`](crate::argsort_with), within a budget; see [`Sorter::try_argsort_with`].
///
/// # Errors
/// When there are too many keys, or too little memory.
pub fn try_argsort_with<K: Keys + ?Sized>(
    keys: &K,
    options: Options,
    budget_bytes: usize,
) -> Result<Vec<u32>, Refused> {
    Sorter::new().try_argsort_with(keys, options, budget_bytes)
}

/// As [`sort_by_key_with`](crate::sort_by_key_with), within a budget; see [`Sorter::try_sort_by_key_with`].
///
/// # Errors
/// When there are too many keys, or too little memory.
pub fn try_sort_by_key_with<T, F: Fn(&T) -> &[u8]>(
    items: &mut [T],
    key: F,
    options: Options,
    budget_bytes: usize,
) -> Result<(), Refused> {
    Sorter::new().try_sort_by_key_with(items, key, options, budget_bytes)
}

impl Sorter {
    /// The rows of keys in the order that the options ask for, if that takes at most so many bytes: 32 a key, and four
    /// a key for the rows. Keys in order take the rows alone.
    ///
    /// # Errors
    /// When there are more than `u32::MAX` keys, the budget is too small, or the allocator has no more memory.
    ///
    /// ```
    /// use orasort::{Options, Refused, Sorter};
    ///
    /// let keys: Vec<String> = (0..1000u32).map(|i| i.wrapping_mul(0x9e37_79b9).to_string()).collect();
    /// let mut sorter = Sorter::new();
    /// assert!(sorter.try_argsort_with(&keys, Options::default(), 36_000).is_ok());
    /// let refused = sorter.try_argsort_with(&keys, Options::default(), 1000);
    /// assert_eq!(refused, Err(Refused::OverBudget { needed_bytes: 4000, budget_bytes: 1000 }));
    /// ```
    pub fn try_argsort_with<K: Keys + ?Sized>(
        &mut self,
        keys: &K,
        options: Options,
        budget_bytes: usize,
    ) -> Result<Vec<u32>, Refused> {
        let len = u32::try_from(keys.len()).map_err(|_| Refused::TooManyKeys { keys: keys.len() })?;
        let rows_bytes = keys.len().saturating_mul(size_of::<u32>());
        within(rows_bytes, budget_bytes)?;
        let mut rows: Vec<u32> = Vec::new();
        let refused = |_| Refused::OutOfMemory { needed_bytes: rows_bytes };
        rows.try_reserve_exact(keys.len()).map_err(refused)?;
        match order_of(keys, options.order) {
            Found::InOrder => rows.extend(0..len),
            Found::Reversed { ties } if !(ties && options.stable) => rows.extend((0..len).rev()),
            Found::Reversed { .. } | Found::Mixed { .. } => {
                rows.resize(keys.len(), 0);
                self.try_reserve(keys.len(), rows_bytes, budget_bytes)?;
                let mut sides = self.scratch.sides(keys.len());
                let mut engine = Engine::start_fresh(keys, &mut sides, options, packs());
                // SAFETY: nothing else writes to the sides.
                unsafe { engine.rows_into(&mut sides, &mut rows) };
            }
        }
        Ok(rows)
    }

    /// Sorts items by a key that lies in them, as the options say, if that takes at most so many bytes: 32 a key.
    /// Items in order take none, nor do few, unless the sort is to be stable.
    ///
    /// # Errors
    /// When there are more than `u32::MAX` keys to be sorted stably, the budget is too small, or the allocator has no
    /// more memory. The items are in the order that they had.
    pub fn try_sort_by_key_with<T, F: Fn(&T) -> &[u8]>(
        &mut self,
        items: &mut [T],
        key: F,
        options: Options,
        budget_bytes: usize,
    ) -> Result<(), Refused> {
        let len = items.len();
        let keys = ByKey { items: &*items, key: &key };
        match order_of(&keys, options.order) {
            Found::InOrder => return Ok(()),
            Found::Reversed { ties } if !(ties && options.stable) => {
                items.reverse();
                return Ok(());
            }
            Found::Reversed { .. } | Found::Mixed { .. } => {}
        }
        let is_too_long = u32::try_from(len).is_err();
        if !options.stable && (is_too_long || is_tiny(len) || is_for_std(&keys, &[])) {
            // The library's unstable sort takes no memory.
            sort_as_std(items, &key, options);
            return Ok(());
        }
        if is_too_long {
            return Err(Refused::TooManyKeys { keys: len });
        }
        self.try_reserve(len, 0, budget_bytes)?;
        let mut sides = self.scratch.sides(len);
        let mut engine = Engine::start_fresh(&keys, &mut sides, options, packs());
        // SAFETY: rows are kept where entries were given out.
        while let Some(range) = unsafe { engine.next(&mut sides) } {
            permute::keep_rows(&mut sides, &range);
        }
        permute::apply(self.scratch.both_sides(len), items);
        Ok(())
    }

    /// Makes room for so many keys, if that and what is `taken` already is within the budget.
    fn try_reserve(&mut self, len: usize, taken: usize, budget_bytes: usize) -> Result<(), Refused> {
        let needed_bytes = len.saturating_mul(Scratch::BYTES_OF_KEY).saturating_add(taken);
        within(needed_bytes, budget_bytes)?;
        let has_room = self.scratch.try_reserve(len, budget_bytes - needed_bytes);
        if has_room { Ok(()) } else { Err(Refused::OutOfMemory { needed_bytes }) }
    }
}

/// Whether so many bytes are within a budget.
fn within(needed_bytes: usize, budget_bytes: usize) -> Result<(), Refused> {
    if needed_bytes <= budget_bytes {
        Ok(())
    } else {
        Err(Refused::OverBudget { needed_bytes, budget_bytes })
    }
}
