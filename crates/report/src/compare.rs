//! Several runs in one table, if they are alike enough for that.

use rqps_store::Run;

use crate::comparable::differences;
use crate::document::{Block, Document};
use crate::error::{Error, Result};
use crate::reading::Reading;
use crate::render::render;
use crate::show::{Options, sections};
use crate::sides::Sides;

/// What to compare, and how to show it.
#[derive(Debug, Clone, Default)]
pub struct CompareOptions {
    /// What to show. `base` may be `arm`, or `run:arm` where several runs have an arm of that name.
    pub show: Options,
    /// Compare unlike runs too, with each difference as a warning inside every table.
    pub force: bool,
}

/// All arms of `runs` relative to one base. Runs that differ in host, kernel, data, steps or in what a config's name
/// stands for are refused, unless forced.
pub fn compare(runs: &[Run], options: &CompareOptions) -> Result<String> {
    let first = runs.first().ok_or(Error::NoRuns)?;
    for (index, run) in runs.iter().enumerate() {
        if runs[..index].iter().any(|before| before.folder == run.folder) {
            return Err(Error::RunTwice { run: run.folder.name() });
        }
    }
    let readings = Reading::of_all(runs);
    let mut sides = Sides::new(&readings, options.show.base.as_deref(), &options.show.tests)?;
    let found: Vec<_> = runs.iter().skip(1).flat_map(|run| differences(first, run)).collect();
    if !found.is_empty() && !options.force {
        return Err(Error::NotComparable { differences: found });
    }
    let unlike = found.iter().map(|difference| format!("the runs are unlike in {difference}"));
    sides.warnings.splice(0..0, unlike);
    let mut document = Document::default();
    let names: Vec<String> = runs.iter().map(|run| run.folder.name()).collect();
    document.push(Block::Heading(1, format!("Runs {}", names.join(", "))));
    sections(&mut document, &sides, &options.show)?;
    render(&document, options.show.format, options.show.color)
}
