//! The plan the server chooses for a statement, with its estimated costs. The statement is planned, never executed.

use rqps_wire::Table;
use rqps_wire::postgres::Connection;

use super::ask;
use crate::cells::text;
use crate::error::{Error, Result};
use rqps_model::QueryPlan;

/// The plan of a statement of this kind: one SELECT, INSERT, UPDATE or DELETE with its values written out (one with
/// parameters may get another plan). A semicolon at the end is allowed, one inside is not, as a second statement would
/// be executed.
pub fn explain(connection: &mut Connection, kind: &str, sql: &str) -> Result<QueryPlan> {
    let statement = sql.trim().trim_end_matches(';');
    if statement.contains(';') {
        return Err(Error::NotOneStatement { sql: sql.to_string() });
    }
    let mut plan = |format: &str| -> Result<String> {
        // With the options in parentheses, a statement that itself starts with ANALYZE is an error, not executed.
        let explanation = format!("EXPLAIN (COSTS ON, FORMAT {format}) {statement}");
        Ok(lines(&ask(connection, "a query plan", &explanation)?))
    };
    let (text, json) = (plan("TEXT")?, plan("JSON")?);
    Ok(QueryPlan { statement: kind.to_owned(), sql: sql.to_owned(), text, json })
}

fn lines(table: &Table) -> String {
    table.rows.iter().map(|row| text(row, 0)).collect::<Vec<_>>().join("\n")
}
