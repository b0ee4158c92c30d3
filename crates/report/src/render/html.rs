//! HTML of a document's blocks: the same tables as in the other formats, but with labels first, each in its
//! own scrollable box. Warnings are not repeated: each page says its own once, above all tables.

use maud::{Markup, html};

use crate::document::{Align, Block, Cell, Column, Row, RowKind, Table, Tint};
use crate::html::breakable;
use crate::render::by_group;

/// HTML's deepest heading level.
const LEVEL_MAX: u8 = 6;

/// Renders blocks; a heading of level 1 becomes one of `level`.
pub(crate) fn blocks(blocks: &[Block], level: u8) -> Markup {
    html! { @for one in blocks { (block(one, level)) } }
}

fn block(block: &Block, level: u8) -> Markup {
    match block {
        Block::Heading(depth, text) => heading(level.saturating_add(*depth).saturating_sub(1), text),
        Block::Text(text) | Block::Alarm(text) => html! { p { (prose(text)) } },
        Block::Items(items) => html! { ul { @for item in items { li { (prose(item)) } } } },
        Block::Code(code) => code_box(code, "text"),
        Block::Table(one) => table(one),
        Block::Fold(summary, inner) => html! {
            details { summary { (summary) } (blocks(inner, level)) }
        },
    }
}

/// A sentence; what stands between backticks is code.
fn prose(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    // A single backtick is one.
    if parts.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! {
        @for (at, part) in parts.iter().enumerate() {
            @if !at.is_multiple_of(2) { code { (part) } } @else { (part) }
        }
    }
}

fn heading(level: u8, text: &str) -> Markup {
    match level.min(LEVEL_MAX) {
        0 | 1 => html! { h1 { (text) } },
        2 => html! { h2 { (text) } },
        3 => html! { h3 { (text) } },
        4 => html! { h4 { (text) } },
        5 => html! { h5 { (text) } },
        _ => html! { h6 { (text) } },
    }
}

/// Preformatted text in a scrollable box that can be focused by keyboard.
pub(crate) fn code_box(code: &str, label: &str) -> Markup {
    html! { pre tabindex="0" role="group" aria-label=(label) { code { (code.trim_end()) } } }
}

fn table(table: &Table) -> Markup {
    let table = &*table.shown();
    let order = table.names_first();
    html! {
        div.table {
            div.scroll tabindex="0" role="group" aria-label=(table.title) {
                table class=(table.id) {
                    caption {
                        (table.title)
                        @for line in &table.preamble { span.preamble { " " (line) } }
                    }
                    thead { tr { @for index in &order { (head(&table.columns[*index])) } } }
                    @for (group, rows) in by_group(table) {
                        tbody {
                            @if let Some(group) = group {
                                tr.group { th colspan=(order.len()) scope="rowgroup" { span { (group) } } }
                            }
                            @for one in rows { (row(table, &order, one)) }
                        }
                    }
                }
            }
            @if !table.footnotes.is_empty() {
                ul.footnotes { @for note in &table.footnotes { li { (prose(note)) } } }
            }
        }
    }
}

fn head(column: &Column) -> Markup {
    let name = if column.stands_for.is_some() { &column.key } else { &column.name };
    html! { th.num[column.align == Align::Right] scope="col" { (breakable(name)) } }
}

fn row(table: &Table, order: &[usize], row: &Row) -> Markup {
    let values = table.columns.len().saturating_sub(table.labels);
    // Without labels, the first column names the row.
    let names_row = |index: usize| index >= values || (table.labels == 0 && index == 0);
    let empty = Cell::default();
    html! {
        tr.summary[row.kind == RowKind::Summary] {
            @for index in order {
                @let cell = row.cells.get(*index).unwrap_or(&empty);
                @let class = class(cell, table.columns[*index].align);
                @if names_row(*index) { th class=[&class] scope="row" { (cell.text) } }
                @else { td class=[&class] style=[shade(cell)] { (cell.text) } }
            }
        }
    }
}

fn shade(cell: &Cell) -> Option<String> {
    (cell.shade > 0).then(|| format!("--shade:{}", cell.shade))
}

fn class(cell: &Cell, align: Align) -> Option<String> {
    let tint = match cell.tint {
        Tint::None => "",
        Tint::Red => "worse",
        Tint::Green => "better",
        Tint::Worst => "worst",
        Tint::Best => "best",
        Tint::Unranked => "unranked",
    };
    let align = if align == Align::Right { "num" } else { "" };
    let classes: Vec<&str> = [align, tint].into_iter().filter(|class| !class.is_empty()).collect();
    (!classes.is_empty()).then(|| classes.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let columns = vec![Column::numbered(0, "new", "postgres-18 (new)".into()), Column::words("test")];
        let mut table = Table::new("rqps", "Relative <QPS>", columns, 1);
        table.preamble = vec!["Relative to: old".into()];
        table.warnings = Some(vec!["incomplete & cut".into()]);
        let fast = Cell { tint: Tint::Green, ..Cell::fixed(Some(1.25), 2) };
        table.row(vec![fast, Cell::words("<script>alert(1)</script>")]);
        table
    }

    #[test]
    fn labels_come_first_and_headings_name_arms() {
        let text = super::table(&sample()).into_string();
        assert!(text.find("scope=\"row\"").unwrap() < text.find("num better").unwrap(), "{text}");
        assert!(text.contains(">new</th>") && !text.contains("col-1"), "{text}");
        // The page says the warning once, and no copied table has it.
        assert!(text.contains("Relative to: old") && !text.contains("incomplete"), "{text}");
    }

    #[test]
    fn texts_are_escaped() {
        let blocks =
            [Block::Table(sample()), Block::Code("</code><script>".into()), Block::Text("<b>".into())];
        let text = super::blocks(&blocks, 2).into_string();
        assert!(!text.contains("<script") && !text.contains("<b>"), "{text}");
        assert!(text.contains("Relative &lt;QPS&gt;"), "{text}");
    }
}
