//! HTML of a document's blocks: the same tables as in every other format, with the row's name first, where a reader's
//! eye begins, and each table in a box of its own that scrolls.

use maud::{Markup, html};

use crate::document::{Align, Block, Cell, Column, Row, RowKind, Table, Tint};
use crate::render::by_group;

/// Headings of a page go down to this level.
const LEVEL_MAX: u8 = 6;

/// Blocks one after the other, where headings of the document's first level are `level` of the page.
pub(crate) fn blocks(blocks: &[Block], level: u8) -> Markup {
    html! { @for one in blocks { (block(one, level)) } }
}

fn block(block: &Block, level: u8) -> Markup {
    match block {
        Block::Heading(deep, text) => heading(level.saturating_add(*deep).saturating_sub(1), text),
        Block::Text(text) | Block::Alarm(text) => html! { p { (text) } },
        Block::Items(items) => html! { ul { @for item in items { li { (item) } } } },
        Block::Code(code) => code_box(code, "text"),
        Block::Table(one) => table(one),
        Block::Fold(summary, inner) => html! {
            details { summary { (summary) } (blocks(inner, level)) }
        },
    }
}

/// A heading of that level.
pub(crate) fn heading(level: u8, text: &str) -> Markup {
    match level.min(LEVEL_MAX) {
        0 | 1 => html! { h1 { (text) } },
        2 => html! { h2 { (text) } },
        3 => html! { h3 { (text) } },
        4 => html! { h4 { (text) } },
        5 => html! { h5 { (text) } },
        _ => html! { h6 { (text) } },
    }
}

/// Text as it is, in a box that scrolls by itself and can be reached by keys.
pub(crate) fn code_box(code: &str, what: &str) -> Markup {
    html! { pre tabindex="0" role="group" aria-label=(what) { code { (code.trim_end()) } } }
}

fn table(table: &Table) -> Markup {
    let order = order(table);
    html! {
        div.table {
            div.scroll tabindex="0" role="group" aria-label=(table.title) {
                table class=(table.id) {
                    caption {
                        (table.title)
                        @for line in &table.preamble { span.preamble { " " (line) } }
                    }
                    thead { tr { @for place in &order { (head(&table.columns[*place])) } } }
                    @for warning in table.warnings() {
                        tbody.warning { tr { td colspan=(order.len()) { strong { "WARNING: " } (warning) } } }
                    }
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
                ul.footnotes { @for note in &table.footnotes { li { (note) } } }
            }
        }
    }
}

/// Columns in the order they are shown: those that name the row first, beginning with the one that says most, which the
/// other formats have last.
fn order(table: &Table) -> Vec<usize> {
    let values = table.columns.len().saturating_sub(table.labels);
    (values..table.columns.len()).rev().chain(0..values).collect()
}

fn head(column: &Column) -> Markup {
    let name = if column.stands_for.is_some() { &column.key } else { &column.name };
    html! { th.num[column.align == Align::Right] scope="col" { (name) } }
}

fn row(table: &Table, order: &[usize], row: &Row) -> Markup {
    let values = table.columns.len().saturating_sub(table.labels);
    // A table without labels is named by its first column.
    let names_row = |place: usize| place >= values || (table.labels == 0 && place == 0);
    let empty = Cell::default();
    html! {
        tr.summary[row.kind == RowKind::Summary] {
            @for place in order {
                @let cell = row.cells.get(*place).unwrap_or(&empty);
                @let class = class(cell, table.columns[*place].align);
                @if names_row(*place) { th class=[&class] scope="row" { (cell.text) } }
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
    fn names_come_first_and_columns_by_their_arms_name() {
        let text = super::table(&sample()).into_string();
        assert!(text.find("scope=\"row\"").unwrap() < text.find("num better").unwrap(), "{text}");
        assert!(text.contains(">new</th>") && !text.contains("col-1"), "{text}");
        assert!(text.contains("Relative to: old") && text.contains("incomplete &amp; cut"), "{text}");
    }

    #[test]
    fn no_text_becomes_markup() {
        let blocks =
            [Block::Table(sample()), Block::Code("</code><script>".into()), Block::Text("<b>".into())];
        let text = super::blocks(&blocks, 2).into_string();
        assert!(!text.contains("<script") && !text.contains("<b>"), "{text}");
        assert!(text.contains("Relative &lt;QPS&gt;"), "{text}");
    }
}
