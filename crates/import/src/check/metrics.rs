//! Tables of figures per operation: absolute ones from the figures of steps, relative ones from the absolute ones above
//! them.

use std::collections::BTreeMap;
use std::path::Path;

use super::base::{Base, Ratio};
use super::{Checked, Computed, Figures, Place, Raw, Reading, read};
use crate::error::Result;
use crate::formats::Format;
use crate::formats::metrics::{MetricsRow, MetricsTable, StepMetrics, parse_step, parse_tables};
use crate::model::{Quirk, number};
use crate::printf::{fixed, general};

/// Figures of steps by directory and file.
type Steps = BTreeMap<(String, String), StepMetrics>;

pub(super) fn check(path: &Path, raws: &[Raw], reading: Reading) -> Result<Checked> {
    let tables = read(path, parse_tables)?;
    let mut steps = Figures::new();
    for raw in raws.iter().filter(|raw| raw.format == Format::StepMetrics) {
        steps.add(raw.arm(), raw.name(), raw.read(parse_step)?, &raw.path);
    }
    let is_of_table = |arm: &str, file: &str| {
        let has_arm = |table: &MetricsTable| table.absolute.iter().any(|row| row.arm == arm);
        tables.iter().any(|table| table.file == file && has_arm(table))
    };
    let steps = steps.only(path, is_of_table)?;
    let mut checked = Checked::default();
    for table in &tables {
        absolute(table, &steps, reading, &mut checked);
        relative(table, &steps, reading, &mut checked);
    }
    let rows = steps.keys().map(|(arm, file)| format!("{file} {arm}")).collect::<Vec<_>>();
    let of_table = |row: &str| {
        let is_row = |table: &MetricsTable| {
            let arm = row.strip_prefix(&table.file).and_then(|rest| rest.strip_prefix(' '));
            arm.is_some_and(|arm| table.absolute.iter().any(|one| one.arm == arm))
        };
        tables.iter().any(is_row)
    };
    checked.expect(rows.iter().map(String::as_str), of_table);
    for table in tables.iter().filter(|table| !table.relative.is_empty()) {
        let arms = table.absolute.iter().skip(1).map(|row| &row.arm);
        let missing = arms.filter(|arm| table.relative.iter().all(|row| row.arm != **arm));
        let rows: Vec<String> = missing.map(|arm| format!("{} {arm} relative", table.file)).collect();
        checked.expect(rows.iter().map(String::as_str), |_| false);
    }
    Ok(checked)
}

fn absolute(table: &MetricsTable, steps: &Steps, reading: Reading, checked: &mut Checked) {
    for row in &table.absolute {
        let step = steps.get(&(row.arm.clone(), table.file.clone()));
        for (column, cell) in table.columns.iter().zip(&row.cells) {
            let computed = step.and_then(|step| digits(step, column));
            let name = format!("{} {}", table.file, row.arm);
            checked.add(Place { line: row.line, row: &name, column }, cell, computed.as_ref(), reading);
        }
    }
}

/// A cell of a table from a step's figures: text is kept, but for figures per operation of iostat.
fn digits(step: &StepMetrics, column: &str) -> Option<Computed> {
    let text = step.cell(column)?;
    let published = match column {
        "cpu/o" | "cs/o" => text.to_owned(),
        "o/s" => fixed(number(text)?, 0),
        _ => general(number(text)?),
    };
    let corrected =
        || Some(fixed(number(text)? * step.samples_factor()?, if column == "cpu/o" { 6 } else { 3 }));
    let truth = matches!(column, "cpu/o" | "cs/o").then(corrected).flatten();
    let truth = truth.filter(|truth| *truth != published).map(|truth| (truth, Quirk::Samples));
    Some(Computed { published, truth })
}

fn relative(table: &MetricsTable, steps: &Steps, reading: Reading, checked: &mut Checked) {
    let Some(base) = table.absolute.first() else { return };
    let of_source = |row: &MetricsRow, index: usize| {
        let step = steps.get(&(row.arm.clone(), table.file.clone()))?;
        let digits = digits(step, table.columns.get(index)?)?.published;
        (row.cells.get(index) != Some(&digits)).then_some(digits)
    };
    for (index, column) in table.columns.iter().enumerate() {
        let Some(of_base) = base.cells.get(index) else { continue };
        let ratio = |row: &MetricsRow| {
            let own = table.absolute.iter().find(|one| one.arm == row.arm);
            let cell = row.cells[index].clone();
            // Where a figure above is wrong, the ratio may be of the right one.
            let is_of = |own: &String| quotient(own, of_base).as_ref() == Some(&cell);
            let right = own.and_then(|own| of_source(own, index)).filter(is_of);
            let own = right.or_else(|| own?.cells.get(index).cloned()).map(Computed::exact);
            let row_name = format!("{} {} relative", table.file, row.arm);
            Ratio { line: row.line, row: row_name, column: column.clone(), cell, own }
        };
        let rows = table.relative.iter().filter(|row| index < row.cells.len());
        let ratios: Vec<Ratio> = rows.map(ratio).collect();
        let name = format!("{} {}", table.file, base.arm);
        let base = Base {
            place: Place { line: base.line, row: &name, column },
            figure: Some(Computed::exact(of_base.clone())),
            of_source: of_source(base, index),
            is_in_table: true,
        };
        checked.add_ratios(base, &ratios, &exact_quotient, reading);
    }
}

/// The quotient of two printed figures as a cell.
fn exact_quotient(own: &Computed, base: &Computed) -> Option<Computed> {
    quotient(&own.published, &base.published).map(Computed::exact)
}

/// The quotient of two printed figures: `1` for 0/0, `inf` for x/0.
pub(super) fn quotient(own: &str, base: &str) -> Option<String> {
    let (own, base) = (number(own)?, number(base)?);
    Some(match (own, base) {
        (0.0, 0.0) => "1".to_owned(),
        (_, 0.0) => "inf".to_owned(),
        _ => fixed(own / base, 2),
    })
}
