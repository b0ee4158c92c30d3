//! The parameters of a step of the Insert Benchmark.

use crate::spec::Flush;
use rqps_model::{Limit, Pacer};
use rqps_workloads::insert_benchmark::DeleteForm;
use rqps_workloads::{Dialect, Test};

/// The role of a session or thread of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Sends INSERT statements; builds indexes.
    Insert,
    Delete,
    /// Writes the INSERT and DELETE statements; its session only looks up the smallest key.
    Maker,
    Query,
}

impl Role {
    /// All roles, in the order of a client's sessions.
    pub const ALL: [Role; 4] = [Role::Insert, Role::Delete, Role::Maker, Role::Query];

    /// The name in files: `insert`, `delete`, `maker`, `query`.
    pub fn key(self) -> &'static str {
        match self {
            Role::Insert => "insert",
            Role::Delete => "delete",
            Role::Maker => "maker",
            Role::Query => "query",
        }
    }
}

/// The position of a client's queue, and the work to do from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Positions {
    /// The number of the next INSERT statement, counted from 0 over all steps; it seeds the statement's rows.
    pub insert_from: u64,
    pub rows_to_insert: u64,
    /// Ignored if the test doesn't delete.
    pub rows_to_delete: u64,
}

/// A measured step of a test that has a queue.
#[derive(Debug, Clone)]
pub struct QueueSpec {
    /// A test with [`Test::queue`].
    pub test: &'static Test,
    /// The step's name; part of the seed of its queries.
    pub step: String,
    pub dialect: Dialect,
    /// All clients use table 1, and none deletes.
    pub shared_table: bool,
    pub seed: u64,
    /// Part of the seed of queries; see [`crate::StepSpec::draws`].
    pub draws: u32,
    /// How DELETE finds its rows.
    pub delete_form: DeleteForm,
    /// Ignored if the test has no background rate.
    pub pacer: Pacer,
    /// One entry for each client. Each has its own sessions and, unless the table is shared, its own table.
    pub positions: Vec<Positions>,
    /// With a time limit, no statement is made after it, and those already made are finished. With any other
    /// limit, each client does the rows in `positions`.
    pub limit: Limit,
    /// How sessions flush their statistics before the window. They end after it.
    pub flush: Option<Flush>,
}

impl QueueSpec {
    pub fn clients(&self) -> u32 {
        self.positions.len() as u32
    }

    /// The number of a client's table.
    pub(super) fn table(&self, client: u32) -> u32 {
        if self.shared_table { 1 } else { client + 1 }
    }
}
