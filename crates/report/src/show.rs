//! Shows selected sections of a run.

use rqps_store::Run;

use crate::answers::answers;
use crate::comparison::Comparison;
use crate::document::{Block, Document};
use crate::error::Result;
use crate::format::{Format, Screen};
use crate::markdown_report::ONE_RESULT;
use crate::reading::Reading;
use crate::render::render;
use crate::section::Section;
use crate::words;

/// Options of [`show`].
#[derive(Debug, Clone, Default)]
pub struct Options {
    pub format: Format,
    pub screen: Screen,
    /// Also show the tests that ran before any write.
    pub include_pre: bool,
    /// Name of the arm that others are relative to; the plan's base if None.
    pub base: Option<String>,
    /// Sections in this order; if empty, the default for the runs.
    pub sections: Vec<Section>,
    /// Tests to show; all if empty.
    pub tests: Vec<String>,
}

/// Returns the tables of one run.
///
/// # Errors
/// If the run lacks the base or a test, or cannot be read or judged.
pub fn show(run: &Run, options: &Options) -> Result<String> {
    let readings = [Reading::new(run)];
    let comparison = Comparison::new(&readings, options.base.as_deref(), &options.tests)?;
    let title = format!("Run {} ({})", run.folder.name(), words::state(run));
    let mut document = Document::default();
    if options.sections.is_empty() {
        document.answers = answers(&comparison, options.format)?;
    }
    document.push(Block::Heading(1, title));
    sections(&mut document, &comparison, options)?;
    render(&document, options.format, options.screen)
}

/// Adds the selected sections.
pub(crate) fn sections(
    document: &mut Document,
    comparison: &Comparison<'_>,
    options: &Options,
) -> Result<()> {
    // Tables of nothing, and what their columns mean, tell nobody anything.
    if options.sections.is_empty() && comparison.runs().iter().all(|run| has_no_block_yet(run)) {
        document.push(Block::Text("Nothing is measured yet: no block was measured to its end.".to_owned()));
        document.extend(Section::Remarks.blocks(comparison, options.include_pre)?);
        return Ok(());
    }
    let has_blocks = comparison.runs().iter().any(|run| !run.blocks.is_empty());
    let selected = match options.sections.as_slice() {
        [] => Section::judged(&Section::default_for(comparison.layout(), has_blocks), comparison)?,
        selected => selected.to_vec(),
    };
    let are_single = !has_blocks && comparison.runs().iter().all(|run| run.meta.is_imported());
    for section in selected {
        let mut blocks = section.blocks(comparison, options.include_pre)?;
        if blocks.is_empty() && !options.sections.is_empty() {
            let why = match section {
                Section::Certificate => {
                    ": the host was not measured, as with certificate = false in the plan"
                }
                _ => "",
            };
            document
                .push(Block::Text(format!("There is nothing to show in section {}{why}.", section.key())));
        }
        if let (Section::Headline, true) = (section, are_single)
            && let Some(at) = blocks.iter().position(|block| matches!(block, Block::Items(_)))
        {
            blocks.insert(at + 1, Block::Text(ONE_RESULT.to_owned()));
        }
        document.extend(blocks);
    }
    Ok(())
}

/// Whether no block of a run of blocks is done.
fn has_no_block_yet(run: &Run) -> bool {
    run.meta.protocol == "isolated" && run.blocks_done() == 0
}
