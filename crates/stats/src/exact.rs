//! Counters that do not vary, and the limit of what few blocks can prove.
//!
//! A counter that is the same in every block may still consist of rare events of one size, such as
//! checkpoints or page splits. If such an event happens in each of the arm's blocks and in none of base's, no
//! variance shows it. So the probability of that is a lower bound of every p value of a counter, and of any
//! metric whose blocks do not vary at all. In a block, base and arm differ in a given direction by chance
//! with probability 1/4 at most; if a control matches base in all blocks, with `p (1 - p)²`, which is 4/27 at
//! most.

use crate::direction::Direction;
use crate::pairs::{Pair, Pairs};
use statrs::function::beta::beta_reg;

/// Relative difference that rounding in the mean over windows can cause.
pub(crate) const ROUNDING: f64 = 1e-9;
/// Minimum number of blocks with the same contrast for a counter to count as exact without a control.
const ALONE_BLOCKS_MIN: usize = 3;
/// Maximum probability that events of one size make an arm differ from base in a given direction in one
/// block.
const CHANCE_OF_TWO: f64 = 1.0 / 4.0;
/// The same if a control measured in the same block matches base.
const CHANCE_OF_THREE: f64 = 4.0 / 27.0;

/// Result of an exact comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exact {
    /// The same in every block.
    Equal,
    /// Different in every block in the same direction, but nowhere by more than what matters.
    Tiny(Direction),
    /// Different in every block in the same direction, everywhere by more than what matters.
    Beyond(Direction),
}

/// Compares the first `blocks` blocks exactly if the counter allows it: base and control agree in all of them
/// or, without a control, the contrast does not vary. Returns `None` if not, or if the contrast changes its
/// sign or straddles what matters; the estimator then decides. What matters is a share `mei` of base, and at
/// least the difference `min_difference`.
pub(crate) fn compare(
    pairs: &Pairs,
    control: Option<&Pairs>,
    blocks: usize,
    (mei, min_difference): (f64, f64),
) -> Option<Exact> {
    let pairs = pairs.first(blocks)?;
    let exact = match control {
        Some(control) => matches_base(pairs, control),
        None => pairs.len() >= ALONE_BLOCKS_MIN && is_constant(pairs),
    };
    if !exact {
        return None;
    }
    if pairs.iter().all(is_equal) {
        return Some(Exact::Equal);
    }
    let direction = Direction::of(pairs.first()?.ratio().ln());
    let one_way = |pair: &Pair| !is_equal(pair) && Direction::of(pair.ratio().ln()) == direction;
    if !pairs.iter().all(one_way) {
        return None;
    }
    let matters = |pair: &&Pair| (pair.arm - pair.base).abs() > (mei * pair.base).max(min_difference);
    match pairs.iter().filter(matters).count() {
        0 => Some(Exact::Tiny(direction)),
        all if all == pairs.len() => Some(Exact::Beyond(direction)),
        _ => None,
    }
}

/// Lower bound of the two-sided p value of the first `blocks` blocks: the probability that as many of them
/// differ in `direction` because of events of one size.
pub(crate) fn chance(pairs: &Pairs, control: Option<&Pairs>, blocks: usize, direction: Direction) -> f64 {
    let Some(first) = pairs.first(blocks) else {
        return 1.0;
    };
    let differs = |pair: &&Pair| !is_equal(pair) && Direction::of(pair.ratio().ln()) == direction;
    let differing = first.iter().filter(differs).count();
    // The upper tail of the binomial distribution as an incomplete beta function.
    let tail = match differing {
        0 => 1.0,
        count => beta_reg(count as f64, (blocks - count) as f64 + 1.0, chance_of_one(first, control)),
    };
    (2.0 * tail).min(1.0)
}

/// The same if all of them differ.
pub(crate) fn chance_of_all(pairs: &Pairs, control: Option<&Pairs>, blocks: usize) -> f64 {
    let chance_of_one = pairs.first(blocks).map_or(1.0, |first| chance_of_one(first, control));
    (2.0 * chance_of_one.powi(blocks as i32)).min(1.0)
}

fn chance_of_one(pairs: &[Pair], control: Option<&Pairs>) -> f64 {
    let with_control = control.is_some_and(|control| matches_base(pairs, control));
    if with_control { CHANCE_OF_THREE } else { CHANCE_OF_TWO }
}

/// Whether the control equals base in all these blocks.
fn matches_base(pairs: &[Pair], control: &Pairs) -> bool {
    let matches = |pair: &Pair| control.0.iter().any(|one| one.block == pair.block && is_equal(one));
    pairs.iter().all(matches)
}

fn is_equal(pair: &Pair) -> bool {
    (pair.arm - pair.base).abs() <= ROUNDING * pair.base.abs()
}

fn is_constant(pairs: &[Pair]) -> bool {
    let (low, high) = range(pairs);
    high - low <= ROUNDING * low.abs() || low == high
}

/// Smallest and largest ratio of the blocks.
pub(crate) fn range(pairs: &[Pair]) -> (f64, f64) {
    let fold = |(low, high): (f64, f64), pair: &Pair| (low.min(pair.ratio()), high.max(pair.ratio()));
    pairs.iter().fold((f64::INFINITY, f64::NEG_INFINITY), fold)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 2 / 64 for three blocks, 2 (4/27)³ with a control; for four of five, 2 (5 · 3 + 1) / 4⁵.
    #[test]
    fn p_value_of_few_blocks_is_bounded() {
        let more = Pairs::made(&[(1.0, 1.2); 5]);
        let control = Pairs::made(&[(1.0, 1.0); 5]);
        let chance_of = |pairs, control, blocks| chance(pairs, control, blocks, Direction::Up);
        assert!((chance_of(&more, None, 3) - 2.0 / 64.0).abs() < 1e-12);
        assert!((chance_of(&more, Some(&control), 3) - 2.0 * (4.0f64 / 27.0).powi(3)).abs() < 1e-12);
        assert!(
            (chance_of(&more, Some(&more), 3) - 2.0 / 64.0).abs() < 1e-12,
            "that control is not like base"
        );
        let four = Pairs::made(&[(1.0, 1.2), (1.0, 1.2), (1.0, 1.0), (1.0, 1.2), (1.0, 1.2)]);
        assert!((chance_of(&four, None, 5) - 2.0 * 16.0 / 1024.0).abs() < 1e-12);
        assert_eq!(chance(&more, None, 5, Direction::Down), 1.0);
    }
}
