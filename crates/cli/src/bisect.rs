//! Finds the published version that brought a change: which versions to measure, what was measured, what it says.

pub mod answer;
pub mod journal;
pub mod measure;
pub mod versions;
