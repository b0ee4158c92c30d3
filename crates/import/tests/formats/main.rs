//! Every format: what must be found in short files of it, and that no damage makes its grammar panic.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

mod fuzz;
mod grammars;
mod jobs;
mod samples;
