//! The side of 1 on which a ratio lies, and whether that is worse for a metric.

use rqps_model::Metric;

/// The side of 1 on which a ratio lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Below 1.
    Down,
    /// Above 1.
    Up,
}

impl Direction {
    /// The direction of the logarithm of a ratio other than 1.
    pub(crate) fn of(ln_ratio: f64) -> Direction {
        if ln_ratio < 0.0 { Direction::Down } else { Direction::Up }
    }

    /// Whether a move of a metric's ratio to base in this direction is worse for the candidate.
    pub(crate) fn is_worse(self, metric: Metric) -> bool {
        (metric == Metric::Rate) == (self == Direction::Down)
    }
}
