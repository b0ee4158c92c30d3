//! Several runs in one table, if they are comparable.

use rqps_store::Run;

use crate::comparable::{Difference, differences, differences_across_protocols};
use crate::document::{Block, Document};
use crate::error::{Error, Result};
use crate::reading::Reading;
use crate::render::render;
use crate::section::Section;
use crate::show::{Options, sections};
use crate::sides::Sides;
use crate::tables::state_dependent;
use crate::verdict_lines::Judged;

/// What to compare, and how to show it.
#[derive(Debug, Clone, Default)]
pub struct CompareOptions {
    /// What to show. `base` may be `arm`, or `run:arm` where several runs have an arm of that name.
    pub show: Options,
    /// Compare runs that are not comparable too, with each difference as a warning inside every table.
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
    if let [one, other] = runs
        && one.meta.protocol != other.meta.protocol
    {
        return compare_protocols(one, other, options);
    }
    let readings = Reading::all(runs);
    let mut sides = Sides::new(&readings, options.show.base.as_deref(), &options.show.tests)?;
    let found = runs.iter().skip(1).flat_map(|run| differences(first, run)).collect();
    sides.warn(&unlike(found, options.force)?);
    let mut document = Document::default();
    let names: Vec<String> = runs.iter().map(|run| run.folder.name()).collect();
    document.push(Block::Heading(1, format!("Runs {}", names.join(", "))));
    sections(&mut document, &sides, &options.show)?;
    render(&document, options.show.format, options.show.color)
}

/// What to warn of, or an error unless forced.
fn unlike(found: Vec<Difference>, force: bool) -> Result<Vec<String>> {
    if !found.is_empty() && !force {
        return Err(Error::NotComparable { differences: found });
    }
    Ok(found.iter().map(|difference| format!("the runs differ in {difference}")).collect())
}

/// The same arms by two protocols. Their figures never share a table: each run is shown by its own verdicts, and then
/// what only the sequence shows.
fn compare_protocols(one: &Run, other: &Run, options: &CompareOptions) -> Result<String> {
    let warnings = unlike(differences_across_protocols(one, other), options.force)?;
    let is_isolated = |run: &Run| run.meta.protocol == "isolated";
    let (isolated, sequence) = if is_isolated(one) { (one, other) } else { (other, one) };
    let names = [isolated, sequence].map(|run| run.folder.name());
    let mut document = Document::default();
    document.push(Block::Heading(1, format!("Runs {} (isolated) and {} (sequence)", names[0], names[1])));
    let mut judged = Vec::new();
    for run in [isolated, sequence] {
        let readings = [Reading::new(run)];
        let mut sides = Sides::new(&readings, options.show.base.as_deref(), &options.show.tests)?;
        sides.warn(&warnings);
        document.push(Block::Heading(2, format!("Verdicts of {}", run.folder.name())));
        document.extend(Section::Verdicts.blocks(&sides, options.show.include_pre)?);
        match Judged::from_run(run, sides.base_in(run))? {
            Some(found) => judged.push(found),
            None => document.push(Block::Text(format!(
                "{} has a single pass, so there are no verdicts: a plan with passes = 3 or more repeats the sequence.",
                run.folder.name()
            ))),
        }
    }
    if let [isolated, sequence] = judged.as_slice() {
        document.push(Block::Heading(2, "Changes that only the sequence shows".to_owned()));
        document.push(state_dependent::block(isolated, sequence)?);
    }
    render(&document, options.show.format, options.show.color)
}
