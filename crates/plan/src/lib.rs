//! Plan files: parsing, checking, and the schedule they become.

pub mod build;

pub use build::{BuildError, BuildSource, BuildSpec, Dbms};
