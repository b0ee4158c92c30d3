//! Consecutive versions: at which version a change came in, how large it is, and which tests show it.
//!
//! All versions are arms of the same blocks. Without the block's mean, each version has a mean over blocks,
//! whose errors have equal variances and are independent up to that common mean: so ordinary least squares is
//! the generalised fit.

mod arrivals;
mod levels;
mod steps;

pub use arrivals::{Arrival, arrivals};
pub use steps::{SeriesData, SeriesRules, Step, Steps, TestSteps, steps};
