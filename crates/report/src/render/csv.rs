//! CSV: labels first, then the group, then numbers in full precision. Statistics over rows are omitted:
//! readers of CSV compute their own. Several tables are separated by an empty line, a `# title` and what stands above
//! them, base and what the arms are, as lines of comment; one table is rows alone, for readers that know no comments.
//! Warnings are no rows: they go to whoever asked for the tables.

use std::collections::BTreeSet;

use crate::document::{Cell, Document, RowKind, Table};
use crate::error::{Error, Result};

/// Renders the document's tables as CSV. Merges tables of the same kind and columns.
pub(crate) fn render(document: &Document) -> Result<String> {
    let mut kinds: Vec<Vec<&Table>> = Vec::new();
    for table in document.tables() {
        match kinds.iter_mut().find(|tables| tables[0].id == table.id && header(tables[0]) == header(table)) {
            Some(tables) => tables.push(table),
            None => kinds.push(vec![table]),
        }
    }
    let mut parts = Vec::new();
    for tables in &kinds {
        let csv = render_tables(tables).map_err(Error::output)?;
        let title = if tables.len() == 1 { &*tables[0].title } else { tables[0].id };
        let above = |table: &&Table| table.above(table.columns.iter().map(|column| &column.key));
        let mut seen = BTreeSet::new();
        let above = tables.iter().flat_map(above).filter(|line| seen.insert(line.clone()));
        let comments: String = above.map(|line| format!("# {line}\n")).collect();
        parts.push(if kinds.len() == 1 { csv } else { format!("# {title}\n{comments}{csv}") });
    }
    Ok(parts.join("\n"))
}

fn render_tables(tables: &[&Table]) -> std::result::Result<String, Box<dyn std::error::Error>> {
    let mut writer = csv::WriterBuilder::new().flexible(false).from_writer(Vec::new());
    writer.write_record(header(tables[0]))?;
    for table in tables {
        for row in table.rows.iter().filter(|row| row.kind == RowKind::Body) {
            let group = has_groups(table).then(|| row.group.clone().unwrap_or_default());
            let values = row.cells.iter().map(value).collect();
            writer.write_record(ordered(
                table,
                values,
                table.subject.iter().map(|(_, value)| value.clone()),
                group,
            ))?;
        }
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

fn header(table: &Table) -> Vec<String> {
    let keys = table.columns.iter().map(|column| column.key.clone()).collect();
    let group = has_groups(table).then(|| "group".to_owned());
    ordered(table, keys, table.subject.iter().map(|(key, _)| (*key).to_owned()), group)
}

fn has_groups(table: &Table) -> bool {
    table.rows.iter().any(|row| row.group.is_some())
}

fn value(cell: &Cell) -> String {
    match cell.value {
        Some(value) => value.to_string(),
        None if cell.is_missing() => String::new(),
        None => cell.key.unwrap_or(&cell.text).to_owned(),
    }
}

/// Orders fields: subject, labels from last to first, group, the rest.
fn ordered(
    table: &Table,
    mut fields: Vec<String>,
    subject: impl Iterator<Item = String>,
    group: Option<String>,
) -> Vec<String> {
    let labels = fields.split_off(fields.len().saturating_sub(table.labels));
    subject.chain(labels.into_iter().rev()).chain(group).chain(fields).collect()
}
