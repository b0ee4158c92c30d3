//! A chain of runs over versions: which versions, which links are still to be measured, and their plans.

pub mod journal;
pub mod measure;
pub mod versions;
