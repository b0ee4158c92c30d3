//! One run, the sections that were asked for.

use rqps_store::Run;

use crate::document::{Block, Document};
use crate::error::Result;
use crate::format::Format;
use crate::reading::Reading;
use crate::render::render;
use crate::section::Section;
use crate::sides::Sides;

/// What to show, and how.
#[derive(Debug, Clone, Default)]
pub struct Options {
    pub format: Format,
    /// Colours in text: red at 0.95 and below, green at 1.05 and above.
    pub color: bool,
    /// Also show the tests that ran before any write.
    pub include_pre: bool,
    /// What the others are relative to, by the arm's name; the plan's base when none.
    pub base: Option<String>,
    /// What to show, in this order; when empty, what suits the runs.
    pub sections: Vec<Section>,
    /// Tests to show; all when empty.
    pub tests: Vec<String>,
}

/// The tables of one run.
pub fn show(run: &Run, options: &Options) -> Result<String> {
    let readings = [Reading::new(run)];
    let sides = Sides::new(&readings, options.base.as_deref(), &options.tests)?;
    let title = format!("Run {} ({})", run.folder.name(), run.status.status);
    let mut document = Document::default();
    document.push(Block::Heading(1, title));
    sections(&mut document, &sides, options)?;
    render(&document, options.format, options.color)
}

/// Adds the sections that were asked for.
pub(crate) fn sections(document: &mut Document, sides: &Sides<'_>, options: &Options) -> Result<()> {
    let has_blocks = sides.runs().iter().any(|run| !run.blocks.is_empty());
    let suitable = match options.sections.as_slice() {
        [] => Section::suitable(sides.layout(), has_blocks),
        chosen => chosen.to_vec(),
    };
    for section in suitable {
        document.extend(section.blocks(sides, options.include_pre)?);
    }
    Ok(())
}
