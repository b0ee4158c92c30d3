//! Real servers and their data directories, in one program: linking each file took half a CPU second.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

mod builds;
mod counted_threads;
mod held;
mod lifecycle;
mod mysql_servers;
mod planted;
mod snapshots;
