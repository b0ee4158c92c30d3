//! Figures of an imported run as their author published them, beside what was measured.
//!
//! | column | means |
//! | --- | --- |
//! | `published` | the figure as printed, digit by digit; `-` if it is computed from what was printed |
//! | `measured` | what was measured; `-` if that cannot be told |
//! | `unit` | of both |
//! | `line` | of the file |
//! | `quirks` | what published figures of that file are known to get wrong, where the two differ |
//! | `figure` | its name |
//! | `repeat`, `source`, `dbms` | number of the repeat, the file, and the variant: for readers, the heading of rows |
//! | `test` | the test |

use std::collections::HashMap;
use std::path::Path;

use rqps_store::{ImportedValue, Recorded, Run, Source, Window};

use crate::comparison::{ComparedArm, Comparison, StepKind};
use crate::document::{Block, Cell, Column, Figure, Table, cells};
use crate::error::Result;
use crate::number;

const NONE: &str = "No figures of other programs: no run here was imported.";
/// Digits of a figure that was computed.
const SIGNIFICANT: usize = 7;

struct Row<'a> {
    arm: &'a ComparedArm<'a>,
    repeat: Option<u32>,
    value: &'a ImportedValue,
    source: Option<&'a Source>,
}

impl Row<'_> {
    fn published(&self) -> Cell {
        match &self.value.published {
            Some(text) => Cell { value: text.parse().ok(), ..Cell::words(text) },
            None => Cell::missing(),
        }
    }

    /// With at least as many decimals as the published figure has.
    fn measured(&self) -> Cell {
        let decimals = self.value.published.as_deref().map_or(0, decimals);
        Cell::printed(self.value.value, |value| {
            let text = number::significant(value, SIGNIFICANT);
            if decimals > self::decimals(&text) { format!("{value:.decimals$}") } else { text }
        })
    }

    fn quirks(&self) -> String {
        let quirks = self.source.filter(|_| self.differs()).map(|source| source.quirks.join(", "));
        quirks.filter(|quirks| !quirks.is_empty()).unwrap_or_else(|| "-".to_owned())
    }

    /// Whether the published figure is another one than was measured, rounding apart.
    fn differs(&self) -> bool {
        let Some(text) = &self.value.published else { return false };
        let half = 0.5 * 0.1f64.powi(decimals(text) as i32) * (1.0 + 1e-9);
        let published: Option<f64> = text.parse().ok();
        match (self.value.value, published) {
            (Some(measured), Some(published)) => (measured - published).abs() > half,
            (None, Some(_)) => !self.value.unit.is_empty(),
            _ => false,
        }
    }

    fn source(&self) -> String {
        let path = self.source.map(|source| Path::new(&source.path));
        let name = path.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_default()
    }

    /// `postgres-18.1, repeat 2: ro-2.txt`
    fn group(&self) -> String {
        let repeat = self.repeat.map(|repeat| format!(", repeat {repeat}")).unwrap_or_default();
        format!("{}{repeat}: {}", self.arm.label(), self.source())
    }
}

/// Digits after the point.
fn decimals(text: &str) -> usize {
    text.split_once('.').map_or(0, |(_, decimals)| decimals.len())
}

/// A table for each imported run; a sentence if there is none.
pub(crate) fn blocks(comparison: &Comparison<'_>, which: StepKind) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    for run in comparison.runs() {
        blocks.extend(of_run(comparison, run, which)?);
    }
    let is_imported = comparison.runs().iter().any(|run| run.meta.is_imported());
    if blocks.is_empty() {
        let text = if is_imported { "The imported files have no figures but their rates." } else { NONE };
        blocks.push(Block::Text(text.to_owned()));
    }
    Ok(blocks)
}

fn of_run(comparison: &Comparison<'_>, run: &Run, which: StepKind) -> Result<Vec<Block>> {
    let sources = run.sources()?;
    let mut values: HashMap<u32, Vec<ImportedValue>> = HashMap::new();
    for (seq, value) in run.imported_values()? {
        values.entry(seq).or_default().push(value);
    }
    let figures: [Figure<'_, Row<'_>>; 9] = [
        (Column::number("published", "published"), &Row::published),
        (Column::number("measured", "measured"), &Row::measured),
        (Column::words("unit"), &|row| Cell::words(&*row.value.unit)),
        (Column::number("line", "line"), &|row| Cell::count(u64::from(row.value.line))),
        (Column::words("quirks"), &|row| Cell::words(row.quirks())),
        (Column::number("repeat", "repeat").in_group(), &|row| {
            row.repeat.map_or_else(Cell::missing, |repeat| Cell::count(u64::from(repeat)))
        }),
        (Column::words("source").in_group(), &|row| Cell::words(row.source())),
        (Column::words("dbms").in_group(), &|row| Cell::words(row.arm.label())),
        (Column::words("figure"), &|row| Cell::words(&*row.value.name)),
    ];
    let mut blocks = Vec::new();
    for step in comparison.steps(which) {
        let mut rows = Vec::new();
        for arm in comparison.arms.iter().filter(|arm| std::ptr::eq(arm.run, run)) {
            for window in arm.all_windows(&step.name) {
                let of_window = values.get(&window.action.seq).into_iter().flatten();
                let of_window = of_window.filter(|value| value.value.is_some() || value.published.is_some());
                rows.extend(of_window.map(|value| row(arm, window, value, &sources)));
            }
        }
        let title = format!("{}: as published and as measured", step.name);
        let columns = figures.iter().map(|(column, _)| column.clone()).collect();
        let mut table = Table::new("published", title, columns, 2).about("test", &step.name);
        rows.iter().for_each(|row: &Row<'_>| table.row_in(&row.group(), cells(&figures, row)));
        blocks.extend(table.block());
    }
    Ok(blocks)
}

fn row<'a>(
    arm: &'a ComparedArm<'a>,
    window: &Recorded<Window>,
    value: &'a ImportedValue,
    sources: &'a [Source],
) -> Row<'a> {
    let repeat = window.placement.map(|placement| placement.block);
    Row { arm, repeat, value, source: sources.get(value.source) }
}
