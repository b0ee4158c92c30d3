//! The first k rows without sorting the rest.
//!
//! One pass keeps the best rows so far: a list of at most twice k candidates and a bound, the worst of the best k
//! known. A key that is not below the bound is dropped, most often by its first eight bytes.
//! When the list is full, half of it is dropped and the bound falls: a constant number of comparisons for each row
//! that came in. At last the candidates are sorted. A heap would do the same with a comparison per level.

use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::bytes::chunk;
use crate::keys::Keys;
use crate::{Options, Sorter};

/// From this share of all rows on, it is better to sort until enough rows were given out.
const SHARE: usize = 64;

/// As `Sorter::top_k_with`.
pub(crate) fn top_k<K: Keys + ?Sized>(sorter: &mut Sorter, keys: &K, k: usize, options: Options) -> Vec<u32> {
    let len = u32::try_from(keys.len()).expect("more than u32::MAX keys");
    if k == 0 {
        return Vec::new();
    }
    if k > keys.len() / SHARE {
        return sorter.sorted(keys, options).take(k).collect();
    }
    let compare = |a: &u32, b: &u32| -> Ordering {
        let order = keys.key(*a as usize).cmp(keys.key(*b as usize));
        options.order.turned(order).then(a.cmp(b))
    };
    let flip = options.order.flip();
    let word_of = |row: u32| chunk(keys.key(row as usize), 0) ^ flip;
    let mut best: Vec<u32> = Vec::with_capacity(2 * k);
    let mut bound: Option<(u64, u32)> = None;
    for row in 0..len {
        if let Some((bound_word, bound_row)) = bound {
            let word = word_of(row);
            // Rows come in order, so a row with the bound's key is behind it.
            let drop = match word.cmp(&bound_word) {
                Ordering::Less => false,
                Ordering::Equal => compare(&row, &bound_row).is_gt(),
                Ordering::Greater => true,
            };
            if drop {
                continue;
            }
        }
        best.push(row);
        if best.len() == 2 * k {
            let (_, worst, _) = best.select_nth_unstable_by(k - 1, compare);
            bound = Some((word_of(*worst), *worst));
            best.truncate(k);
        }
    }
    best.sort_unstable_by(compare);
    best.truncate(k);
    best
}
