//! The plan the server chooses for a statement, with its estimated costs. The statement is planned, never executed.

use rqps_wire::Table;
use rqps_wire::postgres::Connection;

use super::ask;
use crate::error::{Error, Result};
use crate::server::QueryPlan;

/// The plan of one SELECT, INSERT, UPDATE or DELETE with its values written out (a statement with parameters may get
/// another plan). A semicolon at the end is allowed, one inside is not, as a second statement would be executed.
pub fn explain(connection: &mut Connection, sql: &str) -> Result<QueryPlan> {
    let statement = sql.trim().trim_end_matches(';');
    if statement.contains(';') {
        return Err(Error::NotOneStatement { sql: sql.to_string() });
    }
    let mut plan = |format: &str| -> Result<String> {
        // With the options in parentheses, a statement that itself starts with ANALYZE is an error, not executed.
        let explanation = format!("EXPLAIN (COSTS ON, FORMAT {format}) {statement}");
        Ok(lines(&ask(connection, "a query plan", &explanation)?))
    };
    Ok(QueryPlan { text: plan("TEXT")?, json: plan("JSON")? })
}

fn lines(table: &Table) -> String {
    let first = |row: &Vec<Option<String>>| row.first().cloned().flatten().unwrap_or_default();
    table.rows.iter().map(first).collect::<Vec<_>>().join("\n")
}
