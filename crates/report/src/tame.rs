//! Text that is safe to show: names in a plan and messages of a server may contain characters that control a terminal
//! or reverse the reading order.

use std::borrow::Cow;

use crate::document::{Block, Document, Table};

/// The text with such characters as the escapes that JSON has for them, line ends and tabs left alone.
pub fn tame(text: &str) -> Cow<'_, str> {
    if !text.contains(is_wild) {
        return Cow::Borrowed(text);
    }
    let mut tamed = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_wild(c) {
            true => tamed.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => tamed.push(c),
        }
    }
    Cow::Owned(tamed)
}

/// Control characters, and those that change the direction of what follows.
fn is_wild(c: char) -> bool {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control() && c != '\n' && c != '\t'
}

/// A document of tame text alone.
pub(crate) fn tame_document(document: &Document) -> Document {
    let mut document = document.clone();
    document.blocks.iter_mut().for_each(block);
    document
}

fn block(of: &mut Block) {
    match of {
        Block::Heading(_, text) | Block::Text(text) | Block::Alarm(text) | Block::Code(text) => line(text),
        Block::Items(items) => items.iter_mut().for_each(line),
        Block::Table(of) => table(of),
        Block::Fold(summary, blocks) => {
            line(summary);
            blocks.iter_mut().for_each(block);
        }
    }
}

fn table(of: &mut Table) {
    line(&mut of.title);
    let subject = of.subject.iter_mut().map(|(_, value)| value);
    let warnings = of.warnings.iter_mut().flatten();
    let heads = of
        .columns
        .iter_mut()
        .flat_map(|column| [&mut column.name, &mut column.key].into_iter().chain(&mut column.stands_for));
    let cells = of.rows.iter_mut().flat_map(|row| {
        row.group.iter_mut().chain(row.cells.iter_mut().map(|cell| &mut cell.text)).collect::<Vec<_>>()
    });
    let around = of.preamble.iter_mut().chain(of.footnotes.iter_mut());
    subject.chain(warnings).chain(heads).chain(cells).chain(around).for_each(line);
}

fn line(text: &mut String) {
    if let Cow::Owned(tamed) = tame(text) {
        *text = tamed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_commands_a_terminal() {
        assert_eq!(
            tame("a\x1b]0;title\x07b\r\x7f\u{9b}2J"),
            "a\\u001b]0;title\\u0007b\\u000d\\u007f\\u009b2J"
        );
        assert_eq!(tame("\u{202e}gpj.exe"), "\\u202egpj.exe");
        assert!(matches!(tame("Zeile eins\n\tübrig — 名前"), Cow::Borrowed(_)));
    }

    #[test]
    fn no_part_of_a_document_is_left_out() {
        use crate::document::{Cell, Column};
        let wild = || "\x1b[2J".to_owned();
        let mut one = Table::new("t", wild(), vec![Column::words(&wild())], 1).about("test", &wild());
        one.preamble.push(wild());
        one.warnings = Some(vec![wild()]);
        one.footnotes.push(wild());
        one.row(vec![Cell::words(wild())]);
        one.rows[0].group = Some(wild());
        let inner = vec![
            Block::Heading(1, wild()),
            Block::Items(vec![wild()]),
            Block::Code(wild()),
            Block::Table(one),
        ];
        let document = Document { blocks: vec![Block::Text(wild()), Block::Fold(wild(), inner)] };
        let said = format!("{:?}", tame_document(&document));
        assert!(!said.contains("\\u{1b}") && !said.contains('\x1b'), "{said}");
        assert_eq!(said.matches("u001b").count(), 14, "{said}");
    }
}
