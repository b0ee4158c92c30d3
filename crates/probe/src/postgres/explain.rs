//! Query plans with estimated costs. Statements are planned, never executed.

use rqps_wire::postgres::Connection;

use super::query;
use crate::cells::{is_one_statement, text};
use crate::error::Result;
use rqps_model::QueryPlan;

/// Statements that have a plan and are not executed by EXPLAIN.
const EXPLAINABLE: [&str; 8] = ["select", "insert", "update", "delete", "merge", "with", "values", "table"];

/// The plan of one SELECT, INSERT, UPDATE or DELETE with literal values (with parameters it may get another plan); None
/// for other statements, and for several, of which all but the first would be executed.
pub fn explain(connection: &mut Connection, kind: &str, sql: &str) -> Result<Option<QueryPlan>> {
    let statement = sql.trim().trim_end_matches(';');
    if !is_one_statement(statement, &EXPLAINABLE) {
        return Ok(None);
    }
    let mut plan = |format: &str| -> Result<String> {
        // With options in parentheses, a statement that starts with ANALYZE is a syntax error instead of executed.
        let explanation = format!("EXPLAIN (COSTS ON, FORMAT {format}) {statement}");
        let table = query(connection, "a query plan", &explanation)?;
        Ok(table.rows.iter().map(|row| text(row, 0)).collect::<Vec<_>>().join("\n"))
    };
    let (text, json) = (plan("TEXT")?, plan("JSON")?);
    Ok(Some(QueryPlan { statement: kind.to_owned(), sql: sql.to_owned(), text, json }))
}
