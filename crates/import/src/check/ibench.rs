//! Tables of the Insert Benchmark: all arms per step (`mrg.*`) from lines of one arm, and ratios (`rel.*`) from those.

use std::collections::BTreeSet;
use std::path::Path;

use rqps_model::clipped;

use super::base::{Base, Ratio};
use super::metrics::quotient;
use super::{Checked, Computed, Figures, Place, Raw, Reading, read};
use crate::error::{Error, Result};
use crate::formats::Format;
use crate::formats::ibench::{Block, Row, is_of_one_arm, parse_blocks, position, steps};
use crate::model::number;
use crate::printf::fixed;

/// A file's name and blocks.
type Source = (String, Vec<Block>);

/// Of the arms that an error names.
const NAMES_CHARS_MAX: usize = 200;

pub(super) fn check(path: &Path, raws: &[Raw], reading: Reading) -> Result<Checked> {
    let blocks = read(path, parse_blocks)?;
    let (mut sources, mut of_arms): (Vec<Source>, _) = (Vec::new(), Figures::new());
    for raw in raws.iter().filter(|raw| raw.format == Format::InsertBenchmark && raw.path != path) {
        let blocks = raw.read(parse_blocks)?;
        for block in blocks.iter().filter(|block| is_of_one_arm(block)) {
            steps(block).map_err(|broken| broken.in_file(&raw.path))?;
            let cells: Vec<Vec<String>> = block.rows.iter().map(|row| row.cells.clone()).collect();
            of_arms.add(block.rows[0].arm.clone(), "steps".to_owned(), cells, &raw.path);
        }
        sources.push((raw.name(), blocks));
    }
    let is_of_table =
        |arm: &str, _: &str| blocks.iter().flat_map(|block| &block.rows).any(|row| row.arm == arm);
    of_arms.only(path, is_of_table)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut checked = Checked::default();
    for block in &blocks {
        let step = block.step.clone().or_else(|| name.split_once('.').map(|(_, step)| step.to_owned()));
        let step = step.unwrap_or_default();
        let merged = merged(&sources, &step);
        // Ratios leave base out; they come from the table of the same step.
        let of_sources = match merged.filter(|_| is_relative(block)) {
            Some(merged) => {
                relative((block, &step), merged, reading, &mut checked);
                arms_of_ratios(merged)
            }
            None => {
                absolute((block, &step), &sources, reading, &mut checked);
                arms_of(&sources)
            }
        };
        checked.expect(of_sources, |arm| block.rows.iter().any(|row| row.arm == arm));
    }
    if checked.cells == 0 {
        return Err(without_source(path, &name, &blocks, &sources));
    }
    Ok(checked)
}

fn is_relative(block: &Block) -> bool {
    let ips = block.columns.iter().position(|column| column == "ips");
    ips.is_some_and(|ips| block.rows.iter().any(|row| row.cells[ips].contains('.')))
}

/// The rates of all arms in a step, if they are among the files: of that step as they say or their file's name, or the
/// only ones.
fn merged<'a>(sources: &'a [Source], step: &str) -> Option<&'a Block> {
    let blocks = sources.iter().flat_map(|(name, blocks)| blocks.iter().map(move |block| (name, block)));
    let mut of_steps = blocks.filter(|(_, block)| !(is_of_one_arm(block) || is_relative(block)));
    let step_of = |(name, block): &(&'a String, &'a Block)| match &block.step {
        Some(own) => own == step,
        None => name.split_once('.').is_some_and(|(_, own)| own == step),
    };
    let named = of_steps.clone().find(step_of);
    let only = of_steps.next().filter(|_| of_steps.next().is_none());
    // A file that is called after another step is of that one.
    let is_of_other = |name: &str| {
        let is_step = |step: &str| position(step) < usize::MAX;
        is_step(step) && name.split_once('.').is_some_and(|(_, own)| is_step(own))
    };
    let is_unnamed = |(name, block): &(&String, &Block)| block.step.is_none() && !is_of_other(name);
    Some(named.or(only.filter(is_unnamed))?.1)
}

/// All but the bases of the groups.
fn arms_of_ratios(merged: &Block) -> Vec<&str> {
    let base = |group: usize| merged.rows.iter().find(|row| row.group == group).map(|row| row.arm.as_str());
    let arms = merged.rows.iter().filter(|row| base(row.group) != Some(&row.arm));
    arms.map(|row| row.arm.as_str()).collect()
}

/// Arms with a file of their own.
fn arms_of(sources: &[Source]) -> Vec<&str> {
    of_one_arm(sources).filter_map(|block| Some(block.rows.first()?.arm.as_str())).collect()
}

fn of_one_arm(sources: &[Source]) -> impl Iterator<Item = &Block> {
    sources.iter().flat_map(|(_, blocks)| blocks).filter(|block| is_of_one_arm(block))
}

type Cells = Vec<Option<String>>;

/// A block of a table, and its step.
type OfStep<'a> = (&'a Block, &'a str);

fn absolute((block, step): OfStep<'_>, sources: &[Source], reading: Reading, checked: &mut Checked) {
    for row in &block.rows {
        let cells = of_arm(sources, step, &row.arm);
        let row_name = format!("{step} {}", row.arm);
        for (index, cell) in row.cells.iter().enumerate() {
            let computed = cells.as_ref().and_then(|cells| cells.get(index)?.clone()).map(Computed::exact);
            let place = Place { line: row.line, row: &row_name, column: &block.columns[index] };
            checked.add(place, cell, computed.as_ref(), reading);
        }
    }
}

/// Quotients to the first arm of each group.
fn relative((block, step): OfStep<'_>, merged: &Block, reading: Reading, checked: &mut Checked) {
    let group = |row: &Row| Some(merged.rows.iter().find(|one| one.arm == row.arm)?.group);
    let groups: BTreeSet<Option<usize>> = block.rows.iter().map(group).collect();
    for of_group in groups {
        let rows: Vec<&Row> = block.rows.iter().filter(|row| group(row) == of_group).collect();
        let base = of_group.and_then(|group| merged.rows.iter().find(|one| one.group == group));
        let base_name = format!("{step} {}", base.map_or("", |base| &base.arm));
        let figure = |row: Option<&Row>, index: usize| {
            let cell = row?.cells.get(index)?;
            Some(Computed::exact(cell.clone()))
        };
        for (index, column) in block.columns.iter().enumerate() {
            let ratio = |row: &&Row| Ratio {
                line: row.line,
                row: format!("{step} {}", row.arm),
                column: column.clone(),
                cell: row.cells[index].clone(),
                own: figure(merged.rows.iter().find(|one| one.arm == row.arm), index),
            };
            let ratios: Vec<Ratio> = rows.iter().map(ratio).collect();
            let place = Place { line: rows[0].line, row: &base_name, column };
            let base = Base { place, figure: figure(base, index), of_source: None, is_in_table: false };
            checked.add_ratios(base, &ratios, &ratio_or_na, reading);
        }
    }
}

fn ratio_or_na(own: &Computed, base: &Computed) -> Option<Computed> {
    match own.published == "NA" || base.published == "NA" {
        true => Some(Computed::exact("NA".to_owned())),
        false => quotient(&own.published, &base.published).map(Computed::exact),
    }
}

/// Says whether it is the step or the arms that the sources lack.
fn without_source(path: &Path, name: &str, blocks: &[Block], sources: &[Source]) -> Error {
    let step = |block: &Block| block.step.clone().or_else(|| Some(name.split_once('.')?.1.to_owned()));
    let is_known = |block: &Block| step(block).is_some_and(|step| position(&step) < usize::MAX);
    let path = path.display();
    let (what, remedy) = if blocks.iter().any(is_relative) {
        (
            format!("the rates that the ratios in {path} are made of"),
            "give the mrg file of the same step".to_owned(),
        )
    } else if !blocks.iter().all(is_known) {
        (
            format!("the step of {path}, as its name says"),
            "name it after its step, such as mrg.q100.1".to_owned(),
        )
    } else {
        let arms = |blocks: &mut dyn Iterator<Item = &Block>| {
            let arms: BTreeSet<String> =
                blocks.flat_map(|block| &block.rows).map(|row| row.arm.clone()).collect();
            clipped(&arms.into_iter().collect::<Vec<_>>().join(", "), NAMES_CHARS_MAX)
        };
        let of_table = arms(&mut blocks.iter());
        let of_sources = arms(&mut of_one_arm(sources));
        let given =
            if of_sources.is_empty() { "are of no arm".to_owned() } else { format!("are of {of_sources}") };
        (
            format!("results of the arms of {path}, {of_table}"),
            format!("those given {given}; give the o.sum.t file of each arm, or write its name as there"),
        )
    };
    Error::Missing { what, remedy }
}

/// The line of a step from the arm's own file, with some columns rounded again.
fn of_arm(sources: &[Source], step: &str, arm: &str) -> Option<Cells> {
    let block = of_one_arm(sources).find(|block| block.rows.first().is_some_and(|row| row.arm == arm))?;
    let place = steps(block).ok()?.iter().position(|name| *name == step)?;
    let row = block.rows.get(place)?;
    let printed = |(column, cell): (&String, &String)| match (column.as_str(), number(cell)) {
        ("ips" | "qps" | "rps", Some(value)) => Some(fixed(value, 0)),
        ("maxop", Some(value)) if value >= 10.0 => Some(fixed(value, 1)),
        _ => Some(cell.clone()),
    };
    Some(block.columns.iter().zip(&row.cells).map(printed).collect())
}
