//! What is read of files of other programs, and what is refused, in one program: linking each took half a CPU second.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

mod checking;
mod damaged;
mod doubts;
mod given;
mod kinds;
mod layouts;
mod mistakes;
mod names;
mod own;
mod published;
mod settings;
mod unlike;
