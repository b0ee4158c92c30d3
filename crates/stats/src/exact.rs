//! Counters that do not vary: compared as they are, block by block, without a margin for noise.

use crate::metric::Direction;
use crate::pairs::{Pair, Pairs};

/// What the mean over windows may differ by through rounding alone, as a share.
const ROUNDING: f64 = 1e-9;
/// Without a control a counter counts as exact only if the contrast is the same in this many blocks.
const ALONE_BLOCKS_MIN: usize = 3;

/// What an exact comparison says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exact {
    /// The same in every block.
    Equal,
    /// Different in every block in the same direction, everywhere by the minimum effect of interest at most.
    Tiny(Direction),
    /// Different in every block in the same direction, everywhere by more.
    Beyond(Direction),
}

/// Compares exactly, if the counter is one that can be: base and control agree in all blocks, or, without a control,
/// the contrast does not vary. None: it is left to the estimator, as is a contrast that changes its sign or straddles
/// the minimum effect of interest. `blocks_min` is the first look's: no decision comes before it, since a counter that
/// differs now and then agrees in two blocks by chance often enough.
pub(crate) fn compare(pairs: &Pairs, control: Option<&Pairs>, mei: f64, blocks_min: usize) -> Option<Exact> {
    let exact = match control {
        Some(control) => control.len() >= blocks_min && control.0.iter().all(is_equal),
        None => pairs.len() >= ALONE_BLOCKS_MIN && is_constant(pairs),
    };
    if !exact || pairs.len() < blocks_min {
        return None;
    }
    if pairs.0.iter().all(is_equal) {
        return Some(Exact::Equal);
    }
    let direction = Direction::of(pairs.0.first()?.ratio().ln());
    let one_way = |pair: &Pair| !is_equal(pair) && Direction::of(pair.ratio().ln()) == direction;
    if !pairs.0.iter().all(one_way) {
        return None;
    }
    let beyond = pairs.0.iter().filter(|pair| (pair.ratio() - 1.0).abs() > mei).count();
    match beyond {
        0 => Some(Exact::Tiny(direction)),
        all if all == pairs.len() => Some(Exact::Beyond(direction)),
        _ => None,
    }
}

fn is_equal(pair: &Pair) -> bool {
    (pair.arm - pair.base).abs() <= ROUNDING * pair.base.abs()
}

fn is_constant(pairs: &Pairs) -> bool {
    let (low, high) = range(pairs);
    high - low <= ROUNDING * low.abs() || low == high
}

/// Smallest and largest ratio of a block.
pub(crate) fn range(pairs: &Pairs) -> (f64, f64) {
    let fold = |(low, high): (f64, f64), pair: &Pair| (low.min(pair.ratio()), high.max(pair.ratio()));
    pairs.0.iter().fold((f64::INFINITY, f64::NEG_INFINITY), fold)
}
