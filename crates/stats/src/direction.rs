//! Where a ratio lies, and what that means of a metric.

use rqps_model::Metric;

/// Where a ratio lies against 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Below 1.
    Down,
    /// Above 1.
    Up,
}

impl Direction {
    /// Of a logarithm of a ratio that is not 0.
    pub(crate) fn of(ln_ratio: f64) -> Direction {
        if ln_ratio < 0.0 { Direction::Down } else { Direction::Up }
    }

    /// Whether it is worse for the candidate if a metric's ratio to base has moved this way.
    pub(crate) fn is_worse(self, metric: Metric) -> bool {
        (metric == Metric::Rate) == (self == Direction::Down)
    }
}
