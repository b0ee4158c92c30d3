//! Renders a document in each output format.

mod csv;
pub(crate) mod html;
pub(crate) mod json;
mod markdown;
mod text;
mod wrap;

use crate::document::{Document, Row, Table};
use crate::error::Result;
use crate::format::{Format, Screen};
use crate::tame::tame_document;
use wrap::longest_piece;

pub use wrap::{Aligned, GAP, aligned, wrapped};

/// Renders the document in `format`; colours and width of `screen` apply to [`Format::Text`] only.
pub(crate) fn render(document: &Document, format: Format, screen: Screen) -> Result<String> {
    let mut document = tame_document(document);
    // Tables of JSON are read alone.
    if format != Format::Json {
        document.warn_once();
    }
    let document = &document;
    match format {
        Format::Text => Ok(text::render(document, screen)),
        Format::Markdown => Ok(markdown::render(document)),
        Format::Csv => {
            if let Some(warn) = screen.warn {
                document.tables().iter().flat_map(|table| table.warnings()).for_each(|warning| warn(warning));
            }
            csv::render(document)
        }
        Format::Json => json::render(document),
    }
}

/// The table's rows by group; one empty group if there are no rows.
fn by_group(table: &Table) -> Vec<(Option<&str>, Vec<&Row>)> {
    let mut groups: Vec<(Option<&str>, Vec<&Row>)> = Vec::new();
    for row in &table.rows {
        let group = row.group.as_deref();
        match groups.last_mut() {
            Some((last, rows)) if *last == group => rows.push(row),
            _ => groups.push((group, vec![row])),
        }
    }
    if groups.is_empty() {
        groups.push((None, Vec::new()));
    }
    groups
}
