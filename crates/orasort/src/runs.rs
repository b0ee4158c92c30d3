//! Recognises keys that are in order already, before anything is built for them.
//!
//! One pass of comparisons that ends at the first pair out of order: on keys of no order that is after a few keys.

use core::cmp::Ordering;

use crate::keys::Keys;

/// The order in which keys were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// None greater than the one after it.
    Rising,
    /// None less than the one after it, and they are not all equal.
    Falling {
        /// Whether there are neighbours that are equal.
        ties: bool,
    },
    /// Neither.
    Mixed,
}

impl Found {
    /// Whether neighbours may be equal.
    pub(crate) fn may_tie(self) -> bool {
        self != Found::Falling { ties: false }
    }
}

/// The order of keys.
pub(crate) fn order_of<K: Keys + ?Sized>(keys: &K) -> Found {
    let len = keys.len();
    if len < 2 {
        return Found::Rising;
    }
    let mut row = 1;
    let mut last = keys.key(0);
    while row < len {
        let key = keys.key(row);
        if key < last {
            break;
        }
        last = key;
        row += 1;
    }
    if row == len {
        return Found::Rising;
    }
    if keys.key(0) != keys.key(row - 1) {
        return Found::Mixed;
    }
    let mut ties = row > 1;
    for row in row..len {
        let key = keys.key(row);
        match key.cmp(last) {
            Ordering::Less => {}
            Ordering::Equal => ties = true,
            Ordering::Greater => return Found::Mixed,
        }
        last = key;
    }
    Found::Falling { ties }
}

/// Calls `run` for each run of equal keys from the last to the first, with its first row and the row after its last.
pub(crate) fn equal_runs_from_end<K: Keys + ?Sized>(keys: &K, mut run: impl FnMut(usize, usize)) {
    let mut end = keys.len();
    while end > 0 {
        let mut start = end - 1;
        while start > 0 && keys.key(start - 1) == keys.key(end - 1) {
            start -= 1;
        }
        run(start, end);
        end = start;
    }
}
