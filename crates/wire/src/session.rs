//! The interface between the load engine and a DBMS's client.

use crate::{Encoding, Error, Params, Table};

/// The declared type of a prepared statement's parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamType {
    /// A 64-bit integer, whatever the column's type, as in sysbench. The type matters: to compare an `int4`
    /// column with an `int8`, the server uses other functions than to compare it with an `int4`.
    Int8,
    /// A character string (`varchar`).
    Text,
}

/// The result of a statement, as reported by the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub rows: u64,
    /// Rows changed by INSERT, UPDATE, DELETE, MERGE or COPY; 0 for every other command.
    pub affected: u64,
}

/// A connection that runs one statement at a time.
pub trait Session: Send {
    /// A prepared statement; belongs to the session that prepared it.
    type Statement;
    /// How this protocol encodes parameters.
    type Encoding: Encoding;

    /// Prepares `sql` on the server, with one declared type per parameter.
    ///
    /// # Errors
    /// If the server rejects the statement or the connection is lost.
    fn prepare(&mut self, sql: &str, types: &[ParamType]) -> Result<Self::Statement, Error>;

    /// Executes a prepared statement; counts result rows and discards them.
    ///
    /// # Errors
    /// If the server reports an error (the session stays usable) or the connection is lost.
    fn execute(
        &mut self,
        statement: &Self::Statement,
        params: &Params<Self::Encoding>,
    ) -> Result<Outcome, Error>;

    /// Runs SQL text without parameters; counts result rows and discards them. For several statements
    /// separated by semicolons, returns the sum.
    ///
    /// # Errors
    /// Those of [`Session::execute`].
    fn simple(&mut self, sql: &str) -> Result<Outcome, Error>;

    /// Runs SQL text and returns the rows, all values as text. Allocates each value.
    ///
    /// # Errors
    /// Those of [`Session::execute`].
    fn query(&mut self, sql: &str) -> Result<Table, Error>;

    /// Runs SQL text and returns the first value of the first row as an integer; `None` if there is no row or
    /// it is NULL. Not for the hot path.
    ///
    /// # Errors
    /// Those of [`Session::execute`], and if the value is not a 64-bit integer.
    fn number(&mut self, sql: &str) -> Result<Option<i64>, Error>;

    /// The server's id of this connection: in Postgres the backend's process id, in MySQL the connection id.
    fn backend_id(&self) -> u32;
}
