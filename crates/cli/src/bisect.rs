//! Finds the version or the commit that brought a change: what to measure next, what was measured, what it says.

pub mod answer;
pub mod commits;
pub mod journal;
pub mod line;
pub mod measure;
pub mod versions;
