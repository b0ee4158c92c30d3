//! Counters that do not vary, and how little few blocks can prove.
//!
//! A counter that is the same in every block may be made of nothing but events of one size that come now and then: a
//! checkpoint, a page that is split. Such an event in each of the arm's blocks and in none of base's is no noise that
//! a variance shows. So the probability of that is a floor of every p value of a counter, and of every one whose
//! blocks have no variance at all: in a block, base and arm differ in one direction by chance with 1/4 at most; where
//! a control is like base in all blocks, with `p (1 - p)²`, which is 4/27 at most.

use crate::direction::Direction;
use crate::pairs::{Pair, Pairs};
use statrs::function::beta::beta_reg;

/// What the mean over windows may differ by through rounding alone, as a share.
pub(crate) const ROUNDING: f64 = 1e-9;
/// Without a control a counter counts as exact only if the contrast is the same in this many blocks.
const ALONE_BLOCKS_MIN: usize = 3;
/// Probability, at most, that an event of one size makes an arm differ from base in one direction in a block.
const CHANCE_OF_TWO: f64 = 1.0 / 4.0;
/// The same where a control that was measured beside them is like base.
const CHANCE_OF_THREE: f64 = 4.0 / 27.0;

/// What an exact comparison says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exact {
    /// The same in every block.
    Equal,
    /// Different in every block in the same direction, everywhere by what matters at most.
    Tiny(Direction),
    /// Different in every block in the same direction, everywhere by more.
    Beyond(Direction),
}

/// Compares the first `blocks` blocks exactly, if the counter is one that can be: base and control agree in all of
/// them, or, without a control, the contrast does not vary. None: it is left to the estimator, as is a contrast that
/// changes its sign or straddles what matters: a share `mei` of base, and the difference `least` at any rate.
pub(crate) fn compare(
    pairs: &Pairs,
    control: Option<&Pairs>,
    blocks: usize,
    (mei, least): (f64, f64),
) -> Option<Exact> {
    let pairs = pairs.first(blocks)?;
    let exact = match control {
        Some(control) => is_like_base(pairs, control),
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
    let matters = |pair: &&Pair| (pair.arm - pair.base).abs() > (mei * pair.base).max(least);
    match pairs.iter().filter(matters).count() {
        0 => Some(Exact::Tiny(direction)),
        all if all == pairs.len() => Some(Exact::Beyond(direction)),
        _ => None,
    }
}

/// The least p value that the first `blocks` blocks can give, two-sided: the probability that so many of them differ in
/// `direction` because of events of one size.
pub(crate) fn chance(pairs: &Pairs, control: Option<&Pairs>, blocks: usize, direction: Direction) -> f64 {
    let Some(first) = pairs.first(blocks) else {
        return 1.0;
    };
    let differs = |pair: &&Pair| !is_equal(pair) && Direction::of(pair.ratio().ln()) == direction;
    let differing = first.iter().filter(differs).count();
    // The upper tail of the binomial distribution as an incomplete beta function.
    let tail = match differing {
        0 => 1.0,
        some => beta_reg(some as f64, (blocks - some) as f64 + 1.0, of_one_block(first, control)),
    };
    (2.0 * tail).min(1.0)
}

/// The same where all of them do.
pub(crate) fn chance_of_all(pairs: &Pairs, control: Option<&Pairs>, blocks: usize) -> f64 {
    let of_one = pairs.first(blocks).map_or(1.0, |first| of_one_block(first, control));
    (2.0 * of_one.powi(blocks as i32)).min(1.0)
}

fn of_one_block(pairs: &[Pair], control: Option<&Pairs>) -> f64 {
    let with_control = control.is_some_and(|control| is_like_base(pairs, control));
    if with_control { CHANCE_OF_THREE } else { CHANCE_OF_TWO }
}

/// Whether the control is like base in all these blocks.
fn is_like_base(pairs: &[Pair], control: &Pairs) -> bool {
    let like = |pair: &Pair| control.0.iter().any(|one| one.block == pair.block && is_equal(one));
    pairs.iter().all(like)
}

fn is_equal(pair: &Pair) -> bool {
    (pair.arm - pair.base).abs() <= ROUNDING * pair.base.abs()
}

fn is_constant(pairs: &[Pair]) -> bool {
    let (low, high) = range(pairs);
    high - low <= ROUNDING * low.abs() || low == high
}

/// Smallest and largest ratio of a block.
pub(crate) fn range(pairs: &[Pair]) -> (f64, f64) {
    let fold = |(low, high): (f64, f64), pair: &Pair| (low.min(pair.ratio()), high.max(pair.ratio()));
    pairs.iter().fold((f64::INFINITY, f64::NEG_INFINITY), fold)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairs::Votes;

    fn pairs(rows: &[(f64, f64)]) -> Pairs {
        let pair = |(number, (base, arm)): (usize, &(f64, f64))| Pair {
            block: number as u32,
            base: *base,
            arm: *arm,
            ln: Some((arm / base).ln()),
            windows: Votes::default(),
            seconds: 0.0,
        };
        Pairs(rows.iter().enumerate().map(pair).collect())
    }

    /// By hand: 2 / 64 for three blocks, 2 (4/27)³ with a control; four of five are 2 (5 · 3 + 1) / 4⁵.
    #[test]
    fn a_few_blocks_prove_little() {
        let more = pairs(&[(1.0, 1.2); 5]);
        let control = pairs(&[(1.0, 1.0); 5]);
        let chance_of = |pairs, control, blocks| chance(pairs, control, blocks, Direction::Up);
        assert!((chance_of(&more, None, 3) - 2.0 / 64.0).abs() < 1e-12);
        assert!((chance_of(&more, Some(&control), 3) - 2.0 * (4.0f64 / 27.0).powi(3)).abs() < 1e-12);
        assert!(
            (chance_of(&more, Some(&more), 3) - 2.0 / 64.0).abs() < 1e-12,
            "that control is not like base"
        );
        let four = pairs(&[(1.0, 1.2), (1.0, 1.2), (1.0, 1.0), (1.0, 1.2), (1.0, 1.2)]);
        assert!((chance_of(&four, None, 5) - 2.0 * 16.0 / 1024.0).abs() < 1e-12);
        assert_eq!(chance(&more, None, 5, Direction::Down), 1.0);
    }
}
