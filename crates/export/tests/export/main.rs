//! Exports of made-up runs: the three formats hold the same, the document tells what is exported, its queries run in
//! DuckDB and find what is true, and nothing is lost or half written.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

mod duckdb;
mod files;
mod run;
