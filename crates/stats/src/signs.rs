//! The sign test over windows: whether more of them differ in one direction than chance would give.
//!
//! Student's t is not valid for rare events, whose noise is not normal. The sign test ignores sizes: if the
//! windows of two equal arms are exchangeable, its error is exact however heavy the tails are (Arbuthnott
//! 1710). So a change in rare events needs both.
//!
//! Windows of a block share their restart. If restarts end up in one of two states, all windows vote alike;
//! so a block has at most [`BLOCK_VOTES_MAX`] votes.

use crate::direction::Direction;
use crate::pairs::Votes;
use statrs::function::beta::beta_reg;

/// With this limit, five blocks can show a change at their look, which takes 14 votes.
const BLOCK_VOTES_MAX: f64 = 3.0;

/// Two-sided p value of the number of windows that differ in `direction`, among those that differ.
pub(crate) fn two_sided(votes: &[Votes], direction: Direction) -> f64 {
    let (mut ours, mut theirs) = (0.0, 0.0);
    for block in votes {
        let (up, down) = (block.up as f64, block.down as f64);
        let weight = (BLOCK_VOTES_MAX / (up + down)).min(1.0);
        let (same, opposite) = if direction == Direction::Up { (up, down) } else { (down, up) };
        ours += weight * same;
        theirs += weight * opposite;
    }
    if ours == 0.0 {
        return 1.0;
    }
    // The upper tail of the binomial distribution with p = 1/2 as an incomplete beta function, which also
    // accepts fractional votes.
    let tail = beta_reg(ours, theirs + 1.0, 0.5);
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_are_binomial_tails() {
        let votes =
            |up, down| [vec![Votes { up: 1, down: 0 }; up], vec![Votes { up: 0, down: 1 }; down]].concat();
        let p = |up, down| two_sided(&votes(up, down), Direction::Up);
        assert!((p(14, 0) - 2f64.powi(-13)).abs() < 1e-15, "all of 14: {}", p(14, 0));
        // P(X >= 9) of 10 is 11 / 1024.
        assert!((p(9, 1) - 22.0 / 1024.0).abs() < 1e-12, "{}", p(9, 1));
        assert_eq!((p(0, 3), p(0, 0), p(2, 2)), (1.0, 1.0, 1.0));
        assert!((two_sided(&votes(1, 9), Direction::Down) - 22.0 / 1024.0).abs() < 1e-12);
        assert!(p(2000, 0) < 1e-300, "no underflow to nonsense");
    }

    #[test]
    fn votes_of_a_block_are_limited() {
        let p = |up| two_sided(&[Votes { up, down: 0 }; 4], Direction::Up);
        assert!((p(3) - 2f64.powi(-11)).abs() < 1e-12 && (p(3) - p(16)).abs() < 1e-12, "{} {}", p(3), p(16));
    }
}
