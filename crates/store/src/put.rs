//! Statements that change a run, each compiled once by a writer: a journal has many alike.

use rusqlite::{Connection, Params};

pub(crate) trait Put {
    fn put(&self, sql: &str, params: impl Params) -> rusqlite::Result<usize>;
}

impl Put for Connection {
    fn put(&self, sql: &str, params: impl Params) -> rusqlite::Result<usize> {
        self.prepare_cached(sql)?.execute(params)
    }
}
