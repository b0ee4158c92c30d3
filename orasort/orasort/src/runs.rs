//! Recognises keys that are in order already, before anything is built for them.
//!
//! One pass of comparisons that ends at the first pair out of order: on keys of no order that is after a few keys.

use core::cmp::Ordering;

use crate::Order;
use crate::keys::Keys;

/// How keys were found to stand to the order that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// In it.
    InOrder,
    /// In its reverse.
    Reversed {
        /// Whether neighbours may be equal.
        ties: bool,
    },
    /// In neither.
    Mixed {
        /// So many of the first keys are in it, or more.
        in_order: usize,
    },
}

/// How keys stand to an order.
pub(crate) fn order_of<K: Keys + ?Sized>(keys: &K, order: Order) -> Found {
    let rising = match order {
        Order::Ascending => Found::InOrder,
        Order::Descending => Found::Reversed { ties: true },
    };
    let mixed = |rising: usize, falling: usize| Found::Mixed {
        in_order: if order == Order::Ascending { rising } else { falling },
    };
    let len = keys.len();
    if len < 2 {
        return rising;
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
        return rising;
    }
    if keys.key(0) != keys.key(row - 1) {
        return mixed(row, 1);
    }
    let mut ties = row > 1;
    for row in row..len {
        let key = keys.key(row);
        match key.cmp(last) {
            Ordering::Less => {}
            Ordering::Equal => ties = true,
            Ordering::Greater => return mixed(1, row),
        }
        last = key;
    }
    match order {
        Order::Ascending => Found::Reversed { ties },
        Order::Descending => Found::InOrder,
    }
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
