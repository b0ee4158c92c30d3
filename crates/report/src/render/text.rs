//! Aligned text: numbers right-aligned, labels last, two spaces between columns.

use crate::document::{Align, Block, Cell, Column, Document, Row, Table, Tint};
use crate::render::by_group;

const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const GRAY: &str = "\x1b[90m";
const RESET: &str = "\x1b[0m";
const GAP: &str = "  ";

/// Renders the document as aligned text.
pub(crate) fn render(document: &Document, color: bool) -> String {
    let blocks: Vec<String> = document.blocks.iter().map(|block| render_block(block, color)).collect();
    let mut text = blocks.join("\n\n");
    text.push('\n');
    text
}

fn render_block(block: &Block, color: bool) -> String {
    match block {
        Block::Heading(level, heading) => {
            let line = if *level == 1 { "=" } else { "-" };
            format!("{heading}\n{}", line.repeat(heading.chars().count()))
        }
        Block::Text(text) | Block::Alarm(text) => text.clone(),
        Block::Items(items) => items.iter().map(|item| format!("- {item}")).collect::<Vec<_>>().join("\n"),
        Block::Code(code) => {
            code.trim_end().lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
        }
        Block::Table(table) => render_table(table, color),
        Block::Fold(summary, blocks) => {
            let blocks: Vec<String> = blocks.iter().map(|block| render_block(block, color)).collect();
            format!("{summary}:\n\n{}", blocks.join("\n\n"))
        }
    }
}

fn render_table(table: &Table, color: bool) -> String {
    let table = &*table.shown();
    let mut lines = vec![table.title.clone()];
    lines.extend(table.above());
    lines.extend(table.warnings().iter().map(|warning| format!("WARNING: {warning}")));
    let widths: Vec<usize> =
        table.columns.iter().enumerate().map(|(index, column)| width(table, index, column)).collect();
    for (group, rows) in by_group(table) {
        if group.is_some() || lines.len() > 1 {
            lines.push(String::new());
        }
        lines.extend(group.map(str::to_owned));
        let heads: Vec<Cell> = table.columns.iter().map(|column| Cell::words(&*column.name)).collect();
        lines.push(line(table, &widths, &heads, false));
        lines.extend(rows.into_iter().map(|row: &Row| line(table, &widths, &row.cells, color)));
    }
    if !table.footnotes.is_empty() {
        lines.push(String::new());
        lines.extend(table.footnotes.iter().cloned());
    }
    lines.join("\n")
}

fn width(table: &Table, index: usize, column: &Column) -> usize {
    let cells =
        table.rows.iter().filter_map(|row| row.cells.get(index)).map(|cell| cell.text.chars().count());
    cells.chain([column.name.chars().count()]).max().unwrap_or(0)
}

fn line(table: &Table, widths: &[usize], cells: &[Cell], color: bool) -> String {
    let mut line = String::new();
    for ((column, width), cell) in table.columns.iter().zip(widths).zip(cells) {
        let pad = " ".repeat(width.saturating_sub(cell.text.chars().count()));
        let text = tinted(cell, color);
        match column.align {
            Align::Right => line.extend([&pad, &*text, GAP]),
            Align::Left => line.extend([&*text, &pad, GAP]),
        }
    }
    line.truncate(line.trim_end().len());
    line
}

fn tinted(cell: &Cell, color: bool) -> String {
    let code = match cell.tint {
        Tint::Red | Tint::Worst => RED,
        Tint::Green | Tint::Best => GREEN,
        Tint::Unranked => GRAY,
        Tint::None => "",
    };
    match color && !code.is_empty() {
        true => format!("{code}{}{RESET}", cell.text),
        false => cell.text.clone(),
    }
}
