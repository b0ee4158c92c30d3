//! Figures of an imported run as their author published them, beside what was measured.
//!
//! | column | means |
//! | --- | --- |
//! | `published` | the figure as printed, digit by digit; it may be in another unit: MB, or a count for a rate |
//! | `measured` | what was measured; `-` if that cannot be told |
//! | `figure`, `unit` | its name |
//! | `repeat` | number of the repeat |
//! | `quirks` | what published figures of that file are known to get wrong |
//! | `source` | file and line |
//! | `dbms`, `test` | the variant and the test |

use std::collections::HashMap;
use std::path::Path;

use rqps_store::{ImportedValue, Recorded, Run, Source, Window};

use crate::comparison::{ComparedArm, Comparison, StepKind};
use crate::document::{Block, Cell, Column, Figure, Table};
use crate::error::Result;
use crate::number;

struct Row<'a> {
    arm: &'a ComparedArm<'a>,
    repeat: Option<u32>,
    value: &'a ImportedValue,
    published: &'a str,
    source: Option<&'a Source>,
}

impl Row<'_> {
    fn quirks(&self) -> String {
        let quirks = self.source.map(|source| source.quirks.join(", "));
        quirks.filter(|quirks| !quirks.is_empty()).unwrap_or_else(|| "-".to_owned())
    }

    fn source(&self) -> String {
        let Some(source) = self.source else { return format!("line {}", self.value.line) };
        let name = Path::new(&source.path).file_name().map(|name| name.to_string_lossy());
        format!("{}:{}", name.unwrap_or_default(), self.value.line)
    }
}

/// A table for each imported run; a sentence if there is none.
pub(crate) fn blocks(comparison: &Comparison<'_>, which: StepKind) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    for run in comparison.runs() {
        blocks.extend(of_run(comparison, run, which)?);
    }
    if blocks.is_empty() {
        blocks.push(Block::Text("No figures of other programs: no run here was imported.".to_owned()));
    }
    Ok(blocks)
}

fn of_run(comparison: &Comparison<'_>, run: &Run, which: StepKind) -> Result<Vec<Block>> {
    let sources = run.sources()?;
    let mut values: HashMap<u32, Vec<ImportedValue>> = HashMap::new();
    for (seq, value) in run.imported_values()? {
        values.entry(seq).or_default().push(value);
    }
    let figures: [Figure<'_, Row<'_>>; 8] = [
        (Column::number("published", "published"), &|row| Cell {
            value: row.published.parse().ok(),
            ..Cell::words(row.published)
        }),
        (Column::number("measured", "measured"), &|row| {
            Cell::printed(row.value.value, |value| number::significant(value, 7))
        }),
        (Column::words("figure"), &|row| Cell::words(&*row.value.name)),
        (Column::words("unit"), &|row| Cell::words(&*row.value.unit)),
        (Column::number("repeat", "repeat"), &|row| {
            row.repeat.map_or_else(Cell::missing, |repeat| Cell::count(u64::from(repeat)))
        }),
        (Column::words("quirks"), &|row| Cell::words(row.quirks())),
        (Column::words("source"), &|row| Cell::words(row.source())),
        (Column::words("dbms"), &|row| Cell::words(row.arm.label())),
    ];
    let mut blocks = Vec::new();
    for step in comparison.steps(which) {
        let mut rows = Vec::new();
        for arm in comparison.arms.iter().filter(|arm| std::ptr::eq(arm.run, run)) {
            for window in arm.all_windows(&step.name) {
                let of_window = values.get(&window.action.seq).into_iter().flatten();
                rows.extend(of_window.filter_map(|value| row(arm, window, value, &sources)));
            }
        }
        let title = format!("{}: as published and as measured", step.name);
        let table = Table::of_figures("published", title, &figures, 1, rows).about("test", &step.name);
        blocks.extend(table.block());
    }
    Ok(blocks)
}

fn row<'a>(
    arm: &'a ComparedArm<'a>,
    window: &Recorded<Window>,
    value: &'a ImportedValue,
    sources: &'a [Source],
) -> Option<Row<'a>> {
    Some(Row {
        arm,

        repeat: window.placement.map(|placement| placement.block),
        value,
        published: value.published.as_deref()?,
        source: sources.get(value.source),
    })
}
