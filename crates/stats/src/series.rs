//! Versions in a row: where a change came in, how large it is, and which tests it shows in.
//!
//! All versions are arms of the same blocks. Taking a block's mean out leaves per version a mean over blocks whose
//! errors are alike and, up to that common mean, independent: the least-squares fit of levels to them is the
//! generalised one.

mod arrivals;
mod levels;
mod steps;

pub use arrivals::{Arrival, arrivals};
pub use steps::{SeriesData, SeriesRules, Step, Steps, TestSteps, steps};
