//! Response times of statements by size: percent of each kind's statements in each bucket, and the longest.
//!
//! | column | means |
//! | --- | --- |
//! | `256us` … `16s` | percent of responses up to that time and above the one before; `nonzero` where that is less than the decimals show, empty where there was none |
//! | `more` | of those above 16 s |
//! | `max s` | the longest, seconds; coloured by range among the systems: the longest quarter red, the shortest green |
//! | `of` | the kind: inserts and deletes are statements of several rows, `query` is all queries |
//! | `dbms` | the system |

use hdrhistogram::Histogram;

use super::marked;
use super::ranges::{Ranked, tints_of_maxima};
use crate::document::{Block, Cell, Column, Table};
use crate::error::Result;
use crate::histograms::{self, ByStatement};
use crate::sides::{Sides, StepKind, TestStep};

/// Upper ends of buckets: column, key, ns.
const BUCKETS: [(&str, &str, u64); 9] = [
    ("256us", "to_256us", 256_000),
    ("1ms", "to_1ms", 1_000_000),
    ("4ms", "to_4ms", 4_000_000),
    ("16ms", "to_16ms", 16_000_000),
    ("64ms", "to_64ms", 64_000_000),
    ("256ms", "to_256ms", 256_000_000),
    ("1s", "to_1s", 1_000_000_000),
    ("4s", "to_4s", 4_000_000_000),
    ("16s", "to_16s", 16_000_000_000),
];
/// The kinds of responses, in the order of the rows.
const KINDS: [&str; 3] = ["insert", "delete", "query"];
/// The store's name for whole events, which are statements here and in the kinds already.
const EVENT: &str = "event";
/// Shades are of so many percent each.
const SHADE_PERCENT: f64 = 5.0;
const NS_PER_S: f64 = 1e9;

/// One table for each step whose latencies were kept.
pub(crate) fn blocks(sides: &Sides<'_>, which: StepKind) -> Result<Vec<Block>> {
    crate::tables::of_each_test(sides, which, of_step)
}

fn of_step(sides: &Sides<'_>, step: &TestStep) -> Result<Option<Table>> {
    let mut columns: Vec<Column> =
        BUCKETS.iter().map(|(name, key, _)| Column::number(*name, format!("{key}_percent"))).collect();
    columns.extend([Column::number("more", "more_percent"), Column::number("max s", "max_s")]);
    columns.extend(["dbms", "of"].map(Column::words));
    let title = format!("Response times, percent: {}", step.name);
    let mut table = Table::new("responses", title, columns, 2).about("step", &step.name);
    let mut of_sides = Vec::new();
    for side in sides.base_first() {
        of_sides.push((side, by_kind(histograms::merged(side.run, side.all_windows(&step.name))?)?));
    }
    for kind in KINDS {
        let mine: Vec<_> =
            of_sides.iter().filter_map(|(side, kinds)| Some((side, kinds.get(kind)?))).collect();
        let maxima: Vec<Ranked> =
            mine.iter().map(|(_, histogram)| Ranked::Value(histogram.max() as f64)).collect();
        for ((side, histogram), tint) in mine.into_iter().zip(tints_of_maxima(&maxima)) {
            let max_s = histogram.max() as f64 / NS_PER_S;
            let max = Cell::number(max_s, format!("{max_s:.3}"));
            let mut cells: Vec<Cell> = shares(histogram).into_iter().map(percent).collect();
            let missed = kind == "query" && side.missed(&step.name);
            cells.push(Cell { tint, ..marked(max, missed) });
            cells.extend([Cell::words(side.reference()), Cell::words(kind)]);
            table.row(cells);
        }
    }
    table.preamble = super::names(sides);
    table.footnotes = super::notes(sides, std::slice::from_ref(step));
    Ok((!table.rows.is_empty()).then_some(table))
}

/// Inserts, deletes, and all kinds of queries as one.
fn by_kind(all: ByStatement) -> Result<ByStatement> {
    let mut kinds = ByStatement::new();
    for (statement, histogram) in all.into_iter().filter(|(statement, _)| statement != EVENT) {
        let kind = KINDS.iter().find(|kind| statement == **kind).unwrap_or(&"query");
        histograms::add(&mut kinds, (*kind).to_owned(), histogram)?;
    }
    Ok(kinds)
}

/// Percent of responses in each bucket; the last has those beyond all.
fn shares(histogram: &Histogram<u64>) -> Vec<f64> {
    let mut counts = [0u64; BUCKETS.len() + 1];
    for value in histogram.iter_recorded() {
        let ns = value.value_iterated_to();
        let bucket = BUCKETS.iter().position(|(.., end)| ns <= *end).unwrap_or(BUCKETS.len());
        counts[bucket] += value.count_at_value();
    }
    let all = histogram.len().max(1) as f64;
    counts.iter().map(|count| 100.0 * *count as f64 / all).collect()
}

fn percent(share: f64) -> Cell {
    let text = match format!("{share:.3}") {
        _ if share == 0.0 => String::new(),
        zero if zero == "0.000" => "nonzero".to_owned(),
        text => text,
    };
    Cell { shade: (share / SHADE_PERCENT) as u8, ..Cell::number(share, text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_response_is_in_one_bucket() {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        histogram.record_n(200_000, 899_999).unwrap();
        histogram.record_n(900_000, 100_000).unwrap();
        histogram.record(20_000_000_000).unwrap();
        let shares = shares(&histogram);
        let texts: Vec<String> = shares.iter().map(|share| percent(*share).text).collect();
        assert_eq!(texts, ["90.000", "10.000", "", "", "", "", "", "", "", "nonzero"]);
        assert!((shares.iter().sum::<f64>() - 100.0).abs() < 1e-9);
        assert_eq!(percent(shares[0]).shade, 17, "darker with each 5 %");
    }
}
