//! Sorts keys that are byte arrays: strings, or rows encoded so that their bytes order as they do.
//!
//! [`sort_unstable`] and its relatives sort items, [`argsort`] gives row numbers, [`sorted`] gives them one by one long
//! before the sort is done, [`top_k`] the first few. [`Sorter`] has all of them with memory that is kept between calls.
//! Where keys lie is told by [`Keys`]: slices of anything that is bytes, [`Arena`], [`FixedWidth`], or your own.
//!
//! To read the core, in this order: `entry` (sixteen bytes that order as a key does), `window` (which bits of a key an
//! entry has), `finder` (where the key lies), `load` (words for a partition, one touch a key), `digit` (the radix
//! step), `engine` (what is done to which range, and in which order), `runs` and `nearly` (keys in order already, or
//! but for a few), `grouped` (keys beside which those lie that they share most with), `small` (few keys), `short`
//! (short keys), `permute` (items follow their rows), `arrays` (keys that are their own items). The README tells the
//! whole in a page.
//!
//! Costs, with n keys and D bytes that tell them apart: O(n log n + D / 6) for all keys but such as make every radix
//! step of a large range split off little, which cost up to seven steps for each six bytes; 32 bytes of scratch a key;
//! no recursion (`sort_arrays`: a few levels). Keys in rising or falling order take one pass of comparisons.
#![no_std]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

mod alphabet;
mod arrays;
#[cfg(feature = "arrow")]
pub mod arrow;
mod bytes;
mod digit;
mod engine;
mod entry;
#[cfg(feature = "external")]
pub mod external;
mod fallible;
mod few;
mod finder;
mod grouped;
mod insertion;
mod keys;
mod leaf;
mod load;
mod merge;
mod narrow;
mod nearly;
mod pages;
#[cfg(feature = "parallel")]
pub mod parallel;
mod permute;
mod pext;
mod range;
mod ranks;
pub mod row;
mod runs;
mod scratch;
mod short;
mod small;
mod sorted;
mod sorter;
mod survey;
mod top;
mod window;

use alloc::vec::Vec;
use core::cmp::Ordering;

pub use fallible::{Refused, try_argsort_with, try_sort_by_key_with};
pub use keys::{Arena, FixedWidth, Keys, Offset};
#[cfg(feature = "parallel")]
pub use parallel::{par_argsort, par_argsort_with, par_sort_unstable};
pub use sorted::{Sorted, SortedLcp};
pub use sorter::Sorter;

/// The direction of a sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Smallest key first.
    #[default]
    Ascending,
    /// Greatest key first.
    Descending,
}

impl Order {
    /// The order of two keys, from that of their bytes.
    #[inline(always)]
    pub(crate) fn turned(self, bytes: Ordering) -> Ordering {
        match self {
            Order::Ascending => bytes,
            Order::Descending => bytes.reverse(),
        }
    }

    /// What heads are xored with: a descending order is the ascending order of inverted heads.
    pub(crate) fn flip(self) -> u64 {
        match self {
            Order::Ascending => 0,
            Order::Descending => !0,
        }
    }
}

/// What a sort is asked for. The default is ascending and not stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// The direction.
    pub order: Order,
    /// Whether rows of equal keys keep their order, in both directions.
    pub stable: bool,
}

/// Sorts items by their bytes. Items with equal bytes may change places.
pub fn sort_unstable<T: AsRef<[u8]>>(items: &mut [T]) {
    Sorter::new().sort_unstable(items);
}

/// Sorts items by their bytes. Items with equal bytes stay in their order.
pub fn sort<T: AsRef<[u8]>>(items: &mut [T]) {
    Sorter::new().sort(items);
}

/// Sorts items by a key that lies in them. Items with equal keys may change places.
pub fn sort_unstable_by_key<T, F: Fn(&T) -> &[u8]>(items: &mut [T], key: F) {
    Sorter::new().sort_unstable_by_key(items, key);
}

/// Sorts items by a key that lies in them. Items with equal keys stay in their order.
pub fn sort_by_key<T, F: Fn(&T) -> &[u8]>(items: &mut [T], key: F) {
    Sorter::new().sort_by_key(items, key);
}

/// Sorts items by their bytes, greatest first. Items with equal bytes may change places.
pub fn sort_unstable_descending<T: AsRef<[u8]>>(items: &mut [T]) {
    let options = Options { order: Order::Descending, stable: false };
    Sorter::new().sort_by_key_with(items, AsRef::as_ref, options);
}

/// Sorts items by their bytes, greatest first. Items with equal bytes stay in their order.
pub fn sort_descending<T: AsRef<[u8]>>(items: &mut [T]) {
    let options = Options { order: Order::Descending, stable: true };
    Sorter::new().sort_by_key_with(items, AsRef::as_ref, options);
}

/// Sorts arrays of bytes, such as identifiers and addresses: faster than by references to them.
///
/// ```
/// let mut addresses = [[10, 0, 0, 7], [9, 255, 0, 1], [10, 0, 0, 6]];
/// orasort::sort_arrays(&mut addresses, orasort::Order::Ascending);
/// assert_eq!(addresses, [[9, 255, 0, 1], [10, 0, 0, 6], [10, 0, 0, 7]]);
/// ```
pub fn sort_arrays<const N: usize>(items: &mut [[u8; N]], order: Order) {
    Sorter::new().sort_arrays(items, order);
}

/// Sorts items by a key that lies in them, as the options say.
pub fn sort_by_key_with<T, F: Fn(&T) -> &[u8]>(items: &mut [T], key: F, options: Options) {
    Sorter::new().sort_by_key_with(items, key, options);
}

/// The rows of keys in their order. Rows of equal keys come in any order.
///
/// Panics if there are more than `u32::MAX` keys; [`argsort_u64`] takes them.
///
/// ```
/// assert_eq!(orasort::argsort(&["pear", "apple", "fig"]), [1, 2, 0]);
/// let arena = orasort::Arena { bytes: b"pearapplefig", offsets: &[0i32, 4, 9, 12] };
/// assert_eq!(orasort::argsort(&arena), [1, 2, 0]);
/// ```
pub fn argsort<K: Keys + ?Sized>(keys: &K) -> Vec<u32> {
    Sorter::new().argsort(keys)
}

/// The rows of keys in the order that the options ask for. Panics if there are more than `u32::MAX` keys.
pub fn argsort_with<K: Keys + ?Sized>(keys: &K, options: Options) -> Vec<u32> {
    Sorter::new().argsort_with(keys, options)
}

/// The rows of keys in their order, for any number of keys. Rows of equal keys come in any order.
pub fn argsort_u64<K: Keys + ?Sized>(keys: &K) -> Vec<u64> {
    argsort_u64_with(keys, Options::default())
}

/// The rows of keys in the order that the options ask for, for any number of keys.
pub fn argsort_u64_with<K: Keys + ?Sized>(keys: &K, options: Options) -> Vec<u64> {
    Sorter::new().argsort_u64_with(keys, options)
}

/// The first `k` rows in order, or all if there are fewer keys. Panics if there are more than `u32::MAX` keys.
pub fn top_k<K: Keys + ?Sized>(keys: &K, k: usize) -> Vec<u32> {
    Sorter::new().top_k(keys, k)
}

/// The first `k` rows in the order that the options ask for. Panics if there are more than `u32::MAX` keys.
pub fn top_k_with<K: Keys + ?Sized>(keys: &K, k: usize, options: Options) -> Vec<u32> {
    Sorter::new().top_k_with(keys, k, options)
}

/// Gives rows in order one by one, the first of them long before the sort is done.
///
/// Panics if there are more than `u32::MAX` keys.
///
/// ```
/// let keys = ["d", "a", "c", "b"];
/// let first: Vec<u32> = orasort::sorted(&keys).take(2).collect();
/// assert_eq!(first, [1, 3]);
/// ```
pub fn sorted<K: Keys + ?Sized>(keys: &K) -> Sorted<'_, K> {
    Sorted::own(keys, Options::default())
}

/// As [`sorted`], in the order that the options ask for. Panics if there are more than `u32::MAX` keys.
pub fn sorted_with<K: Keys + ?Sized>(keys: &K, options: Options) -> Sorted<'_, K> {
    Sorted::own(keys, options)
}
