//! The little that the load engine needs from any DBMS's client.

use crate::{Encoding, Error, Params};

/// The declared type of a prepared statement's parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamType {
    /// A 64-bit integer, whatever the column: sysbench declares all its integers so, and the server
    /// compares an `int4` column with it by other functions than with an `int4`.
    Int8,
    /// A character string (`varchar`).
    Text,
}

/// What the server said a statement did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub rows: u64,
    /// Rows that INSERT, UPDATE, DELETE, MERGE or COPY reported; 0 for every other command.
    pub affected: u64,
}

/// One connection that runs statements one after another.
pub trait Session: Send {
    /// A statement the server has parsed; belongs to the session that prepared it.
    type Statement;
    /// How this protocol writes parameters.
    type Encoding: Encoding;

    /// Parses `sql` on the server, with one declared type per parameter.
    ///
    /// # Errors
    /// When the server rejects the statement or the connection is lost.
    fn prepare(&mut self, sql: &str, types: &[ParamType]) -> Result<Self::Statement, Error>;

    /// Runs a prepared statement to its end; result rows are counted, not kept.
    ///
    /// # Errors
    /// When the server reports an error (the session stays usable) or the connection is lost.
    fn execute(
        &mut self,
        statement: &Self::Statement,
        params: &Params<Self::Encoding>,
    ) -> Result<Outcome, Error>;

    /// Runs SQL text without parameters; result rows are counted, not kept. Several statements
    /// separated by semicolons give the sum.
    ///
    /// # Errors
    /// As for [`Session::execute`].
    fn simple(&mut self, sql: &str) -> Result<Outcome, Error>;

    /// Runs SQL text and keeps one integer of its answer: the first value of the first row; `None` without a row or
    /// when it is NULL. Not for the hot path.
    ///
    /// # Errors
    /// As for [`Session::execute`], and when the value is not a 64-bit integer.
    fn number(&mut self, sql: &str) -> Result<Option<i64>, Error>;

    /// The server's own number for this connection; for Postgres the backend's process id,
    /// for MySQL the connection's id.
    fn backend_id(&self) -> u32;
}
