//! Latency distribution on each arm, over all valid windows: the share of statements that took longer.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use maud::{Markup, html};
use rqps_charts::{Curve, LatencyChart, Theme};

use super::{CHART_WIDTH, Page, anchor, figure};
use crate::comparison::TestStep;
use crate::error::Result;
use crate::histograms;

/// The store's name for whole events: one statement, or a transaction.
const EVENT: &str = "event";
/// Points of a curve per decade of the share: for events, and for each kind of statement.
const POINTS_PER_DECADE: u32 = 10;
const KIND_POINTS_PER_DECADE: u32 = 5;
/// Maximum kinds of statements drawn, those with the most total time; the table has all. TPROC-C has six.
const KINDS_MAX: usize = 6;
/// Decades of the share: down to 1 in 100,000 statements, and the slowest one.
const DECADES: u32 = 5;
const NS_PER_US: f64 = 1e3;

/// Latencies in ns by index of the arm.
type ByArm = BTreeMap<usize, Histogram<u64>>;
/// [`ByArm`] by kind of statement.
type ByStatement = BTreeMap<String, ByArm>;

/// The chart of a test's events; None if their latencies were not measured.
pub(super) fn event_chart(page: &Page<'_>, step: &TestStep) -> Result<Option<LatencyChart>> {
    let mut all = read(page, step)?;
    let events = all.remove(EVENT);
    Ok(events.map(|events| chart(page, step, event_name(&events, &all), &events, POINTS_PER_DECADE)))
}

/// What an event is called: by its only part that was timed, such as the sync after a write, if there is one.
fn event_name<'a>(events: &ByArm, all: &'a ByStatement) -> &'a str {
    let part = all.iter().find(|(_, by_arm)| all.len() > 1 && *by_arm == events);
    part.map_or("whole event", |(statement, _)| statement)
}

/// The charts of a test: events, and each kind of statement if there are several.
pub(super) fn charts(page: &Page<'_>, step: &TestStep) -> Result<Markup> {
    let mut all = read(page, step)?;
    let events = all.remove(EVENT);
    let draw = |statement: &str, by_arm: &ByArm, per_decade: u32| {
        let chart = chart(page, step, statement, by_arm, per_decade);
        figure(&chart.title, chart.svg(Theme::Page))
    };
    Ok(html! {
        @match &events {
            Some(events) => {
                (draw(event_name(events, &all), events, POINTS_PER_DECADE))
                @if all.len() > 1 {
                    details {
                        summary { "By kind of statement" }
                        div.charts { @for (statement, by_arm) in longest(&all) {
                            (draw(statement, by_arm, KIND_POINTS_PER_DECADE))
                        } }
                    }
                }
            }
            None => {
                @for (statement, by_arm) in longest(&all) { (draw(statement, by_arm, POINTS_PER_DECADE)) }
            }
        }
    })
}

/// The kinds of statements with the most total time.
fn longest(all: &ByStatement) -> Vec<(&String, &ByArm)> {
    let time = |by_arm: &ByArm| -> f64 {
        by_arm.values().map(|histogram| histogram.mean() * histogram.len() as f64).sum()
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

fn chart(page: &Page<'_>, step: &TestStep, statement: &str, by_arm: &ByArm, per_decade: u32) -> LatencyChart {
    let curve = |(arm, histogram): (&usize, &Histogram<u64>)| Curve {
        label: page.name(*arm).to_owned(),
        arm: *arm,
        points: points(histogram, per_decade),
    };
    LatencyChart {
        id: format!("latency-{}-{}", anchor(statement), anchor(&step.name)),
        title: format!("Latency, {statement}"),
        curves: by_arm.iter().map(curve).collect(),
        captions: Vec::new(),
        width: CHART_WIDTH,
    }
}

/// Share of slower statements, and the latency in microseconds. The last is the maximum, at the share of one statement.
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
        let index = recorded.partition_point(|(below, _)| *below < rank);
        Some((share, recorded.get(index)?.1 as f64 / NS_PER_US))
    };
    let shares = (0..=DECADES * per_decade).map(share).take_while(|share| *share * all > 1.0);
    let slowest = recorded.last().map(|(_, ns)| (1.0 / all, *ns as f64 / NS_PER_US));
    shares.filter_map(value).chain(slowest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_ends_at_the_share_of_one_statement() {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        (1..=1000u64).for_each(|ms| histogram.record(ms * 1_000_000).unwrap());
        let points = points(&histogram, 10);
        assert_eq!(points.len(), 31, "three decades");
        let (share, us) = points[10];
        assert!((share - 0.1).abs() < 1e-9 && (us / 900_000.0 - 1.0).abs() < 0.002, "{share} {us}");
        let (share, us) = points[30];
        assert!((share - 1e-3).abs() < 1e-9 && us >= 1_000_000.0, "the maximum: {share} {us}");
    }
}
