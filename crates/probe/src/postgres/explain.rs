//! Query plans with estimated costs. Statements are planned, never executed.

use rqps_wire::postgres::Connection;

use super::query;
use crate::cells::{is_one_statement, text};
use crate::error::Result;
use rqps_model::QueryPlan;

/// Statements that have a plan and are not executed by EXPLAIN.
const EXPLAINABLE: [&str; 8] = ["select", "insert", "update", "delete", "merge", "with", "values", "table"];

/// A session plans the first five executions of a prepared statement for their values. From then on it may keep one
/// plan for all values: https://www.postgresql.org/docs/current/sql-prepare.html.
const PLANNED_FOR_VALUES: u32 = 5;

/// The plan of one SELECT, INSERT, UPDATE or DELETE of this kind with literal values; None for other statements, and
/// for several, of which all but the first would be executed. If sessions prepare it, with numbered parameters for
/// these values, the plan is that of its sixth execution.
pub fn explain(
    connection: &mut Connection,
    (kind, sql): (&str, &str),
    prepared: Option<(&str, &[String])>,
) -> Result<Option<QueryPlan>> {
    let statement = sql.trim().trim_end_matches(';');
    if !is_one_statement(statement, &EXPLAINABLE) {
        return Ok(None);
    }
    let Some((prepared, values)) = prepared else {
        let (text, json) = (plan(connection, "TEXT", statement)?, plan(connection, "JSON", statement)?);
        return Ok(Some(QueryPlan { statement: kind.to_owned(), sql: sql.to_owned(), text, json }));
    };
    let types: Vec<&str> =
        values.iter().map(|value| if value.starts_with('\'') { "varchar" } else { "bigint" }).collect();
    query(connection, "a query plan", &format!("PREPARE rqps_plan ({}) AS {prepared}", types.join(", ")))?;
    let execution = format!("EXECUTE rqps_plan ({})", values.join(", "));
    for _ in 0..PLANNED_FOR_VALUES {
        plan(connection, "TEXT", &execution)?;
    }
    let (text, json) = (plan(connection, "TEXT", &execution)?, plan(connection, "JSON", &execution)?);
    query(connection, "a query plan", "DEALLOCATE rqps_plan")?;
    Ok(Some(QueryPlan { statement: kind.to_owned(), sql: sql.to_owned(), text, json }))
}

fn plan(connection: &mut Connection, format: &str, statement: &str) -> Result<String> {
    // With options in parentheses, a statement that starts with ANALYZE is a syntax error instead of executed.
    let explanation = format!("EXPLAIN (COSTS ON, FORMAT {format}) {statement}");
    let table = query(connection, "a query plan", &explanation)?;
    Ok(table.rows.iter().map(|row| text(row, 0)).collect::<Vec<_>>().join("\n"))
}
