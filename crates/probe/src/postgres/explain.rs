//! Query plans with estimated costs. Statements are planned, never executed.

use rqps_wire::postgres::Connection;

use super::query;
use crate::cells::text;
use crate::error::{Error, Result};
use rqps_model::QueryPlan;

/// The plan of one SELECT, INSERT, UPDATE or DELETE with literal values (with parameters it may get another plan). A
/// trailing semicolon is allowed, others are not, since a second statement would be executed.
pub fn explain(connection: &mut Connection, kind: &str, sql: &str) -> Result<QueryPlan> {
    let statement = sql.trim().trim_end_matches(';');
    if statement.contains(';') {
        return Err(Error::NotOneStatement { sql: sql.to_string() });
    }
    let mut plan = |format: &str| -> Result<String> {
        // With options in parentheses, a statement that starts with ANALYZE is a syntax error instead of executed.
        let explanation = format!("EXPLAIN (COSTS ON, FORMAT {format}) {statement}");
        let table = query(connection, "a query plan", &explanation)?;
        Ok(table.rows.iter().map(|row| text(row, 0)).collect::<Vec<_>>().join("\n"))
    };
    let (text, json) = (plan("TEXT")?, plan("JSON")?);
    Ok(QueryPlan { statement: kind.to_owned(), sql: sql.to_owned(), text, json })
}
