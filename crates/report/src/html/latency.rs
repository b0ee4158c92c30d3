//! How latencies are distributed on each arm, over all windows that count: the share of statements that took longer.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use maud::{Markup, html};
use rqps_charts::{Curve, LatencyChart, Theme};

use super::{CHART_WIDTH, Page, anchor, figure};
use crate::error::Result;
use crate::histograms;
use crate::sides::TestStep;

/// The whole event, as the store calls it: the one statement, or the transaction.
const EVENT: &str = "event";
/// Points of a curve for each factor of ten in the share: of events, and of each kind of statement.
const POINTS_PER_DECADE: u32 = 10;
const KIND_POINTS_PER_DECADE: u32 = 5;
/// Kinds of statements that are drawn, those that take most of the time; the table has all.
const KINDS_MAX: usize = 4;
/// The smallest share that is drawn: one statement in a hundred thousand.
const DECADES: u32 = 5;
const NS_PER_US: f64 = 1e3;

/// By kind of statement: each arm's latencies in ns.
type ByStatement = BTreeMap<String, BTreeMap<usize, Histogram<u64>>>;

/// The chart of one test's events; none where their latencies were not measured.
pub(super) fn of_events(page: &Page<'_>, step: &TestStep) -> Result<Option<LatencyChart>> {
    let events = read(page, step)?.remove(EVENT);
    Ok(events.map(|events| chart(page, step, "whole event", &events, POINTS_PER_DECADE)))
}

/// The charts of one test: its events, and each kind of statement where it has several.
pub(super) fn charts(page: &Page<'_>, step: &TestStep) -> Result<Markup> {
    let mut all = read(page, step)?;
    let events = all.remove(EVENT);
    let draw = |statement: &str, of_arms: &BTreeMap<usize, Histogram<u64>>, per_decade: u32| {
        let chart = chart(page, step, statement, of_arms, per_decade);
        figure(&chart.title, chart.svg(Theme::Page))
    };
    Ok(html! {
        @match &events {
            Some(events) => {
                (draw("whole event", events, POINTS_PER_DECADE))
                @if all.len() > 1 {
                    details {
                        summary { "By kind of statement" }
                        div.charts { @for (statement, of_arms) in longest(&all) {
                            (draw(statement, of_arms, KIND_POINTS_PER_DECADE))
                        } }
                    }
                }
            }
            None => {
                @for (statement, of_arms) in longest(&all) { (draw(statement, of_arms, POINTS_PER_DECADE)) }
            }
        }
    })
}

/// The kinds of statements that take most of the time.
fn longest(all: &ByStatement) -> Vec<(&String, &BTreeMap<usize, Histogram<u64>>)> {
    let time = |of_arms: &BTreeMap<usize, Histogram<u64>>| -> f64 {
        of_arms.values().map(|histogram| histogram.mean() * histogram.len() as f64).sum()
    };
    let mut kinds: Vec<_> = all.iter().collect();
    kinds.sort_by(|(_, a), (_, b)| time(b).total_cmp(&time(a)));
    kinds.truncate(KINDS_MAX);
    kinds
}

fn read(page: &Page<'_>, step: &TestStep) -> Result<ByStatement> {
    let mut all = ByStatement::new();
    for arm in 0..page.run.arms.len() {
        let windows = page.readings[0].windows(page.name(arm), &step.name);
        for (statement, histogram) in histograms::merged(page.run, windows)? {
            all.entry(statement).or_default().insert(arm, histogram);
        }
    }
    Ok(all)
}

fn chart(
    page: &Page<'_>,
    step: &TestStep,
    statement: &str,
    of_arms: &BTreeMap<usize, Histogram<u64>>,
    per_decade: u32,
) -> LatencyChart {
    let curve = |(arm, histogram): (&usize, &Histogram<u64>)| Curve {
        label: page.name(*arm).to_owned(),
        arm: *arm,
        points: points(histogram, per_decade),
    };
    LatencyChart {
        id: format!("latency-{}-{}", anchor(statement), anchor(&step.name)),
        title: format!("Latency, {statement}"),
        curves: of_arms.iter().map(curve).collect(),
        width: CHART_WIDTH,
    }
}

/// Share of statements that took longer, and how long that is: as far as there are statements to tell.
fn points(histogram: &Histogram<u64>, per_decade: u32) -> Vec<(f64, f64)> {
    let all = histogram.len().max(1) as f64;
    let mut below = 0;
    let recorded: Vec<(u64, u64)> = histogram
        .iter_recorded()
        .map(|value| {
            below += value.count_since_last_iteration();
            (below, value.value_iterated_to())
        })
        .collect();
    let share = |point: u32| 10f64.powf(-f64::from(point) / f64::from(per_decade));
    let value = |share: f64| {
        let rank = (all * (1.0 - share)).ceil() as u64;
        let place = recorded.partition_point(|(below, _)| *below < rank);
        Some((share, recorded.get(place)?.1 as f64 / NS_PER_US))
    };
    let shares = (0..=DECADES * per_decade).map(share).take_while(|share| *share * all >= 1.0);
    shares.filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_goes_as_far_as_its_statements() {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        (1..=1000u64).for_each(|ms| histogram.record(ms * 1_000_000).unwrap());
        let points = points(&histogram, 10);
        assert_eq!(points.len(), 31, "three factors of ten");
        let (share, us) = points[10];
        assert!((share - 0.1).abs() < 1e-9 && (us / 900_000.0 - 1.0).abs() < 0.002, "{share} {us}");
    }
}
