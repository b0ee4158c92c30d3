//! One figure of all tests, with the arms as series, of the rate and of the cost: the page opens with it, and it can be
//! published without the page.

use maud::{Markup, html};
use rqps_charts::{OverviewChart, OverviewGroup, RatioRow, Theme};
use rqps_model::counted;
use rqps_stats::{Detector, Metric};
use rqps_store::Arm;

use super::{Page, WIDTH_NARROW, captions, drawn_twice, ratios, summary};
use crate::comparison::TestStep;
use crate::families;
use crate::tables::disturbed;
use crate::words;

/// Width on half a page, and of a file.
const WIDTH: f64 = 580.0;
const WIDTH_ALONE: f64 = 860.0;

/// The figures side by side; nothing if no arm has results to compare.
pub(super) fn figures(page: &Page<'_>) -> Markup {
    let drawn = |chart: OverviewChart| {
        let narrow =
            OverviewChart { id: format!("{}-narrow", chart.id), width: WIDTH_NARROW, ..chart.clone() };
        drawn_twice(&chart.title, chart.svg(Theme::Page), narrow.svg(Theme::Page))
    };
    let charts = charts(page, WIDTH);
    html! {
        @if !charts.is_empty() { div.charts.all-tests { @for chart in charts { (drawn(chart)) } } }
    }
}

/// The figures as files; their links would lead nowhere.
pub(super) fn alone(page: &Page<'_>) -> Vec<OverviewChart> {
    let mut charts = charts(page, WIDTH_ALONE);
    let rows = charts.iter_mut().flat_map(|chart| &mut chart.groups).flat_map(|group| &mut group.rows);
    rows.for_each(|row| row.href = None);
    charts
}

/// The charts that have points.
fn charts(page: &Page<'_>, width: f64) -> Vec<OverviewChart> {
    let charts = page.headlines().into_iter().map(|detector| chart(page, detector, width));
    let has_points =
        |group: &OverviewGroup| group.rows.iter().any(|row| row.points.iter().any(Option::is_some));
    charts.filter(|chart| chart.groups.iter().any(has_points)).collect()
}

fn chart(page: &Page<'_>, detector: Detector, width: f64) -> OverviewChart {
    let arms = page.candidates();
    let base = &page.comparison.base.arm.name;
    let (what, axis) = match detector {
        Detector::Cost => {
            let what = format!("cost per operation ({})", page.cost_metrics(&page.steps));
            (format!("Relative {what}"), what)
        }
        _ => ("Relative rate (rQPS)".to_owned(), "rate".to_owned()),
    };
    let row = |step: &TestStep| {
        let (shown, label) = page.charted(&step.name, detector);
        let points = arms.iter().map(|arm| ratios::point(page, *arm, step, shown)).collect();
        RatioRow { label, href: Some(page.href(&step.name)), points }
    };
    let mut captions = captions::of_run(page, detector, &page.steps);
    // Instructions hardly change with what others do.
    let is_of_time =
        detector == Detector::Rate || page.cost_metrics(&page.steps) != Metric::Instructions.measure().label;
    captions.extend(disturbed::in_short(&page.comparison, &page.steps).filter(|_| is_of_time));
    let groups = page.steps.chunk_by(|a, b| a.group == b.group);
    let group = |steps: &[TestStep]| OverviewGroup {
        title: steps[0].group.title.to_string(),
        rows: steps.iter().map(row).collect(),
    };
    OverviewChart {
        id: format!("all-{}", detector.key()),
        title: format!("{what}, {}: {}", counted(page.steps.len(), "test"), summary::title(page)),
        axis: format!("{axis} relative to {base}, log scale"),
        arms: arms.iter().map(|arm| in_legend(page, &page.run.arms[*arm])).collect(),
        arm_numbers: arms.clone(),
        groups: groups.map(group).collect(),
        lower_is_better: detector == Detector::Cost,
        is_judged: page.judged.is_some(),
        interval: captions::interval(),
        captions,
        width,
    }
}

/// The arm's name, with what tells it from base if the name does not have it: its release, or else its build's origin,
/// or else its config.
fn in_legend(page: &Page<'_>, arm: &Arm) -> String {
    let is_other =
        |of: fn(&Arm) -> &String| of(arm) != of(page.comparison.base.arm) && !arm.name.contains(of(arm));
    if is_other(|arm| &arm.build_version) {
        format!("{} ({} {})", arm.name, words::dbms(&arm.dbms), arm.build_version)
    } else if let Some(build) = families::told_apart(arm, &page.run.arms) {
        format!("{} ({build})", arm.name)
    } else if is_other(|arm| &arm.config_name) {
        format!("{} (config {})", arm.name, arm.config_name)
    } else {
        arm.name.clone()
    }
}
