//! Two runs of the same arms side by side: what either says of a test, and how far they are apart. Their blocks are
//! never paired.
//!
//! | column | means |
//! | --- | --- |
//! | `A`, `B` | the arm's rate (or cost per operation) divided by base's, in either run |
//! | `B/A`, `from`, `to` | the one divided by the other, and its interval |
//! | `in A`, `in B` | the verdicts |

use rqps_stats::{COMMON_CONFIDENCE, Detector, Verdict};

use crate::comparison::Comparison;
use crate::document::{Block, Cell, Column, Table};
use crate::verdict_lines::Judged;
use crate::words;

/// A table for the rate and one for the cost of each arm that both runs have; empty if the runs have different bases.
pub(crate) fn blocks(comparison: &Comparison<'_>, one: &Judged<'_>, other: &Judged<'_>) -> Vec<Block> {
    let [base, other_base] = [one, other].map(|judged| &judged.run.arms[judged.base]);
    // Contents of one config that differ were refused, or are warned of.
    let is_other_config =
        base.config_hash != other_base.config_hash && base.config_name != other_base.config_name;
    if base.build_hash != other_base.build_hash || is_other_config {
        return Vec::new();
    }
    let tables = pairs(one, other).into_iter().flat_map(|arms| {
        let of = |detector| table(comparison, (one, other), arms, detector);
        [of(Detector::Rate), of(Detector::Cost)]
    });
    tables.flatten().map(Block::Table).collect()
}

/// Arms of one name; if each run has only one, these two.
fn pairs(one: &Judged<'_>, other: &Judged<'_>) -> Vec<(usize, usize)> {
    let (arms, others): (Vec<usize>, Vec<usize>) = (one.measured().collect(), other.measured().collect());
    if let ([arm], [same]) = (arms.as_slice(), others.as_slice()) {
        return vec![(*arm, *same)];
    }
    let name = |judged: &Judged<'_>, arm: usize| judged.run.arms[arm].name.clone();
    let same = |arm: usize| {
        others.iter().find(|same| name(other, **same) == name(one, arm)).map(|same| (arm, *same))
    };
    arms.iter().filter_map(|arm| same(*arm)).collect()
}

fn table(
    comparison: &Comparison<'_>,
    (one, other): (&Judged<'_>, &Judged<'_>),
    (arm, same): (usize, usize),
    detector: Detector,
) -> Option<Table> {
    let columns = vec![
        Column::number("A", "ratio_a"),
        Column::number("B", "ratio_b"),
        Column::number("B/A", "b_over_a"),
        Column::number("from", "low"),
        Column::number("to", "high"),
        Column::keyed_words("in A", "verdict_a").optional(1),
        Column::keyed_words("in B", "verdict_b").optional(1),
        Column::words("test"),
    ];
    let what = if detector == Detector::Rate { "Rate" } else { "Cost per operation" };
    let name = &one.run.arms[arm].name;
    let mut table = Table::new("two_runs", format!("{what} of {name} in both runs"), columns, 1);
    let place = |letter: &str, judged: &Judged<'_>, arm: usize| {
        let [arm, base] = [arm, judged.base].map(|arm| judged.run.arms[arm].variant());
        format!("{letter} : {}, {arm} relative to {base}", judged.run.folder.name())
    };
    table.preamble = vec![place("A", one, arm), place("B", other, same)];
    let shows = |test: &str| comparison.shows(test);
    let (lines, others) = (one.lines(arm, shows), other.lines(same, shows));
    for line in &lines {
        let of_other = others.iter().find(|other| other.test == line.test);
        let both = line.of(detector).zip(of_other.and_then(|other| other.of(detector)));
        if let Some((a, b)) = both.filter(|(a, b)| a.metric == b.metric) {
            table.row_in(&line.group.title, cells(a, b, line.test));
        }
    }
    let mut alone: Vec<&str> = lines.iter().chain(&others).map(|line| line.test).collect();
    alone.retain(|test| {
        !lines.iter().any(|line| line.test == *test) || !others.iter().any(|line| line.test == *test)
    });
    if !alone.is_empty() {
        table.footnotes.push(format!("only in one of the runs: {}", alone.join(", ")));
    }
    table.footnotes.push(format!(
        "A, B: means of the ratios of a run's blocks. from, to: confidence interval of B/A, {}, from the blocks of both \
         runs; without 1 in it the runs differ, which the time between them may have caused, too",
        words::level(COMMON_CONFIDENCE)
    ));
    (!table.rows.is_empty()).then_some(table)
}

fn cells(a: &Verdict, b: &Verdict, test: &str) -> Vec<Cell> {
    let decimals = if a.detector == Detector::Rate { 3 } else { 4 };
    let of_run = |one: &Verdict| {
        let [ratio, ..] = Cell::estimate((one.ratio, one.low, one.high), decimals);
        ratio
    };
    let (ratio, low, high) = quotient(a, b);
    let [ratio, low, high] = Cell::estimate((ratio, low, high), decimals);
    let [in_a, in_b] = [a, b].map(words::verdict_cell);
    vec![of_run(a), of_run(b), ratio, low, high, in_a, in_b, Cell::words(test)]
}

/// `b` over `a` with its interval: errors of runs are independent, so their squares add up.
fn quotient(a: &Verdict, b: &Verdict) -> (f64, f64, f64) {
    let half_width = |one: &Verdict| (one.common.1 / one.common.0).ln() / 2.0;
    let (ratio, half) = (b.ratio / a.ratio, half_width(a).hypot(half_width(b)));
    (ratio, ratio * (-half).exp(), ratio * half.exp())
}
