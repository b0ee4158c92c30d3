//! How a test went over time, on all arms in one chart: second by second where windows are long, else window by window.

use maud::{Markup, html};
use rqps_charts::{Line, Theme, TimelineChart, thin};
use rqps_model::Series;
use rqps_store::{Recorded, Window};

use super::{CHART_WIDTH, Page, anchor, figure};
use crate::error::Result;
use crate::sides::TestStep;

/// The series that is the rate, as the store calls it, with its title and unit: of steps whose rate counts rows that
/// they insert, of all others.
const INSERTS: (&str, &str, &str) = ("inserts", "Rows inserted per second", "rows/s");
const QUERIES: (&str, &str, &str) = ("queries", "Queries per second", "queries/s");
/// Seconds that make a curve; with fewer in each window the windows themselves are the points.
const SECONDS_MIN: usize = 2;
/// Points of all lines of the first chart, and how few and many one line gets: with few arms every second of ten
/// minutes.
const POINTS: (usize, usize, usize) = (3600, 200, 600);
/// The same of the other charts.
const MORE_POINTS: (usize, usize, usize) = (600, 60, 150);
/// What else is drawn where it was kept, beside the rate: what connections of each role did, and what waits to be
/// removed.
const OF_ROLES: [(&str, &str, &str); 8] = [
    INSERTS,
    ("deletes", "Rows deleted per second", "rows/s"),
    QUERIES,
    ("insert_max_us", "Longest insert of each second", "us"),
    ("delete_max_us", "Longest delete of each second", "us"),
    ("query_max_us", "Longest query of each second", "us"),
    ("dead_rows", "Dead rows", "rows"),
    ("history_list_length", "History list length", "transactions"),
];
/// What is drawn of the host where it was sampled: series, title.
const MORE: [(&str, &str); 5] = [
    ("host_user", "CPUs in user mode"),
    ("host_iowait", "CPUs in iowait"),
    ("disk_read_kb", "Read from disks"),
    ("disk_write_kb", "Written to disks"),
    ("memory_dirty", "Dirty memory"),
];

/// One arm's windows of a test in the order they were measured, with what was sampled in them.
struct Course<'a> {
    arm: usize,
    windows: Vec<(&'a Recorded<Window>, Vec<Series>)>,
}

/// The chart of one test's rate; none where it has one short window.
pub(super) fn first(page: &Page<'_>, step: &TestStep) -> Result<Option<TimelineChart>> {
    Ok(rate(page, step, &courses(page, step)?))
}

/// The charts of one test.
pub(super) fn charts(page: &Page<'_>, step: &TestStep) -> Result<Markup> {
    let courses = courses(page, step)?;
    let more: Vec<TimelineChart> = MORE
        .iter()
        .filter(|_| by_second(&courses))
        .filter_map(|(name, title)| of_series(page, step, &courses, (name, title, ""), MORE_POINTS))
        .collect();
    let of_roles: Vec<TimelineChart> = OF_ROLES
        .into_iter()
        .filter(|one| *one != rate_of(&courses))
        .filter_map(|one| of_series(page, step, &courses, one, POINTS))
        .collect();
    Ok(html! {
        @match rate(page, step, &courses) {
            Some(rate) => { (figure(&rate.title, rate.svg(Theme::Page))) }
            None => p { "A single short window: no time series." },
        }
        @for chart in &of_roles { (figure(&chart.title, chart.svg(Theme::Page))) }
        @if !more.is_empty() {
            details {
                summary { "Host metrics over time" }
                div.charts { @for chart in more { (figure(&chart.title, chart.svg(Theme::Page))) } }
            }
        }
    })
}

/// The series that is the rate of a step: where it counts no queries and rows came in, those rows.
fn rate_of(courses: &[Course<'_>]) -> (&'static str, &'static str, &'static str) {
    let mut windows = courses.iter().flat_map(|course| &course.windows);
    let inserts = windows.any(|(window, series)| {
        !window.result.unit.is_queries() && series.iter().any(|one| one.name == INSERTS.0)
    });
    if inserts { INSERTS } else { QUERIES }
}

fn by_second(courses: &[Course<'_>]) -> bool {
    let (rate, ..) = rate_of(courses);
    let is_long = |series: &Series| series.name == rate && series.values.len() >= SECONDS_MIN;
    courses.iter().flat_map(|course| &course.windows).any(|(_, series)| series.iter().any(is_long))
}

fn rate(page: &Page<'_>, step: &TestStep, courses: &[Course<'_>]) -> Option<TimelineChart> {
    if by_second(courses) {
        return of_series(page, step, courses, rate_of(courses), POINTS);
    }
    let chart = by_window(page, step, courses);
    chart.lines.iter().any(|line| line.points.len() > 1).then_some(chart)
}

fn courses<'a>(page: &Page<'a>, step: &TestStep) -> Result<Vec<Course<'a>>> {
    let of_arm = |arm: usize| -> Result<Course<'a>> {
        let windows = page.readings[0].windows(page.name(arm), &step.name);
        let with_series = windows.map(|window| {
            let mut series = page.run.series(window.action.seq)?;
            // The last second is cut off where the window ends: its value would look like a fall.
            let whole = window.result.elapsed_s() as usize;
            series.iter_mut().for_each(|one| one.values.truncate(whole));
            Ok((window, series))
        });
        Ok(Course { arm, windows: with_series.collect::<Result<Vec<_>>>()? })
    };
    (0..page.run.arms.len()).map(of_arm).collect()
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
            .map(|(arm, its)| Line { label: its.name.clone(), arm, points: Vec::new() })
            .collect(),
        width: CHART_WIDTH,
        ..TimelineChart::default()
    }
}

/// One line an arm, window after window; a window begins at the same place on every arm. None where nothing happened.
fn of_series(
    page: &Page<'_>,
    step: &TestStep,
    courses: &[Course<'_>],
    (name, title, unit): (&str, &str, &str),
    (all, least, most): (usize, usize, usize),
) -> Option<TimelineChart> {
    let of = |course: &Course<'_>, number: usize| -> Option<Series> {
        course.windows.get(number)?.1.iter().find(|one| one.name == name).cloned()
    };
    let windows = courses.iter().map(|course| course.windows.len()).max().unwrap_or(0);
    let stored = courses.iter().find_map(|course| of(course, 0)).map(|one| one.unit)?;
    let mut chart = chart(page, step, name, title, if unit.is_empty() { &stored } else { unit });
    let mut begins = 0.0;
    for number in 0..windows {
        let mut longest = 0;
        for course in courses {
            let Some(series) = of(course, number) else { continue };
            longest = longest.max(series.values.len());
            let points = &mut chart.lines[course.arm].points;
            if number > 0 {
                points.push((begins, f64::NAN));
            }
            let at = |(second, value): (usize, &f64)| (begins + second as f64 + 0.5, *value);
            points.extend(series.values.iter().enumerate().map(at));
        }
        begins += longest as f64;
        if number + 1 < windows {
            chart.breaks.push(begins);
        }
    }
    let points_max = (all / courses.len().max(1)).clamp(least, most);
    for line in &mut chart.lines {
        line.points = thin(&line.points, points_max);
    }
    chart.lines.retain(|line| !line.points.is_empty());
    let happened = chart.lines.iter().flat_map(|line| &line.points).any(|(_, value)| *value > 0.0);
    happened.then_some(chart)
}

/// One point a window, in the order of blocks.
fn by_window(page: &Page<'_>, step: &TestStep, courses: &[Course<'_>]) -> TimelineChart {
    let mut chart = chart(page, step, "windows", "Rate, window by window", "operations/s");
    chart.x_title = Some("windows, in the order of blocks".to_owned());
    for course in courses {
        let rates = course
            .windows
            .iter()
            .enumerate()
            .filter_map(|(number, (window, _))| Some((number as f64 + 1.0, window.result.rate()?)));
        chart.lines[course.arm].points = rates.collect();
    }
    let longest = courses.iter().max_by_key(|course| course.windows.len());
    let blocks: Vec<Option<u32>> = longest
        .map(|course| course.windows.iter().map(|(window, _)| window.placement.map(|at| at.block)).collect())
        .unwrap_or_default();
    let changes = blocks.windows(2).enumerate().filter(|(_, pair)| pair[0] != pair[1]);
    chart.breaks = changes.map(|(number, _)| number as f64 + 1.5).collect();
    chart.lines.retain(|line| !line.points.is_empty());
    chart
}
