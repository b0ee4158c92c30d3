//! What a step of the Insert Benchmark is asked to do.

use crate::spec::Flush;
use rqps_model::{Limit, Pacer};
use rqps_workloads::insert_benchmark::DeleteForm;
use rqps_workloads::{Dialect, Test};

/// What a session, or a thread, of a step is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Sends INSERT statements; builds indexes.
    Insert,
    Delete,
    /// Writes the statements of the two; its session only looks up the smallest key.
    Maker,
    Query,
}

impl Role {
    /// All roles, in the order of a client's sessions.
    pub const ALL: [Role; 4] = [Role::Insert, Role::Delete, Role::Maker, Role::Query];

    /// The word in files: `insert`, `delete`, `maker`, `query`.
    pub fn key(self) -> &'static str {
        match self {
            Role::Insert => "insert",
            Role::Delete => "delete",
            Role::Maker => "maker",
            Role::Query => "query",
        }
    }
}

/// Where a client's queue stands and how far it is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Positions {
    /// The number of the next INSERT statement, counted over all steps from 0: what its rows are drawn by.
    pub insert_from: u64,
    pub rows_to_insert: u64,
    /// Rows to delete; nothing where the test doesn't delete.
    pub rows_to_delete: u64,
}

/// A measured step of a test that has a queue.
#[derive(Debug, Clone)]
pub struct QueueSpec {
    /// The test; [`Test::queue`] says what its clients do.
    pub test: &'static Test,
    /// The step's name: part of the seed of its queries.
    pub step: String,
    pub dialect: Dialect,
    /// All clients use table 1, and none deletes.
    pub shared_table: bool,
    pub seed: u64,
    /// Part of the seed of queries; see [`crate::StepSpec::draws`].
    pub draws: u32,
    /// How DELETE finds its rows.
    pub delete_form: DeleteForm,
    /// How a background rate is kept; without meaning where the test has none.
    pub pacer: Pacer,
    /// One entry for each client, which has its own sessions and, unless the table is shared, its own table.
    pub positions: Vec<Positions>,
    /// Time, after which no statement is made and those that were made are finished; or the rows of each client, as
    /// `positions` says.
    pub limit: Limit,
    /// How sessions hand in their statistics before the window. They end after it.
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
