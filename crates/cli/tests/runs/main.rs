//! Complete runs with real servers: their results, and their state after a failure of rqps, a server or the disk.
//!
//! A single program, so that it is linked only once. Each test has its own directory; builds come from the usual cache.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

mod anew;
mod bench;
mod bisect;
mod blocks;
mod data;
mod died;
mod disk;
mod equal;
mod fleet;
mod gate;
mod given_up;
mod hammerdb;
mod import;
mod insert;
mod interrupted;
mod killed;
mod lists;
mod mysql;
mod order;
mod ordinary;
mod own;
mod pace;
mod plans;
mod profile;
mod refused;
mod rocksdb;
mod series;
mod stalls;
mod sync;
mod sysbench;
mod tproc_c;
mod unpaired;
mod upgrade;
mod whole;
