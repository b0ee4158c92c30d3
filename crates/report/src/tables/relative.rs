//! rQPS, the relative rate: the rate of a variant divided by the rate of the base, same test.
//!
//! | column | means |
//! | --- | --- |
//! | `col-N` | rQPS of the variant that the line `col-N : …` names; 1.00 is equal, below is slower. Red at 0.95 and below, green at 1.05 and above, as printed |
//! | `test` | the test; alphabetical in its group |
//!
//! Below each group: `median`, `min` and `max` of the column over the tests of the group that have a value.

use crate::background::MARK;
use crate::document::{Cell, Column, Row, RowKind, Table, Tint};
use crate::number;
use crate::sides::{Side, Sides, StepKind, TestStep, numbered};
use crate::tables::footnotes;

/// One ratio column: a variant and what it is relative to.
pub(crate) struct Pair<'a> {
    pub base: Side<'a>,
    pub side: Side<'a>,
}

impl Pair<'_> {
    /// Whether one of the two did not keep its rate of background writes, so that they did not do the same.
    pub fn missed(&self, step: &TestStep) -> bool {
        self.base.missed(&step.name) || self.side.missed(&step.name)
    }
}

/// The table of all arms relative to the base.
pub(crate) fn table(sides: &Sides<'_>, which: StepKind) -> Table {
    let others: Vec<Side<'_>> = sides.others().copied().collect();
    let pairs: Vec<Pair<'_>> = others.iter().map(|side| Pair { base: sides.base, side: *side }).collect();
    let columns = numbered(&others);
    let (id, title) = match which {
        StepKind::Tests => ("rqps", "Relative QPS"),
        StepKind::Pre => ("rqps_pre", "Relative QPS before any write (.pre)"),
    };
    let mut table = ratios(sides, id, title, &pairs, columns, &sides.steps(which));
    table.preamble.push(format!("Relative to: {}", sides.base.label()));
    table
}

/// A table of ratios with one column for each pair.
pub(crate) fn ratios(
    sides: &Sides<'_>,
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
        // What is not ranked is in no statistic either.
        let ranked =
            |pair: &Pair<'_>, step: &TestStep| ratio(pair, &step.name).filter(|_| !pair.missed(step));
        let ratios: Vec<Vec<Option<f64>>> =
            of_group.iter().map(|step| pairs.iter().map(|pair| ranked(pair, step)).collect()).collect();
        for step in of_group {
            let cells =
                pairs.iter().map(|pair| cell_of(pair, step)).chain([Cell::words(&*step.name)]).collect();
            table.row_in(&group, cells);
        }
        if of_group.len() > 1 {
            table.rows.extend(summary(&group, pairs.len(), &ratios));
        }
    }
    table.footnotes = footnotes::of_steps(sides, steps);
    table.footnotes.extend(footnotes::of_background(sides, steps));
    table.footnotes.extend(footnotes::of_rates(sides, steps));
    table.footnotes.extend(footnotes::of_options(sides));
    table
}

/// Rate of the pair's side relative to its base; none when either is missing or the base's rate is zero.
pub(crate) fn ratio(pair: &Pair<'_>, step: &str) -> Option<f64> {
    number::ratio(pair.side.rate(step), pair.base.rate(step))
}

/// The ratio of a step, marked if it is not ranked.
pub(crate) fn cell_of(pair: &Pair<'_>, step: &TestStep) -> Cell {
    match ratio(pair, &step.name) {
        Some(ratio) if pair.missed(step) => {
            Cell { tint: Tint::Unranked, ..Cell::number(ratio, format!("{MARK}{ratio:.2}")) }
        }
        ratio => cell(ratio),
    }
}

fn cell(ratio: Option<f64>) -> Cell {
    let tint = match ratio.map(number::side_of_band) {
        Some(-1) => Tint::Red,
        Some(1) => Tint::Green,
        _ => Tint::None,
    };
    Cell { tint, ..Cell::fixed(ratio, 2) }
}

/// A statistic over the values of a column; none when it has none.
type Statistic = fn(&[f64]) -> Option<f64>;

const STATISTICS: [(&str, Statistic); 3] =
    [("median", number::median), ("min", number::min), ("max", number::max)];

/// The rows `median`, `min` and `max` of a group, each column over the tests that have a value.
fn summary(group: &str, columns: usize, ratios: &[Vec<Option<f64>>]) -> Vec<Row> {
    let of_column = |column: usize| -> Vec<f64> { ratios.iter().filter_map(|row| row[column]).collect() };
    STATISTICS
        .iter()
        .map(|(name, statistic)| {
            let cells = (0..columns).map(|column| cell(statistic(&of_column(column))));
            let cells = cells.chain([Cell::words(format!("({name})"))]).collect();
            Row { group: Some(group.to_owned()), kind: RowKind::Summary, cells }
        })
        .collect()
}
