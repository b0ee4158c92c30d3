//! Time series of a test, all arms in one chart: by second if windows are long enough, else by window.

use maud::{Markup, html};
use rqps_charts::{Line, Theme, TimelineChart, thin};
use rqps_model::Series;
use rqps_store::{Recorded, Window};

use super::{CHART_WIDTH, Page, anchor, figure};
use crate::comparison::TestStep;
use crate::error::Result;
use crate::tables::rates::NEW_ORDERS;

/// The store's name, title and unit of the rate's series: for steps that insert rows, for TPROC-C, and for all others.
const INSERTS: (&str, &str, &str) = ("inserts", "Rows inserted per second", "rows/s");
const TRANSACTIONS: (&str, &str, &str) = ("queries", "Transactions per second", "transactions/s");
const QUERIES: (&str, &str, &str) = ("queries", "Queries per second", "queries/s");
/// Windows with fewer seconds are drawn as one point each.
const SECONDS_MIN: usize = 2;
/// Points of all lines in a chart of rates, then the minimum and maximum per line: with few arms, every
/// second of ten minutes.
const POINTS: (usize, usize, usize) = (3600, 200, 600);
/// The same for charts of host metrics.
const HOST_POINTS: (usize, usize, usize) = (600, 60, 150);
/// Further series: rates and longest statements of connections by role, and debts.
const ROLE_SERIES: [(&str, &str, &str); 8] = [
    INSERTS,
    ("deletes", "Rows deleted per second", "rows/s"),
    QUERIES,
    ("insert_max_us", "Longest insert of each second", "us"),
    ("delete_max_us", "Longest delete of each second", "us"),
    ("query_max_us", "Longest query of each second", "us"),
    ("dead_rows", "Dead rows", "rows"),
    ("history_list_length", "History list length", "transactions"),
];
/// Series of the host: name, title.
const HOST_SERIES: [(&str, &str); 5] = [
    ("host_user", "CPUs in user mode"),
    ("host_iowait", "CPUs in iowait"),
    ("disk_read_kb", "Read from disks"),
    ("disk_write_kb", "Written to disks"),
    ("memory_dirty", "Dirty memory"),
];

/// An arm's windows of a test in the order of measurement, with their series.
struct ArmSeries<'a> {
    arm: usize,
    windows: Vec<(&'a Recorded<Window>, Vec<Series>)>,
}

/// The chart of a test's rate; None if it has a single short window.
pub(super) fn rate_chart(page: &Page<'_>, step: &TestStep) -> Result<Option<TimelineChart>> {
    Ok(rate(page, step, &read(page, step)?))
}

/// All time series of a test.
pub(super) fn charts(page: &Page<'_>, step: &TestStep) -> Result<Markup> {
    let arms = read(page, step)?;
    let host_charts: Vec<TimelineChart> = HOST_SERIES
        .iter()
        .filter(|_| has_seconds(&arms))
        .filter_map(|(name, title)| chart_by_second(page, step, &arms, (name, title, ""), HOST_POINTS))
        .collect();
    let role_charts: Vec<TimelineChart> = ROLE_SERIES
        .into_iter()
        .filter(|series| series.0 != rate_series(&arms).0)
        .filter_map(|series| chart_by_second(page, step, &arms, series, POINTS))
        .collect();
    Ok(html! {
        @match rate(page, step, &arms) {
            Some(rate) => { (figure(&rate.title, rate.svg(Theme::Page))) }
            None => p { "A single short window: no time series." },
        }
        @for chart in &role_charts { (figure(&chart.title, chart.svg(Theme::Page))) }
        @if !host_charts.is_empty() {
            details {
                summary { "Host metrics over time" }
                div.charts { @for chart in host_charts { (figure(&chart.title, chart.svg(Theme::Page))) } }
            }
        }
    })
}

/// The series of a step's rate: inserted rows if its unit is not queries and rows were inserted. What TPROC-C counts as
/// queries are whole transactions.
fn rate_series(arms: &[ArmSeries<'_>]) -> (&'static str, &'static str, &'static str) {
    let mut windows = arms.iter().flat_map(|arm_series| &arm_series.windows);
    if windows.clone().any(|(window, _)| window.result.unit.key == NEW_ORDERS) {
        return TRANSACTIONS;
    }
    let inserts = windows.any(|(window, series)| {
        !window.result.unit.is_queries() && series.iter().any(|one| one.name == INSERTS.0)
    });
    if inserts { INSERTS } else { QUERIES }
}

/// Whether every arm has a window that is long enough for a curve: with equal work, those of a slow arm may be alone.
fn has_seconds(arms: &[ArmSeries<'_>]) -> bool {
    let (rate, ..) = rate_series(arms);
    let is_long = |series: &Series| series.name == rate && series.values.len() >= SECONDS_MIN;
    let mut measured = arms.iter().filter(|arm_series| !arm_series.windows.is_empty()).peekable();
    let has_curve =
        |arm_series: &ArmSeries<'_>| arm_series.windows.iter().any(|(_, series)| series.iter().any(is_long));
    measured.peek().is_some() && measured.all(has_curve)
}

fn rate(page: &Page<'_>, step: &TestStep, arms: &[ArmSeries<'_>]) -> Option<TimelineChart> {
    if has_seconds(arms) {
        return chart_by_second(page, step, arms, rate_series(arms), POINTS);
    }
    let chart = chart_by_window(page, step, arms);
    chart.lines.iter().any(|line| line.points.len() > 1).then_some(chart)
}

fn read<'a>(page: &Page<'a>, step: &TestStep) -> Result<Vec<ArmSeries<'a>>> {
    let read_arm = |arm: usize| -> Result<ArmSeries<'a>> {
        let windows = page.readings[0].windows(page.name(arm), &step.name);
        let with_series = windows.map(|window| {
            let mut series = page.run.series(window.action.seq)?;
            // Drops the last second, which is incomplete and would look like a drop.
            let full_seconds = window.result.elapsed_s() as usize;
            series.iter_mut().for_each(|one| one.values.truncate(full_seconds));
            Ok((window, series))
        });
        Ok(ArmSeries { arm, windows: with_series.collect::<Result<Vec<_>>>()? })
    };
    (0..page.run.arms.len()).map(read_arm).collect()
}

fn chart(page: &Page<'_>, step: &TestStep, name: &str, title: &str, unit: &str) -> TimelineChart {
    TimelineChart {
        id: format!("time-{name}-{}", anchor(&step.name)),
        title: title.to_owned(),
        unit: unit.to_owned(),
        lines: page
            .run
            .arms
            .iter()
            .enumerate()
            .map(|(index, arm)| Line { label: arm.name.clone(), arm: index, points: Vec::new() })
            .collect(),
        width: CHART_WIDTH,
        ..TimelineChart::default()
    }
}

/// One line per arm over all windows; a window begins at the same second on every arm. None if all values are
/// zero.
fn chart_by_second(
    page: &Page<'_>,
    step: &TestStep,
    arms: &[ArmSeries<'_>],
    (name, title, unit): (&str, &str, &str),
    (points_of_all, points_min, points_max): (usize, usize, usize),
) -> Option<TimelineChart> {
    let series_of = |arm_series: &ArmSeries<'_>, number: usize| -> Option<Series> {
        arm_series.windows.get(number)?.1.iter().find(|one| one.name == name).cloned()
    };
    let windows = arms.iter().map(|arm_series| arm_series.windows.len()).max().unwrap_or(0);
    let stored_unit = arms.iter().find_map(|arm_series| series_of(arm_series, 0)).map(|one| one.unit)?;
    let mut chart = chart(page, step, name, title, if unit.is_empty() { &stored_unit } else { unit });
    let mut start = 0.0;
    for number in 0..windows {
        let mut longest = 0;
        for arm_series in arms {
            let Some(series) = series_of(arm_series, number) else { continue };
            longest = longest.max(series.values.len());
            let points = &mut chart.lines[arm_series.arm].points;
            if number > 0 {
                points.push((start, f64::NAN));
            }
            let point = |(second, value): (usize, &f64)| (start + second as f64 + 0.5, *value);
            points.extend(series.values.iter().enumerate().map(point));
        }
        start += longest as f64;
        if number + 1 < windows {
            chart.breaks.push(start);
        }
    }
    let points_per_line = (points_of_all / arms.len().max(1)).clamp(points_min, points_max);
    for line in &mut chart.lines {
        line.points = thin(&line.points, points_per_line);
    }
    chart.lines.retain(|line| !line.points.is_empty());
    let has_values = chart.lines.iter().flat_map(|line| &line.points).any(|(_, value)| *value > 0.0);
    has_values.then_some(chart)
}

/// One point per window, in the order of blocks.
fn chart_by_window(page: &Page<'_>, step: &TestStep, arms: &[ArmSeries<'_>]) -> TimelineChart {
    let mut chart = chart(page, step, "windows", "Rate, window by window", "operations/s");
    chart.x_title = Some("windows, in the order of blocks".to_owned());
    for arm_series in arms {
        let rates = arm_series
            .windows
            .iter()
            .enumerate()
            .filter_map(|(number, (window, _))| Some((number as f64 + 1.0, window.result.rate()?)));
        chart.lines[arm_series.arm].points = rates.collect();
    }
    let longest = arms.iter().max_by_key(|arm_series| arm_series.windows.len());
    let blocks: Vec<Option<u32>> = longest
        .map(|arm_series| {
            arm_series.windows.iter().map(|(window, _)| window.placement.map(|at| at.block)).collect()
        })
        .unwrap_or_default();
    let changes = blocks.windows(2).enumerate().filter(|(_, pair)| pair[0] != pair[1]);
    chart.breaks = changes.map(|(number, _)| number as f64 + 1.5).collect();
    chart.lines.retain(|line| !line.points.is_empty());
    chart
}
