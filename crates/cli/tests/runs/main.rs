//! Whole runs with real servers: what is measured, and what is left when rqps, its servers or the disk fail.
//!
//! One program for all of them, so that it is linked once. Each test works in a directory of its own; builds
//! come from the usual cache.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

mod anew;
mod bench;
mod blocks;
mod data;
mod died;
mod disk;
mod equal;
mod gate;
mod given_up;
mod insert;
mod interrupted;
mod killed;
mod lists;
mod mysql;
mod ordinary;
mod pace;
mod plans;
mod profile;
mod refused;
mod stalls;
mod sysbench;
mod whole;
