//! Small sorts: when the standard library's is the better one, and that one.
//!
//! What comparisons cost does not depend on what the keys look like, as long as all of them fit in the caches next to
//! the core. What this sort costs does: every depth at which keys branch is a load and a step or two, and to begin has
//! its price. So very few keys that branch at many depths, as paths and addresses do, are left to the standard library,
//! as are few keys that are nearly in order.

use crate::bytes::common_prefix;
use crate::keys::Keys;
use crate::survey::SAMPLES_MIN;
use crate::{Options, Order};

/// Up to this many items are left to the standard library's sort: no memory is needed, and nothing is gained here.
/// Under Miri, where few keys have to do, a few are sorted here.
const STD_MAX: usize = if cfg!(miri) { 32 } else { 400 };

/// Up to this many items a few of them decide: keys of more do not fit in the caches next to the core.
const HINT_MAX: usize = 16 << 10;

/// So many decide: so many of up to `DEPTHS_LEN_MAX` keys, or as many as the survey looks at least at.
const SAMPLES: usize = 16;
const SAMPLES_MAX: usize = SAMPLES_MIN;

/// Up to this many keys that branch at more depths than `DEPTHS_MAX`, counted in words of eight bytes, are left to the
/// standard library.
const DEPTHS_LEN_MAX: usize = 1000;
const DEPTHS_MAX: u32 = 2;

/// More of them are where the value of so many samples is seen again: the more often keys repeat the fewer comparisons
/// the library takes, and the less a step here tells apart. Of more keys there are words that repeat, which is better.
const REPEATS_MIN: usize = 4;
const REPEATS_LEN_MAX: usize = 4096;

/// Longer keys are too: an entry does not tell their length, and each would be asked for again and again.
const LENGTH_MAX: usize = 255;

/// Keys of which fewer than one of so many samples are greater than the key after them are taken for nearly sorted.
/// Of 16 keys in no order so few are in one case of 4,000.
const FALLS_OF: usize = 8;

/// Whether the standard library sorts keys as fast, whatever they are.
pub(crate) fn is_tiny(len: usize) -> bool {
    len <= STD_MAX
}

/// Whether the standard library is likely to sort keys, more than `STD_MAX` that are not sorted, faster. `sorted` are
/// rows that were looked at, in order of their keys.
pub(crate) fn is_for_std<K: Keys + ?Sized>(keys: &K, sorted: &[usize]) -> bool {
    let len = keys.len();
    if len > HINT_MAX {
        return false;
    }
    let count = if len > DEPTHS_LEN_MAX { SAMPLES_MAX } else { SAMPLES };
    let is_known = sorted.len() == count;
    let mut samples: [&[u8]; SAMPLES_MAX] = [&[]; SAMPLES_MAX];
    let samples = &mut samples[..count];
    let mut falls = 0;
    for (number, sample) in samples.iter_mut().enumerate() {
        let row = if is_known { sorted[number].min(len - 2) } else { (len - 2) * number / (count - 1) };
        *sample = keys.key(row);
        falls += usize::from(*sample > keys.key(row + 1));
    }
    if samples.iter().any(|sample| sample.len() > LENGTH_MAX) || falls < count / FALLS_OF {
        return true;
    }
    if !is_known {
        samples.sort_unstable();
    }
    let (mut repeats, mut depths) = (0, 0u64);
    for pair in samples.windows(2) {
        if pair[0] == pair[1] {
            repeats += 1;
        } else {
            depths |= 1 << (common_prefix(pair[0], pair[1]) / 8).min(63);
        }
    }
    let has_depths = depths.count_ones() > DEPTHS_MAX;
    has_depths && (len <= DEPTHS_LEN_MAX || len <= REPEATS_LEN_MAX && repeats >= REPEATS_MIN)
        || 2 * repeats > count
}

/// The standard library's sort.
pub(crate) fn sort_as_std<T, F: Fn(&T) -> &[u8]>(items: &mut [T], key: F, options: Options) {
    // Which way is decided once: in the comparison it costs a tenth.
    let (rising, falling) = (|a: &T, b: &T| key(a).cmp(key(b)), |a: &T, b: &T| key(b).cmp(key(a)));
    match (options.stable, options.order) {
        (false, Order::Ascending) => items.sort_unstable_by(rising),
        (false, Order::Descending) => items.sort_unstable_by(falling),
        (true, Order::Ascending) => items.sort_by(rising),
        (true, Order::Descending) => items.sort_by(falling),
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    use super::*;

    /// Numbers of no order.
    fn numbers(len: u64) -> impl Iterator<Item = u64> {
        (1..=len).map(|n| {
            n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
        })
    }

    #[test]
    fn only_few_keys_of_many_depths_or_few_values_or_nearly_in_order_are_left_to_std() {
        let path = |n: u64| {
            let part = |shift: u32, of: u64| (n >> shift) % of;
            let parts = (1..2 + part(0, 6)).map(|level| format!("directory-{}/", part(8 * level as u32, 3)));
            parts.collect::<String>()
        };
        let files = |len: u64| -> Vec<String> { numbers(len).map(|n| path(n) + &format!("{n:x}")).collect() };
        let paths = files(1_000);
        assert!(is_for_std(&paths, &[]));
        assert!(!is_for_std(&files(1_001), &[]));
        assert!(is_for_std(&numbers(1_001).map(path).collect::<Vec<_>>(), &[]));
        let states = |of: u64| -> Vec<String> { numbers(700).map(|n| format!("state {}", n % of)).collect() };
        assert!(is_for_std(&states(4), &[]) && !is_for_std(&states(500), &[]));
        assert!(is_for_std(&paths.iter().map(|path| path.repeat(LENGTH_MAX)).collect::<Vec<_>>(), &[]));
        let prefixed: Vec<String> = numbers(1_000).map(|n| format!("all begin like this {n:x}")).collect();
        assert!(!is_for_std(&prefixed, &[]));
        let mut nearly = prefixed.clone();
        nearly.sort_unstable();
        nearly.swap(10, 900);
        assert!(is_for_std(&nearly, &[]));
    }
}
