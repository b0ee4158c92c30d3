//! The description of all tables for people: what stands in `docs/EXPORT.md`.

use crate::table::{Column, Table};
use crate::tables::ALL;

/// Every table with its columns, in Markdown.
pub fn schema() -> String {
    let tables: Vec<String> = ALL.iter().map(|table| describe(table)).collect();
    tables.join("\n\n") + "\n"
}

fn describe(table: &Table) -> String {
    let key: Vec<String> = table.key.iter().map(|column| format!("`{column}`")).collect();
    let mut lines = vec![
        format!("### {}", table.name),
        String::new(),
        format!("{} Told apart by {}.", table.about, key.join(", ")),
        String::new(),
        "| column | type | unit | null | is |".to_owned(),
        "| --- | --- | --- | --- | --- |".to_owned(),
    ];
    lines.extend(table.columns().map(row));
    lines.join("\n")
}

fn row(column: &'static Column) -> String {
    let null = if column.nullable { "yes" } else { "" };
    let cells = [&format!("`{}`", column.name), column.kind.name(), column.unit, null, column.about];
    cells.iter().fold("|".to_owned(), |line, cell| match cell.is_empty() {
        true => format!("{line} |"),
        false => format!("{line} {cell} |"),
    })
}
