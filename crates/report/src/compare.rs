//! Compares arms across runs in one table, if the runs are comparable.

use rqps_store::Run;

use crate::answers::answers;
use crate::comparable::{Difference, differences, differences_across_protocols, unit_of};
use crate::comparison::{Comparison, StepKind};
use crate::document::{Block, Document};
use crate::error::{Error, Result};
use crate::reading::Reading;
use crate::render::render;
use crate::section::Section;
use crate::show::{Options, sections};
use crate::tables::{conditions, state_dependent, two_runs, verdicts};
use crate::verdict_lines::Judged;

/// Options of [`compare`].
#[derive(Debug, Clone, Default)]
pub struct CompareOptions {
    /// What to show. `base` is `arm`, or `run:arm` if several runs have an arm of that name.
    pub show: Options,
    /// Also compare runs that are not comparable, with each difference as a warning inside every table.
    pub force: bool,
}

/// Shows all arms of `runs` relative to one base.
///
/// # Errors
/// If runs differ in host, kernel, data, steps or the content of configs with the same name, unless forced;
/// if a run is given twice or cannot be read.
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
    let readings: Vec<Reading<'_>> = runs.iter().map(Reading::new).collect();
    let mut comparison = Comparison::new(&readings, options.show.base.as_deref(), &options.show.tests)?;
    expect_one_unit(runs, &comparison)?;
    let found = runs.iter().skip(1).flat_map(|run| differences(first, run)).collect();
    comparison.warn(&warnings(found, options.force)?);
    let mut document = Document::default();
    let names: Vec<String> = runs.iter().map(|run| run.folder.name()).collect();
    if options.show.sections.is_empty() {
        document.answers = answers(&comparison, options.show.format)?;
    }
    document.push(Block::Heading(1, format!("Runs {}", names.join(", "))));
    if !side_by_side(&mut document, &comparison, &options.show)? {
        sections(&mut document, &comparison, &options.show)?;
    }
    render(&document, options.show.format, options.show.screen)
}

/// Adds the verdicts of two runs in one table, and their rates, unless sections are named; whether it did.
fn side_by_side(document: &mut Document, comparison: &Comparison<'_>, show: &Options) -> Result<bool> {
    let judged = Judged::all(comparison)?;
    let ([one, other], []) = (judged.as_slice(), show.sections.as_slice()) else { return Ok(false) };
    let tables = two_runs::blocks(comparison, one, other);
    if tables.is_empty() {
        return Ok(false);
    }
    let brief = |judged: &Judged<'_>| -> Vec<String> {
        judged.measured().map(|arm| verdicts::brief(comparison, judged, arm)).collect()
    };
    document.push_warnings(&comparison.warnings());
    document.push(Block::Items([brief(one), brief(other)].concat()));
    document.extend(conditions::blocks(&[(one.run, one.base), (other.run, other.base)]));
    document.extend(tables);
    document.push(Block::Text("`--section verdicts` shows the verdicts of each run in full.".to_owned()));
    document.extend(Section::all_blocks(&[Section::Absolute, Section::Remarks], comparison)?);
    document.warn(&comparison.warnings());
    Ok(true)
}

/// # Errors
/// If runs have the rates of a test in different units: a ratio of them means nothing, whatever is forced.
fn expect_one_unit(runs: &[Run], comparison: &Comparison<'_>) -> Result<()> {
    for step in comparison.steps(StepKind::Tests) {
        let mut units = runs.iter().filter_map(|run| Some((run, unit_of(run, &step.name)?)));
        let Some((first, unit)) = units.next() else { continue };
        if let Some((other, other_unit)) = units.find(|(_, other)| *other != unit) {
            return Err(Error::Units {
                test: step.name,
                first: (first.folder.name(), unit.many.to_string()),
                other: (other.folder.name(), other_unit.many.to_string()),
            });
        }
    }
    Ok(())
}

/// Turns differences into warnings; an error unless forced, or unless they are none of what is compared.
fn warnings(found: Vec<Difference>, force: bool) -> Result<Vec<String>> {
    if !found.iter().all(|one| one.is_within_runs) && !force {
        return Err(Error::NotComparable { differences: found });
    }
    Ok(found.iter().map(|difference| format!("the runs differ in {difference}")).collect())
}

/// Compares runs of two protocols. Their figures never share a table: shows the verdicts of each run, then
/// the changes that only the sequence shows.
fn compare_protocols(one: &Run, other: &Run, options: &CompareOptions) -> Result<String> {
    let warnings = warnings(differences_across_protocols(one, other), options.force)?;
    let is_isolated = |run: &Run| run.meta.protocol == "isolated";
    let (isolated, sequence) = if is_isolated(one) { (one, other) } else { (other, one) };
    let names = [isolated, sequence].map(|run| run.folder.name());
    let mut document = Document::default();
    document.push(Block::Heading(1, format!("Runs {} (isolated) and {} (sequence)", names[0], names[1])));
    let mut judged = Vec::new();
    for run in [isolated, sequence] {
        let readings = [Reading::new(run)];
        let mut comparison = Comparison::new(&readings, options.show.base.as_deref(), &options.show.tests)?;
        comparison.warn(&warnings);
        document.push(Block::Heading(2, format!("Verdicts of {}", run.folder.name())));
        document.extend(Section::Verdicts.blocks(&comparison, options.show.include_pre)?);
        match Judged::from_run(run, comparison.base_in(run))? {
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
    render(&document, options.show.format, options.show.screen)
}
