//! Distribution of response times by kind of statement: percent in each bucket, and the maximum.
//!
//! | column | means |
//! | --- | --- |
//! | `256us` … `16s` | percent of responses up to that time and above the previous one; `nonzero` if it rounds to 0, empty if there was none |
//! | `more` | percent above 16 s |
//! | `max s` | maximum, seconds; coloured by range among the systems: the longest quarter red, the shortest green |
//! | `of` | kind of statement: inserts and deletes have several rows each, `query` is all queries |
//! | `dbms` | the system |

use hdrhistogram::Histogram;

use super::marked;
use super::ranges::{Ranked, tints_of_maxima};
use crate::comparison::{Comparison, StepKind, TestStep};
use crate::document::{Block, Cell, Column, Table};
use crate::error::Result;
use crate::histograms::{self, ByStatement};

/// Buckets: column, key, upper bound in ns.
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
/// Kinds of statements, in the order of the rows.
const KINDS: [&str; 3] = ["insert", "delete", "query"];
/// The store's name for whole events; here each event is one statement, which its kind includes already.
const EVENT: &str = "event";
/// Percent per level of shade.
const SHADE_PERCENT: f64 = 5.0;
const NS_PER_S: f64 = 1e9;

/// One table per step with stored latencies.
pub(crate) fn blocks(comparison: &Comparison<'_>, which: StepKind) -> Result<Vec<Block>> {
    crate::tables::for_each_test(comparison, which, table)
}

fn table(comparison: &Comparison<'_>, step: &TestStep) -> Result<Option<Table>> {
    let mut columns: Vec<Column> =
        BUCKETS.iter().map(|(name, key, _)| Column::number(*name, format!("{key}_percent"))).collect();
    columns.extend([Column::number("more", "more_percent"), Column::number("max s", "max_s")]);
    columns.extend(["dbms", "of"].map(Column::words));
    let title = format!("Response times, percent: {}", step.name);
    let mut table = Table::new("responses", title, columns, 2).about("step", &step.name);
    let mut by_arm = Vec::new();
    for arm in comparison.base_first() {
        by_arm.push((arm, by_kind(histograms::merged(arm.run, arm.all_windows(&step.name))?)?));
    }
    for kind in KINDS {
        let histograms: Vec<_> =
            by_arm.iter().filter_map(|(arm, kinds)| Some((arm, kinds.get(kind)?))).collect();
        let maxima: Vec<Ranked> =
            histograms.iter().map(|(_, histogram)| Ranked::Value(histogram.max() as f64)).collect();
        for ((arm, histogram), tint) in histograms.into_iter().zip(tints_of_maxima(&maxima)) {
            let max_s = histogram.max() as f64 / NS_PER_S;
            let max = Cell::number(max_s, format!("{max_s:.3}"));
            let mut cells: Vec<Cell> = shares(histogram).into_iter().map(percent).collect();
            let missed = kind == "query" && arm.missed(&step.name);
            cells.push(Cell { tint, ..marked(max, missed) });
            cells.extend([Cell::words(arm.reference()), Cell::words(kind)]);
            table.row(cells);
        }
    }
    table.preamble = super::names(comparison);
    table.footnotes = super::notes(comparison, std::slice::from_ref(step));
    Ok((!table.rows.is_empty()).then_some(table))
}

/// Merges all kinds of queries.
fn by_kind(all: ByStatement) -> Result<ByStatement> {
    let mut kinds = ByStatement::new();
    for (statement, histogram) in all.into_iter().filter(|(statement, _)| statement != EVENT) {
        let kind = KINDS.iter().find(|kind| statement == **kind).unwrap_or(&"query");
        histograms::add(&mut kinds, (*kind).to_owned(), histogram)?;
    }
    Ok(kinds)
}

/// Percent of responses in each bucket; the last has those above all bounds.
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
    fn each_response_is_in_exactly_one_bucket() {
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
