//! Tables of all consecutive steps, coloured by range.

use maud::{Markup, html};

use super::Page;
use crate::comparison::Layout;
use crate::error::Result;
use crate::render::html as blocks;
use crate::section::Section;

/// Sections shown openly, and collapsed sections with their summary.
const SHOWN: [Section; 4] = [Section::Absolute, Section::Relative, Section::Background, Section::Connections];
const FOLDED: [(&str, &[Section]); 2] = [
    ("CPU of server and client, outcome of each step", &[Section::Cpu, Section::Ends]),
    ("Sizes, dead rows, planning of the DELETE", &[Section::State]),
];

/// The section; None if steps are not consecutive.
pub(super) fn section(page: &Page<'_>) -> Result<Option<Markup>> {
    if page.comparison.layout() != Layout::Consecutive {
        return Ok(None);
    }
    let shown = page.blocks(&SHOWN)?;
    let folded: Vec<(&str, Vec<_>)> = FOLDED
        .iter()
        .map(|(summary, sections)| Ok((*summary, page.blocks(sections)?)))
        .collect::<Result<_>>()?;
    Ok(Some(html! {
        section #steps {
            h2 { "Steps" }
            p.legend {
                "Rates are coloured by the range of their column: "
                span.swatch.best { "the best quarter" } " "
                span.swatch.worst { "the worst quarter, unless all are within 20 % of the best" } " "
                span.swatch.unranked { "! not ranked: missed target of background writes" }
            }
            (blocks::blocks(&shown, 3))
            @for (summary, folded) in &folded {
                details { summary { (summary) } (blocks::blocks(folded, 3)) }
            }
        }
    }))
}
