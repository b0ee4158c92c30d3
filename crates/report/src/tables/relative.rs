//! Relative rates (rQPS): the rate of a variant divided by the base's in the same test.
//!
//! | column | means |
//! | --- | --- |
//! | `col-N` | rQPS of the variant that the line `col-N : …` names; 1.00 is equal, below is slower. Red at 0.95 and below, green at 1.05 and above, as rounded to two decimals. As many digits as the verdict's interval supports, or two without one |
//! | `test` | the test; alphabetical within its group |
//!
//! Below each group of three tests or more: `median`, `min` and `max` of the column over its tests with a value.

use rqps_model::Digits;
use std::cmp::Ordering;

use crate::background::MARK;
use crate::comparison::{ComparedArm, Comparison, Pair, StepKind, TestStep, numbered};
use crate::document::{Cell, Column, Row, RowKind, Table, Tint};
use crate::number;
use crate::tables::footnotes;
use crate::tables::verdicts::RATE_DECIMALS_MAX;
use crate::verdict_lines::Judged;

/// The table of all arms relative to the base.
pub(crate) fn table(comparison: &Comparison<'_>, which: StepKind) -> Table {
    let others: Vec<ComparedArm<'_>> = comparison.others().copied().collect();
    let pairs: Vec<Pair<'_>> = comparison.pairs().collect();
    let columns = numbered(&others);
    let (id, title) = match which {
        StepKind::Tests => ("rqps", "Relative QPS"),
        StepKind::Pre => ("rqps_pre", "Relative QPS before any write (.pre)"),
    };
    let mut table = ratios(comparison, id, title, &pairs, columns, &comparison.steps(which));
    table.preamble.push(format!("Relative to: {}", comparison.base.label()));
    table
}

/// A table of ratios with one column per pair.
pub(crate) fn ratios(
    comparison: &Comparison<'_>,
    id: &'static str,
    title: &str,
    pairs: &[Pair<'_>],
    mut columns: Vec<Column>,
    steps: &[TestStep],
) -> Table {
    columns.push(Column::words("test"));
    let mut table = Table::new(id, title, columns, 1);
    for of_group in steps.chunk_by(|a, b| a.group == b.group) {
        let group = of_group[0].group.title.to_string();
        let mut columns: Vec<Vec<Cell>> = vec![Vec::new(); pairs.len()];
        for step in of_group {
            let mut cells: Vec<Cell> = pairs.iter().map(|pair| cell_of(comparison, pair, step)).collect();
            for ((column, pair), cell) in columns.iter_mut().zip(pairs).zip(&cells) {
                column.extend(pair.ranked_ratio(&step.name).map(|_| cell.clone()));
            }
            cells.push(Cell::words(&*step.name));
            table.row_in(&group, cells);
        }
        if of_group.len() >= SUMMARIZED_MIN {
            table.rows.extend(summary(&group, &columns));
        }
    }
    table.footnotes = footnotes::of_rate_table(comparison, steps);
    // Of blocks the notes have them.
    if !footnotes::has_blocks(comparison) {
        table.footnotes.extend(footnotes::of_options(comparison));
    }
    table
}

/// The ratio of a step, marked if it is not ranked.
pub(crate) fn cell_of(comparison: &Comparison<'_>, pair: &Pair<'_>, step: &TestStep) -> Cell {
    match pair.ratio(&step.name) {
        Some(ratio) if pair.missed(&step.name) => Cell {
            tint: Tint::Unranked,
            ..Cell::number(ratio, format!("{MARK}{}", number::ratio_alone(ratio)))
        },
        // A figure has the same digits in all tables.
        ratio => match Judged::on_rate(comparison, pair, &step.name) {
            Some(interval) => cell(ratio, |ratio| Digits::of_ratio(interval, RATE_DECIMALS_MAX).text(ratio)),
            None => cell(ratio, number::ratio_alone),
        },
    }
}

fn cell(ratio: Option<f64>, print: impl Fn(f64) -> String) -> Cell {
    let tint = match ratio.map(number::side_of_band) {
        Some(-1) => Tint::Red,
        Some(1) => Tint::Green,
        _ => Tint::None,
    };
    Cell { tint, ..Cell::printed(ratio, print) }
}

/// Fewest tests of a group with a median, a minimum and a maximum: of two they would only repeat their rows.
const SUMMARIZED_MIN: usize = 3;

/// A statistic over values with their texts; None if there are none.
type Statistic = fn(Vec<(f64, String)>) -> Option<(f64, String)>;

const STATISTICS: [(&str, Statistic); 3] = [
    ("median", number::median),
    ("min", |values| values.into_iter().min_by(as_printed)),
    ("max", |values| values.into_iter().max_by(as_printed)),
];

/// By what rows print: a less precise `1.0` is not above a `1.005`.
fn as_printed((a, a_text): &(f64, String), (b, b_text): &(f64, String)) -> Ordering {
    let printed = |value: f64, text: &str| text.parse().unwrap_or(value);
    printed(*a, a_text).total_cmp(&printed(*b, b_text)).then(a.total_cmp(b))
}

/// A statistic over cells with a ranked ratio.
fn of_cells(column: &[Cell], statistic: Statistic) -> Cell {
    let value = statistic(column.iter().filter_map(|cell| Some((cell.value?, cell.text.clone()))).collect());
    let (value, text) = value.unzip();
    cell(value, |_| text.clone().unwrap_or_default())
}

/// The rows `median`, `min` and `max` of a group, from the cells of each column.
fn summary(group: &str, columns: &[Vec<Cell>]) -> Vec<Row> {
    STATISTICS
        .iter()
        .map(|(name, statistic)| {
            let cells = columns.iter().map(|column| of_cells(column, *statistic));
            let cells = cells.chain([Cell::words(format!("({name})"))]).collect();
            Row { group: Some(group.to_owned()), kind: RowKind::Summary, cells }
        })
        .collect()
}
