//! Data with known truth: what the method is tested with, and what a machine's own figures are held against.
//!
//! Deterministic by seed.

mod blocks;
mod random;
mod seconds;
mod stalls;

pub use blocks::{Blocks, Outcome};
pub use random::Rng;
pub use seconds::Seconds;
pub use stalls::{Source, Stalls};
