//! State of queue tables, as returned for each DBMS: sizes, and the cost of planning a statement.

/// Sizes of all tables of the database together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Rows including free space, bytes. In InnoDB it includes the primary key.
    pub table_bytes: u64,
    /// Indexes, bytes.
    pub index_bytes: u64,
}

/// The cost of planning one statement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Planning {
    /// Buffers that the planner accessed, hit or read; `None` if the server does not report them.
    pub buffers: Option<u64>,
    /// Time, microseconds.
    pub elapsed_us: f64,
}
