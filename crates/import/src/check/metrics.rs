//! Tables of figures per operation: absolute ones from the figures of steps, relative ones from the absolute ones above
//! them.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Checked, Computed, Place, Raw, Reading, read};
use crate::error::Result;
use crate::formats::Format;
use crate::formats::metrics::{MetricsTable, StepMetrics, parse_step, parse_tables};
use crate::model::{Quirk, number};
use crate::printf::{fixed, general};

pub(super) fn check(path: &Path, raws: &[Raw], reading: Reading) -> Result<Checked> {
    let tables = read(path, parse_tables)?;
    let mut steps: BTreeMap<(String, String), StepMetrics> = BTreeMap::new();
    for raw in raws.iter().filter(|raw| raw.format == Format::StepMetrics) {
        steps.insert((raw.directory(), raw.name()), raw.read(parse_step)?);
    }
    let mut checked = Checked::default();
    for table in &tables {
        absolute(table, &steps, reading, &mut checked);
        relative(table, reading, &mut checked);
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
    Ok(checked)
}

fn absolute(
    table: &MetricsTable,
    steps: &BTreeMap<(String, String), StepMetrics>,
    reading: Reading,
    checked: &mut Checked,
) {
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

fn relative(table: &MetricsTable, reading: Reading, checked: &mut Checked) {
    let Some(base) = table.absolute.first() else { return };
    for row in &table.relative {
        let own = table.absolute.iter().find(|one| one.arm == row.arm);
        for (index, cell) in row.cells.iter().enumerate() {
            let computed = own.and_then(|own| quotient(own.cells.get(index)?, base.cells.get(index)?));
            let name = format!("{} {} relative", table.file, row.arm);
            let column = table.columns.get(index).map_or("", String::as_str);
            let computed = computed.map(Computed::exact);
            checked.add(Place { line: row.line, row: &name, column }, cell, computed.as_ref(), reading);
        }
    }
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
