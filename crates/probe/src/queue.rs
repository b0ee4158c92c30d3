//! The state of a table that is used as a queue: its size, and the cost of planning a statement. The files of each DBMS
//! return these.

/// Sizes of all tables of the database together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Rows, with what is free among them, bytes. In InnoDB the primary key is part of it.
    pub table_bytes: u64,
    /// Indexes, bytes.
    pub index_bytes: u64,
}

/// What planning one statement took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Planning {
    /// Buffers that the planner looked into, found in memory or read; none where the server does not tell.
    pub buffers: Option<u64>,
    /// Time, microseconds.
    pub elapsed_us: f64,
}
