//! Statements that change a run. Each is compiled once per connection, since a journal repeats them.

use rusqlite::{Connection, Params};

pub(crate) trait Put {
    /// Executes a statement and returns the number of changed rows.
    fn put(&self, sql: &str, params: impl Params) -> rusqlite::Result<usize>;

    /// Inserts a row. `columns` are separated by commas, and `params` are in their order.
    fn insert(&self, table: &str, columns: &str, params: impl Params) -> rusqlite::Result<()>;
}

impl Put for Connection {
    fn put(&self, sql: &str, params: impl Params) -> rusqlite::Result<usize> {
        self.prepare_cached(sql)?.execute(params)
    }

    fn insert(&self, table: &str, columns: &str, params: impl Params) -> rusqlite::Result<()> {
        let values = vec!["?"; columns.split(',').count()].join(", ");
        self.put(&format!("INSERT INTO {table} ({columns}) VALUES ({values})"), params).map(drop)
    }
}
