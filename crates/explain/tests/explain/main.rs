//! Explanations of made-up runs, in one program: linking each file took half a CPU second.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

mod agreement;
mod commits;
mod common;
mod evidence;
mod innodb;
mod known_causes;
mod planted;
mod rocksdb;
mod syncs;
