//! Makes text safe to show: names in a plan and messages of a server may contain characters that control a
//! terminal or reverse the reading order.

use std::borrow::Cow;

use crate::document::{Block, Document, Table};

/// Replaces such characters by JSON escapes; newlines and tabs are kept.
pub fn tame(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut tamed = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_unsafe(c) {
            true => tamed.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => tamed.push(c),
        }
    }
    Cow::Owned(tamed)
}

/// Control characters, and those that change the text direction.
fn is_unsafe(c: char) -> bool {
    let changes_direction =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    changes_direction || c.is_control() && c != '\n' && c != '\t'
}

/// Applies [`tame`] to all texts of a document.
pub(crate) fn tame_document(document: &Document) -> Document {
    let mut document = document.clone();
    document.blocks.iter_mut().for_each(tame_block);
    document
}

fn tame_block(block: &mut Block) {
    match block {
        Block::Heading(_, text) | Block::Text(text) | Block::Alarm(text) | Block::Code(text) => {
            tame_text(text);
        }
        Block::Items(items) => items.iter_mut().for_each(tame_text),
        Block::Table(table) => tame_table(table),
        Block::Fold(summary, blocks) => {
            tame_text(summary);
            blocks.iter_mut().for_each(tame_block);
        }
    }
}

fn tame_table(table: &mut Table) {
    tame_text(&mut table.title);
    let subject = table.subject.iter_mut().map(|(_, value)| value);
    let warnings = table.warnings.iter_mut().flatten();
    let headings = table
        .columns
        .iter_mut()
        .flat_map(|column| [&mut column.name, &mut column.key].into_iter().chain(&mut column.stands_for));
    let cells = table.rows.iter_mut().flat_map(|row| {
        row.group.iter_mut().chain(row.cells.iter_mut().map(|cell| &mut cell.text)).collect::<Vec<_>>()
    });
    let around = table.preamble.iter_mut().chain(table.footnotes.iter_mut());
    subject.chain(warnings).chain(headings).chain(cells).chain(around).for_each(tame_text);
}

fn tame_text(text: &mut String) {
    if let Cow::Owned(tamed) = tame(text) {
        *text = tamed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(
            tame("a\x1b]0;title\x07b\r\x7f\u{9b}2J"),
            "a\\u001b]0;title\\u0007b\\u000d\\u007f\\u009b2J"
        );
        assert_eq!(tame("\u{202e}gpj.exe"), "\\u202egpj.exe");
        assert!(matches!(tame("Zeile eins\n\tübrig — 名前"), Cow::Borrowed(_)));
    }

    #[test]
    fn every_text_of_a_document_is_escaped() {
        use crate::document::{Cell, Column};
        let escape = || "\x1b[2J".to_owned();
        let mut table = Table::new("t", escape(), vec![Column::words(&escape())], 1).about("test", &escape());
        table.preamble.push(escape());
        table.warnings = Some(vec![escape()]);
        table.footnotes.push(escape());
        table.row(vec![Cell::words(escape())]);
        table.rows[0].group = Some(escape());
        let inner = vec![
            Block::Heading(1, escape()),
            Block::Items(vec![escape()]),
            Block::Code(escape()),
            Block::Table(table),
        ];
        let blocks = vec![Block::Text(escape()), Block::Fold(escape(), inner)];
        let document = Document { blocks, ..Document::default() };
        let text = format!("{:?}", tame_document(&document));
        assert!(!text.contains("\\u{1b}") && !text.contains('\x1b'), "{text}");
        assert_eq!(text.matches("u001b").count(), 14, "{text}");
    }
}
