//! Whether a difference comes from a test or from the steps before it: runs with some of them, and what they say.

pub mod answer;
pub mod journal;
pub mod shuffled;
pub mod steps;
