//! Exports of generated runs: the three formats hold the same rows, docs/EXPORT.md matches the export, its
//! queries run in DuckDB and find the known differences, and no partial export is left.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

mod duckdb;
mod files;
mod run;
