//! The table of an upgrade's tests: rate, cost and latency of each. A terminal has it in fewer columns.

use rqps_stats::{Class, Detector, Verdict};
use rqps_verdicts::{EventLatency, VarianceRow};

use super::Upgrade;
use crate::document::{Cell, Column, Table};
use crate::histograms::{QUANTILES, is_known};
use crate::tables::verdicts::{COST_DECIMALS_MAX, RATE_DECIMALS_MAX, confidences};
use crate::verdict_lines::Line;
use crate::words;

/// Percentiles: headings and keys of the old and the new version, and the heading of both.
const LATENCIES: [([&str; 2], [&str; 2], &str); 3] = [
    (["p50 old", "p50 new"], ["p50_old_us", "p50_us"], "p50 us"),
    (["p95 old", "p95 new"], ["p95_old_us", "p95_us"], "p95 us"),
    (["p99 old", "p99 new"], ["p99_old_us", "p99_us"], "p99 us"),
];
/// The rank of intervals: a narrow terminal has them for longest.
const INTERVALS: u8 = 1;
/// The rank of the percentiles' columns, of which it has the 99th for longest.
const LATENCY_RANKS: [u8; 3] = [3, 4, 2];
/// The rank of absolute rates, which it leaves out first: rQPS tells what differs.
const QPS: u8 = 5;
/// From here on, latencies in a terminal are in thousands.
const THOUSANDS_FROM_US: f64 = 99_999.5;

impl Upgrade<'_, '_> {
    pub(super) fn tests(&self, lines: &[Line<'_>], latencies: &[VarianceRow], base: &str) -> Table {
        let number = Column::number;
        let mut columns = vec![
            Column::words("test"),
            Column::keyed_words("rate", "rate_verdict"),
            number("rQPS", "rqps"),
            number("from", "rqps_low"),
            number("to", "rqps_high"),
            Column::keyed_words("cost", "cost_verdict"),
            number("cost/op", "cost_ratio"),
            number("from", "cost_low"),
            number("to", "cost_high"),
            Column::keyed_words("of", "cost_of"),
            Column::words("likely"),
            number("QPS old", "qps_old"),
            number("QPS new", "qps"),
        ];
        for (names, keys, _) in LATENCIES {
            columns.extend([number(names[0], keys[0]), number(names[1], keys[1])]);
        }
        let mut table = Table::new("upgrade", "Rate, cost and latency in microseconds", columns, 0);
        table.preamble.push(format!("Relative to: {base}"));
        for line in lines {
            let verdict = |one: Option<&Verdict>| one.map_or_else(Cell::missing, words::verdict_cell);
            let mut cells = vec![Cell::words(line.test), verdict(line.rate)];
            cells.extend(ratio(line.rate, RATE_DECIMALS_MAX));
            cells.push(verdict(line.cost));
            cells.extend(ratio(line.cost, COST_DECIMALS_MAX));
            let metric = line.cost.map(|cost| Cell::words(cost.metric.measure().label));
            cells.push(metric.unwrap_or_else(Cell::missing));
            let likely: Vec<String> = line.likely().map(words::change_in_short).collect();
            cells.push(if likely.is_empty() { Cell::missing() } else { Cell::words(likely.join(", ")) });
            cells.extend(self.rates(line.test));
            cells.extend(self.percentiles(latencies, line.test).as_flattened().iter().cloned());
            table.row_in(&line.group.title, cells);
        }
        let from_to = || format!("from, to: confidence interval of the ratio, {}", confidences(lines));
        let has_intervals = lines.iter().flat_map(Line::verdicts).any(|one| one.low.is_finite());
        table.footnotes.extend(has_intervals.then(from_to));
        table.footnotes.push(
            "rQPS: rate / the old version's. cost/op: cost per operation / the old version's, in the metric that `of` \
             names. likely: a change that is not established. QPS: queries per second (thousand rows, transactions). \
             p50, p95, p99: latency of an event over all windows, interruptions included, so that its ratio may differ \
             from rQPS; missing where there are too few events"
                .to_owned(),
        );
        table
    }

    /// All in one list, with a mark in place of each verdict and both versions' percentiles in one column.
    pub(super) fn tests_in_short(&self, lines: &[Line<'_>], latencies: &[VarianceRow], base: &str) -> Table {
        let number = Column::number;
        let mut columns = vec![
            Column::words("test"),
            number("rQPS", "rqps"),
            number("from", "rqps_low").optional(INTERVALS),
            number("to", "rqps_high").optional(INTERVALS),
            number("cost/op", "cost_ratio"),
            number("from", "cost_low").optional(INTERVALS),
            number("to", "cost_high").optional(INTERVALS),
        ];
        let metrics = || lines.iter().filter_map(|line| Some(line.cost?.metric));
        let metric = metrics().next().filter(|first| metrics().all(|one| one == *first));
        if metric.is_none() {
            columns.push(Column::keyed_words("of", "cost_of"));
        }
        columns.push(number("QPS", "qps").optional(QPS));
        for ((_, keys, name), rank) in LATENCIES.into_iter().zip(LATENCY_RANKS) {
            columns.push(number(name, keys[1]).optional(rank));
        }
        let mut table = Table::new("upgrade", format!("Each test relative to {base}"), columns, 0);
        for line in lines {
            let mut cells = vec![Cell::words(line.test)];
            cells.extend(marked(line.rate, RATE_DECIMALS_MAX));
            cells.extend(marked(line.cost, COST_DECIMALS_MAX));
            if metric.is_none() {
                let label = line.cost.map(|cost| Cell::words(cost.metric.measure().label));
                cells.push(label.unwrap_or_else(Cell::missing));
            }
            let of_both = |[old, new]: [String; 2]| match old == new && new == "-" {
                true => Cell::missing(),
                false => Cell::words(format!("{old}→{new}")),
            };
            cells.push(of_both(self.rates(line.test).map(|cell| cell.text)));
            for pair in self.percentiles(latencies, line.test) {
                cells.push(of_both(pair.map(|cell| microseconds(&cell))));
            }
            table.row(cells);
        }
        let metric = metric.map_or("cost in the metric that `of` names", |metric| metric.measure().label);
        table.footnotes.extend([
            "! regression, + improvement, ~ mixed, = same, ? inconclusive; ?! likely worse, ?+ likely better, neither \
             established"
                .to_owned(),
            format!(
                "rQPS: rate / the old version's. cost/op: {metric} per operation / the old version's. QPS: queries per \
                 second (thousand rows, transactions), old→new. p50, p95, p99: latency in microseconds over all \
                 windows, old→new (k: thousands), interruptions included, so that its ratio may differ from rQPS"
            ),
        ]);
        table
    }

    /// The rates of the old and the new version, as verdicts give them.
    fn rates(&self, test: &str) -> [Cell; 2] {
        let arms = self.comparison.base_first();
        let rate = |arm: usize| {
            let compared = arms.iter().find(|one| std::ptr::eq(one.arm, &self.run.arms[arm]))?;
            compared.rate(test)
        };
        [self.base, self.arm].map(|arm| Cell::rate(rate(arm)))
    }

    /// The 50th, 95th and 99th percentile of the old and the new version.
    fn percentiles(&self, latencies: &[VarianceRow], test: &str) -> [[Cell; 2]; 3] {
        let latency = |arm: usize| {
            let row = latencies.iter().find(|row| row.arm == arm && row.test == test);
            row.and_then(|row| row.latency)
        };
        let both = [self.base, self.arm].map(latency);
        std::array::from_fn(|at| {
            let percentile = |of: EventLatency| {
                is_known(QUANTILES[at], of.events).then_some([of.p50_us, of.p95_us, of.p99_us][at])
            };
            both.map(|of| Cell::fixed(of.and_then(percentile), 0))
        })
    }
}

/// A ratio and its interval.
fn ratio(verdict: Option<&Verdict>, decimals_max: usize) -> [Cell; 3] {
    match verdict {
        Some(one) => Cell::estimate((one.ratio, one.low, one.high), decimals_max),
        None => std::array::from_fn(|_| Cell::missing()),
    }
}

/// The same, the ratio with a mark of its verdict.
fn marked(verdict: Option<&Verdict>, decimals_max: usize) -> [Cell; 3] {
    let [mut ratio, low, high] = ratio(verdict, decimals_max);
    if let Some(one) = verdict {
        let is_worse = (one.ratio < 1.0) == (one.detector == Detector::Rate);
        let mark = match one.class {
            _ if one.is_mixed() => "~",
            _ if one.is_likely() => {
                if is_worse {
                    "?!"
                } else {
                    "?+"
                }
            }
            Class::Regression { .. } => "!",
            Class::Improvement { .. } => "+",
            Class::Same => "=",
            Class::Inconclusive => "?",
        };
        ratio = Cell { tint: words::verdict_cell(one).tint, ..Cell::words(format!("{} {mark}", ratio.text)) };
    }
    [ratio, low, high]
}

fn microseconds(cell: &Cell) -> String {
    match cell.value {
        Some(many) if many >= THOUSANDS_FROM_US => format!("{:.0}k", many / 1e3),
        _ => cell.text.clone(),
    }
}
