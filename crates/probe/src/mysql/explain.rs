//! Query plans with estimated costs. Statements are planned, never executed.

use rqps_wire::Table;
use rqps_wire::mysql::Connection;

use super::query;
use crate::cells::{cell, is_one_statement};
use crate::error::Result;
use rqps_model::QueryPlan;

/// First version of MySQL that shows a plan as a tree.
const TREE_SINCE: u32 = 80_018;
/// First version of MySQL with two JSON formats. The newer one, which the hypergraph optimizer always returns, shows
/// nothing of statements that write; the older one is that of all other versions.
const TWO_JSONS_SINCE: u32 = 80_300;
const OLD_JSON_SQL: &str = "SET SESSION explain_json_format_version = 1";
/// Shown instead of a tree for statements that write.
const NO_TREE: &str = "<not executable by iterator executor>";
/// Statements that may be explained. EXPLAIN accepts more, and `EXPLAIN ANALYZE` would execute the statement.
const EXPLAINABLE: [&str; 6] = ["select", "insert", "update", "delete", "replace", "with"];

/// The plan of one SELECT, INSERT, UPDATE or DELETE with literal values (with parameters it may get another plan); None
/// for other statements, and for several, of which all but the first would be executed.
///
/// The text is the tree if the version has one for the statement, otherwise the traditional table.
pub fn explain(connection: &mut Connection, kind: &str, sql: &str) -> Result<Option<QueryPlan>> {
    let statement = sql.trim().trim_end_matches(';');
    if !is_one_statement(statement, &EXPLAINABLE) {
        return Ok(None);
    }
    let text = match tree(connection, statement)? {
        Some(tree) => tree,
        None => {
            let format = if connection.is_mariadb() { "" } else { "FORMAT=TRADITIONAL " };
            as_text(&query(connection, "a query plan", &format!("EXPLAIN {format}{statement}"))?)
        }
    };
    let json = json(connection, statement)?;
    Ok(Some(QueryPlan { statement: kind.to_owned(), sql: sql.to_owned(), text, json }))
}

fn json(connection: &mut Connection, statement: &str) -> Result<String> {
    let sql = format!("EXPLAIN FORMAT=JSON {statement}");
    let has_two = !connection.is_mariadb() && connection.server_version_num() >= TWO_JSONS_SINCE;
    if has_two {
        query(connection, "the older plan format", OLD_JSON_SQL)?;
    }
    let table = query(connection, "a query plan", &sql)?;
    Ok(table.value().unwrap_or_default().to_owned())
}

fn tree(connection: &mut Connection, statement: &str) -> Result<Option<String>> {
    if connection.is_mariadb() || connection.server_version_num() < TREE_SINCE {
        return Ok(None);
    }
    let table = query(connection, "a query plan", &format!("EXPLAIN FORMAT=TREE {statement}"))?;
    let tree = table.value().unwrap_or_default().trim_end();
    Ok((!tree.contains(NO_TREE)).then(|| tree.to_owned()))
}

/// The columns that are not all NULL, below their names.
fn as_text(table: &Table) -> String {
    let used = (0..table.columns.len()).filter(|&at| table.rows.iter().any(|row| cell(row, at).is_some()));
    let used: Vec<usize> = used.collect();
    let head = used.iter().map(|&at| table.columns[at].as_str()).collect();
    let mut lines: Vec<Vec<&str>> = vec![head];
    lines.extend(table.rows.iter().map(|row| used.iter().map(|&at| cell(row, at).unwrap_or("-")).collect()));
    let width = |at: usize| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..used.len()).map(width).collect();
    let padded = |line: &Vec<&str>| {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    lines.iter().map(padded).collect::<Vec<_>>().join("\n")
}
