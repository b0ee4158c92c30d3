//! The survey: a few keys, looked at before anything is built, tell which way of sorting fits.
//!
//! It finds keys that are nearly in order or made of runs, values that many keys have, keys that come grouped, and
//! small inputs that the standard library's sort is likely to be faster on. All it costs is some dozen comparisons;
//! where it is wrong the sort is slower than it could be, never wrong.

use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::Order;
use crate::bytes::common_prefix;
use crate::few::{Table, VALUES_MAX};
use crate::keys::Keys;

/// Keys that are looked at: so many, or more of larger inputs.
pub(crate) const SAMPLES_MIN: usize = 48;
const SAMPLES_MAX: usize = 256;
/// One of so many keys is looked at, within these bounds.
const SAMPLE_OF: usize = 64;

/// Where some were equal one of so many more is looked at, at most, or so many, or fewer where these are few.
const MORE_OF: usize = 16;
const MORE_MIN: usize = 640;
const FEW_SAMPLES: usize = 64;

/// Inputs of fewer keys are not looked at: it would take a tenth of the time that their sort does.
const LEN_MIN: usize = if cfg!(miri) { 256 } else { 1024 };

/// Neighbours that are compared at each of `WINDOWS` places.
const WINDOW: usize = 6;
const WINDOWS: usize = 24;

/// Keys that come grouped are sorted as such where they branch at more depths than so many, counted in words of eight
/// bytes.
const DEPTHS_MAX: u32 = 4;

/// What fits.
#[derive(Debug)]
pub(crate) enum Advice {
    /// Nothing special was seen. The rows that were looked at, in order of their keys.
    Sort(Vec<usize>),
    /// At least every second key is equal to that of this row.
    Dominant(usize),
    /// Most keys have one of the values of these rows, each value once, or of a few more.
    Few(Vec<usize>),
    /// Keys agree further with the key after them than with others, and branch at many depths.
    Grouped,
}

/// Looks at keys of no known order.
pub(crate) fn survey<K: Keys + ?Sized>(keys: &K) -> Advice {
    let len = keys.len();
    if len < LEN_MIN {
        return Advice::Sort(Vec::new());
    }
    let count = (len / SAMPLE_OF).clamp(SAMPLES_MIN, SAMPLES_MAX);
    let mut rows: Vec<usize> = (0..count).map(|number| spread(len, number, count)).collect();
    rows.sort_unstable_by(|a, b| keys.key(*a).cmp(keys.key(*b)));
    let (mut covered, mut largest) = (0, (0, 0));
    for group in rows.chunk_by(|a, b| keys.key(*a) == keys.key(*b)) {
        if group.len() > 1 {
            covered += group.len();
            largest = largest.max((group.len(), group[0]));
        }
    }
    if 2 * largest.0 >= count {
        return Advice::Dominant(largest.1);
    }
    // The more of them were seen once only the more values there are, but to look at many of few keys does not pay.
    let more = match count {
        _ if 5 * covered >= 4 * count => 4 * count,
        ..=FEW_SAMPLES => 4 * count,
        _ => (16 * count).min((len / MORE_OF).max(MORE_MIN) / 2 * 2),
    };
    let covered_min = if count <= FEW_SAMPLES { count / 2 } else { count / 8 };
    let values = if covered < covered_min { None } else { few_values(keys, more) };
    match values {
        Some(values) => Advice::Few(values),
        None if are_grouped(keys, &rows) => Advice::Grouped,
        None => Advice::Sort(rows),
    }
}

/// Whether most keys of some rows, which are in order, agree further with the key after them than with each other, and
/// branch at many depths. Of few depths this costs more than it saves.
fn are_grouped<K: Keys + ?Sized>(keys: &K, rows: &[usize]) -> bool {
    let agree = |a: usize, b: usize| common_prefix(keys.key(a), keys.key(b));
    let (mut before, mut closer, mut depths) = (0, 0, 0u64);
    for (place, row) in rows.iter().enumerate() {
        let after = rows.get(place + 1).map_or(0, |next| agree(*row, *next));
        closer += usize::from(row + 1 < keys.len() && agree(*row, row + 1) > before.max(after));
        before = after;
        depths |= 1 << (after / 8).min(63);
    }
    2 * closer > rows.len() && depths.count_ones() > DEPTHS_MAX
}

/// Rows of the values of so many keys, an even number, if there are few values and most keys are likely to
/// have one of them. Else what is gained by the values does not pay for looking every key up.
fn few_values<K: Keys + ?Sized>(keys: &K, count: usize) -> Option<Vec<usize>> {
    let mut table = Table::for_values(VALUES_MAX);
    let mut values = Vec::new();
    let mut hits = 0;
    for number in 0..count {
        // The second half is drawn between the first: what it finds is not what was just put there.
        let is_second = number >= count / 2;
        let row = spread(keys.len(), 2 * (number % (count / 2)) + usize::from(is_second), count);
        if table.has_or_add(keys.key(row)) {
            hits += usize::from(is_second);
        } else {
            values.push(row);
            if values.len() == VALUES_MAX {
                return None;
            }
        }
    }
    (16 * hits >= 7 * count).then_some(values)
}

/// What neighbours at some places tell of the order of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// They rise, or fall, at all places but one: keys are in order or made of runs.
    Runs,
    /// Most are in the order that is asked for, and so are the places: few keys are out of place.
    Nearly,
    /// They are few, and many neighbours are equal.
    Repeats,
    /// None of these.
    Mixed,
}

/// From so many keys on it pays to ask for runs before the first one is gone through.
const RUNS_FROM: usize = if cfg!(miri) { 256 } else { 8 << 10 };

/// Whether keys are likely to be made of runs, the first of which is in the order that is asked for.
pub(crate) fn are_runs<K: Keys + ?Sized>(keys: &K, order: Order) -> bool {
    keys.len() >= RUNS_FROM
        && order.turned(keys.key(0).cmp(keys.key(1))).is_le()
        && shape_of(keys, order) == Shape::Runs
}

/// Of so many falls of neighbours against the order, and of so many places, keys are taken for nearly in order.
const FALLS_MAX: usize = WINDOW * WINDOWS / 12;
const FAR_FALLS_MAX: usize = 2;

/// Of few keys, if a third of the neighbours at so many places are equal, the other places are not looked at.
const EQUAL_WINDOWS: usize = 3;

/// How keys, some more than a window's, are likely to stand to an order. Keys that are equal most of the time are
/// `Mixed`.
pub(crate) fn shape_of<K: Keys + ?Sized>(keys: &K, order: Order) -> Shape {
    let is_below = |a: &[u8], b: &[u8]| order.turned(a.cmp(b)).is_lt();
    let last = keys.len() - 1 - WINDOW;
    let (mut mixed, mut equal, mut falls, mut far_falls) = (0, 0, 0, 0);
    let mut samples = [keys.key(0); WINDOWS];
    for window in 0..WINDOWS {
        if window == EQUAL_WINDOWS && keys.len() < LEN_MIN && 3 * equal >= WINDOW * EQUAL_WINDOWS {
            return Shape::Repeats;
        }
        let start = last * window / (WINDOWS - 1);
        samples[window] = keys.key(start);
        far_falls += usize::from(window > 0 && is_below(samples[window], samples[window - 1]));
        let mut seen = [false; 2];
        for row in start..start + WINDOW {
            match order.turned(keys.key(row).cmp(keys.key(row + 1))) {
                Ordering::Less => seen[0] = true,
                Ordering::Greater => {
                    seen[1] = true;
                    falls += 1;
                }
                Ordering::Equal => equal += 1,
            }
        }
        mixed += usize::from(seen == [true; 2]);
        if mixed > 1 && (falls > FALLS_MAX || far_falls > FAR_FALLS_MAX) {
            return Shape::Mixed;
        }
    }
    // A key out of place is above or below those beside it, and those are in order. Where two runs meet they are not.
    let is_below_both = |window: usize| is_below(samples[window], samples[window - 2]);
    let meet = (3..WINDOWS).any(|window| is_below_both(window - 1) && is_below_both(window));
    match equal <= WINDOW * WINDOWS / 2 {
        true if meet && mixed <= 1 => Shape::Runs,
        true if falls <= FALLS_MAX && far_falls <= FAR_FALLS_MAX => Shape::Nearly,
        true if mixed <= 1 => Shape::Runs,
        _ => Shape::Mixed,
    }
}

/// The place of one of `count` samples among `len` keys. They do not lie at even distances, at which keys may lie that
/// are alike.
pub(crate) fn spread(len: usize, number: usize, count: usize) -> usize {
    let mixed = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32;
    let within = ((len as u64 * mixed) >> 32) as usize;
    (len * number + within) / count
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    use super::*;

    /// Files directory by directory, none of which is listed in order, are; the same files in no order are not, nor are
    /// lines that come a little late, which differ at few depths.
    #[test]
    fn listings_are_grouped() {
        let len = if cfg!(miri) { 1_200 } else { 3_000 };
        let mixed = |n: usize| n as u64 * 0x9e37_79b9 % 0x1_0001;
        let directory = |n: usize| -> String {
            (0..1 + mixed(n) % 6).map(|level| format!("directory-{}/", (mixed(n) >> level) % 7)).collect()
        };
        let files: Vec<String> =
            (0..len).map(|n| format!("{}{}/{:x}", directory(n / 12), n / 12, mixed(n))).collect();
        assert!(matches!(survey(&files), Advice::Grouped));
        let shuffled: Vec<&String> = (0..len).map(|n| &files[n * 7919 % len]).collect();
        assert!(matches!(survey(&shuffled), Advice::Sort(_)));
        let lines: Vec<String> = (0..len).map(|n| format!("12:{:06} {:x}", n ^ 9, mixed(n))).collect();
        assert!(matches!(survey(&lines), Advice::Sort(_)));
    }
}
