//! The benchmarks that there are, and the tests of each by name.

use crate::model::Test;
use crate::{insert_benchmark, microbenchmarks};

/// A set of tests and their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Benchmark {
    /// The 32 microbenchmarks.
    Microbenchmarks,
    /// The Insert Benchmark: a table that is a queue.
    Insert,
}

impl Benchmark {
    pub const ALL: [Benchmark; 2] = [Benchmark::Microbenchmarks, Benchmark::Insert];

    /// The word in plans and result files.
    pub fn key(self) -> &'static str {
        match self {
            Benchmark::Microbenchmarks => "microbenchmarks",
            Benchmark::Insert => "insert",
        }
    }

    /// Its tests, in table order.
    pub fn tests(self) -> &'static [Test] {
        match self {
            Benchmark::Microbenchmarks => microbenchmarks::tests(),
            Benchmark::Insert => insert_benchmark::tests(),
        }
    }

    /// Its test with this name, those included that are made for a rate of their own.
    pub fn test_by_name(self, name: &str) -> Option<&'static Test> {
        match self {
            Benchmark::Microbenchmarks => microbenchmarks::test_by_name(name),
            Benchmark::Insert => insert_benchmark::test_by_name(name),
        }
    }
}
