//! Markdown for a blog or a pull request: pipe tables with the names of rows first.

use crate::document::{Align, Block, Column, Document, RowKind, Table};
use crate::html::short_names;
use crate::render::by_group;

pub(crate) fn render(document: &Document) -> String {
    let blocks: Vec<String> = document.blocks.iter().map(render_block).collect();
    let mut text = blocks.join("\n\n");
    text.push('\n');
    text
}

fn render_block(block: &Block) -> String {
    match block {
        Block::Heading(level, heading) => {
            format!("{} {}", "#".repeat(usize::from(*level)), escape(heading))
        }
        Block::Text(text) | Block::Alarm(text) => escape(text),
        Block::Items(items) => list(items),
        Block::Code(code) => fenced(code),
        Block::Table(table) => render_table(table),
        Block::Fold(summary, blocks) => {
            let blocks: Vec<String> = blocks.iter().map(render_block).collect();
            // HTML, where backticks mark no code.
            let summary = escape_all(summary);
            format!("<details><summary>{summary}</summary>\n\n{}\n\n</details>", blocks.join("\n\n"))
        }
    }
}

fn render_table(table: &Table) -> String {
    let table = &*table.shown();
    let mut parts = vec![format!("### {}", escape(&table.title))];
    let headings = headings(table);
    let (order, above) = (table.names_first(), table.above(&headings));
    if !above.is_empty() {
        parts.push(list(&above));
    }
    parts.extend(table.warnings().iter().map(|warning| format!("**WARNING: {}**", escape(warning))));
    for (group, rows) in by_group(table) {
        parts.extend(group.map(|group| format!("**{}**", escape(group))));
        let mut lines = vec![
            cells(order.iter().map(|index| escape(&headings[*index]))),
            cells(order.iter().map(|index| match table.columns[*index].align {
                Align::Right => "---:".to_owned(),
                Align::Left => "---".to_owned(),
            })),
        ];
        for row in rows {
            let of_row = order.iter().filter_map(|index| row.cells.get(*index));
            lines.push(cells(of_row.map(|cell| match row.kind {
                RowKind::Summary if !cell.text.is_empty() => format!("*{}*", escape(&cell.text)),
                RowKind::Summary | RowKind::Body => escape(&cell.text),
            })));
        }
        parts.push(lines.join("\n"));
    }
    if !table.footnotes.is_empty() {
        parts.push(list(&table.footnotes));
    }
    parts.join("\n\n")
}

/// Columns of arms are named by them, without what all have in common.
fn headings(table: &Table) -> Vec<String> {
    let arms = table.columns.iter().filter(|column| column.stands_for.is_some());
    let arms: Vec<&str> = arms.map(|column| column.key.as_str()).collect();
    let mut short = short_names(&arms).0.into_iter();
    let heading = |column: &Column| {
        let arm = column.stands_for.as_ref().and_then(|_| short.next());
        arm.unwrap_or_else(|| column.name.clone())
    };
    table.columns.iter().map(heading).collect()
}

fn cells(texts: impl Iterator<Item = String>) -> String {
    texts.fold("|".to_owned(), |line, text| format!("{line} {text} |"))
}

fn list(items: &[String]) -> String {
    items.iter().map(|item| format!("- {}", escape(item))).collect::<Vec<_>>().join("\n")
}

/// A fenced block with a fence longer than any run of backticks in the code.
fn fenced(code: &str) -> String {
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", code.trim_end())
}

/// Escapes text for Markdown, also inside table cells; single backticks in pairs remain, as marks of code.
fn escape(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let is_paired = parts.len() % 2 == 1 && !text.contains("``");
    let has_code = is_paired && parts.iter().skip(1).step_by(2).all(|code| !code.contains(['|', '\n', '\r']));
    if !has_code {
        return escape_all(text);
    }
    let part = |(index, part): (usize, &&str)| match index % 2 {
        0 => escape_all(part),
        _ => format!("`{part}`"),
    };
    parts.iter().enumerate().map(part).collect()
}

fn escape_all(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '|' | '*' | '`' | '~' => escaped.extend(['\\', c]),
            '<' => escaped.push_str("&lt;"),
            '\n' | '\r' => escaped.push(' '),
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stays_code_and_all_else_is_escaped() {
        assert_eq!(escape("`rqps explain <RUN> a*b` shows a*b"), "`rqps explain <RUN> a*b` shows a\\*b");
        // Without a pair, or where a table would be cut.
        assert_eq!(escape("5` <b>"), "5\\` &lt;b>");
        assert_eq!(escape("```<b>`"), "\\`\\`\\`&lt;b>\\`");
        assert_eq!(escape("`a | b`"), "\\`a \\| b\\`");
    }
}
