//! JSON: one object with the answers, where there are verdicts, headings and remarks in `text`, and every table with
//! numbers in full precision. A value that was not measured is null.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::document::{Cell, Document, Row, RowKind, Table};
use crate::error::{Error, Result};

/// Renders the document as one JSON object.
pub(crate) fn render(document: &Document) -> Result<String> {
    let tables: Vec<Value> = document.tables().into_iter().map(render_table).collect();
    pretty(&Json { answers: &document.answers, text: document.remarks(), tables })
}

/// In this order.
#[derive(Serialize)]
struct Json<'a> {
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    answers: &'a [Answer],
    text: Vec<&'a str>,
    tables: Vec<Value>,
}

/// Indented JSON with a newline at the end.
pub(crate) fn pretty(value: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string_pretty(value).map_err(Error::output)? + "\n")
}

fn render_table(table: &Table) -> Value {
    let rows = |kind: RowKind| -> Vec<Value> {
        table.rows.iter().filter(|row| row.kind == kind).map(|row| render_row(table, row)).collect()
    };
    json!({
        "id": table.id,
        "title": table.title,
        "about": table.above(table.columns.iter().map(|column| &column.key)),
        "warnings": table.warnings(),
        "columns": table.columns.iter().map(|column| column.key.as_str()).collect::<Vec<_>>(),
        "rows": rows(RowKind::Body),
        "summary": rows(RowKind::Summary),
        "footnotes": table.footnotes,
    })
}

fn render_row(table: &Table, row: &Row) -> Value {
    let mut object = Map::new();
    for (key, value) in &table.subject {
        object.insert((*key).to_owned(), json!(value));
    }
    if let Some(group) = &row.group {
        object.insert("group".to_owned(), json!(group));
    }
    for (column, cell) in table.columns.iter().zip(&row.cells) {
        object.insert(column.key.clone(), value(cell));
    }
    Value::Object(object)
}

fn value(cell: &Cell) -> Value {
    match cell.value {
        Some(value) => json!(value),
        None if cell.is_missing() => Value::Null,
        None => json!(cell.key.unwrap_or(&cell.text)),
    }
}
