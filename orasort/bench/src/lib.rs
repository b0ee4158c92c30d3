//! Data sets, peers, measurements and fuzzing for the library `orasort`.
//!
//! Two programs: `orasort-bench` measures it beside the sorts that exist, `orasort-fuzz` holds it against the sort of
//! std. Nothing else depends on this crate.

pub mod algorithms;
pub mod check;
pub mod commands;
pub mod cost;
pub mod data;
pub mod fuzz;
pub mod programs;
pub mod random;
pub mod sets;
pub mod table;
