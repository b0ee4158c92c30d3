//! Tables of the Insert Benchmark: all arms per step (`mrg.*`) from lines of one arm, and ratios (`rel.*`) from those.

use std::path::Path;

use super::metrics::quotient;
use super::{Checked, Computed, Place, Raw, Reading, read};
use crate::error::{Error, Result};
use crate::formats::Format;
use crate::formats::ibench::{Block, Row, parse_blocks, steps};
use crate::model::number;
use crate::printf::fixed;

pub(super) fn check(path: &Path, raws: &[Raw], reading: Reading) -> Result<Checked> {
    let blocks = read(path, parse_blocks)?;
    let mut sources: Vec<(String, Vec<Block>)> = Vec::new();
    for raw in raws.iter().filter(|raw| raw.format == Format::InsertBenchmark && raw.path != path) {
        sources.push((raw.name(), raw.read(parse_blocks)?));
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut checked = Checked::default();
    for block in &blocks {
        let step = block.step.clone().or_else(|| name.split_once('.').map(|(_, step)| step.to_owned()));
        let step = step.unwrap_or_default();
        let merged = merged(&sources, &step);
        // Ratios leave base out; they come from the table of the same step.
        let ips = block.columns.iter().position(|column| column == "ips");
        let is_relative = ips.is_some_and(|ips| block.rows.iter().any(|row| row.cells[ips].contains('.')))
            && merged.is_some();
        for row in &block.rows {
            let cells = match (&merged, is_relative) {
                (Some(merged), true) => relative(merged, row),
                _ => of_arm(&sources, &step, &row.arm),
            };
            for (index, cell) in row.cells.iter().enumerate() {
                let computed =
                    cells.as_ref().and_then(|cells| cells.get(index)?.clone()).map(Computed::exact);
                let row_name = format!("{step} {}", row.arm);
                let place = Place { line: row.line, row: &row_name, column: &block.columns[index] };
                checked.add(place, cell, computed.as_ref(), reading);
            }
        }
        let of_sources = match &merged {
            Some(merged) if is_relative => arms_of_ratios(merged),
            _ => arms_of(&sources),
        };
        checked.expect(of_sources, |arm| block.rows.iter().any(|row| row.arm == arm));
    }
    if checked.cells == 0 {
        return Err(Error::Missing {
            what: format!("the results of {}", path.display()),
            remedy: "give the o.sum.t files of its arms, or the mrg file of the same step".to_owned(),
        });
    }
    Ok(checked)
}

/// The table of all arms of a step, if it is among the files.
fn merged<'a>(sources: &'a [(String, Vec<Block>)], step: &str) -> Option<&'a Block> {
    sources.iter().filter(|(name, _)| name.starts_with("mrg")).find_map(|(name, blocks)| {
        blocks.iter().find(|block| match &block.step {
            Some(own) => own == step,
            None => name.strip_prefix("mrg.") == Some(step),
        })
    })
}

/// All but the bases of the groups.
fn arms_of_ratios(merged: &Block) -> Vec<&str> {
    let base = |group: usize| merged.rows.iter().find(|row| row.group == group).map(|row| row.arm.as_str());
    let arms = merged.rows.iter().filter(|row| base(row.group) != Some(&row.arm));
    arms.map(|row| row.arm.as_str()).collect()
}

/// Arms with a file of their own.
fn arms_of(sources: &[(String, Vec<Block>)]) -> Vec<&str> {
    let of_one_arm = sources.iter().filter(|(name, _)| !name.starts_with("mrg") && !name.starts_with("rel"));
    of_one_arm
        .flat_map(|(_, blocks)| blocks)
        .filter_map(|block| Some(block.rows.first()?.arm.as_str()))
        .collect()
}

type Cells = Vec<Option<String>>;

/// Quotients to the first arm of the group.
fn relative(merged: &Block, row: &Row) -> Option<Cells> {
    let own = merged.rows.iter().find(|one| one.arm == row.arm)?;
    let base = merged.rows.iter().find(|one| one.group == own.group)?;
    let pairs = own.cells.iter().zip(&base.cells);
    let ratio = |(own, base): (&String, &String)| match own == "NA" || base == "NA" {
        true => Some("NA".to_owned()),
        false => quotient(own, base),
    };
    Some(pairs.map(ratio).collect())
}

/// The line of a step from the arm's own file, with some columns rounded again.
fn of_arm(sources: &[(String, Vec<Block>)], step: &str, arm: &str) -> Option<Cells> {
    let of_one_arm = sources.iter().filter(|(name, _)| !name.starts_with("mrg") && !name.starts_with("rel"));
    let mut blocks = of_one_arm.flat_map(|(_, blocks)| blocks);
    let block = blocks.find(|block| block.rows.first().is_some_and(|row| row.arm == arm))?;
    let place = steps(block.rows.len())?.iter().position(|name| *name == step)?;
    let row = block.rows.get(place)?;
    let printed = |(column, cell): (&String, &String)| match (column.as_str(), number(cell)) {
        ("ips" | "qps" | "rps", Some(value)) => Some(fixed(value, 0)),
        ("maxop", Some(value)) if value >= 10.0 => Some(fixed(value, 1)),
        _ => Some(cell.clone()),
    };
    Some(block.columns.iter().zip(&row.cells).map(printed).collect())
}
