//! Random numbers, and data with known truth to test the method with. Deterministic by seed.

mod blocks;
mod random;
mod stalls;

pub use blocks::{Blocks, Outcome};
pub use random::Rng;
pub use stalls::{Source, Stalls};
