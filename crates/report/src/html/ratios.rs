//! The ratios of each group as a plot: rate and cost of every candidate around 1.0, with intervals and the
//! range of base against itself.

use maud::{Markup, html};
use rqps_charts::{Mark as ChartMark, RatioChart, RatioPoint, RatioRow, Theme};
use rqps_stats::{Detector, Verdict};

use super::marks::{Mark, decimals_max};
use super::{Page, WIDTH_NARROW, captions, drawn_twice};
use crate::comparison::TestStep;
use crate::verdict_lines::Judged;
use crate::words;

/// Width of a chart on half a page.
const WIDTH: f64 = 580.0;

pub(super) fn section(page: &Page<'_>) -> Markup {
    let detectors = page.detectors();
    html! {
        section #ratios {
            h2 { "Ratios by group" }
            @if page.candidates().is_empty() { p { "There is only one arm: nothing to compare it with." } }
            @else {
                p.legend {
                    "Logarithmic; at 1.0 the variant equals " strong { (page.comparison.base.arm.name) } ". "
                    @if let Some(judged) = &page.judged {
                        @if judged.has_intervals() {
                            (captions::whiskers("")) " "
                        }
                        @if page.has_control() {
                            "The band covers the largest deviation in the group when base is measured against itself (A/A)."
                        }
                    } @else { "A single pass has no intervals." }
                }
                @for of_group in page.steps.chunk_by(|a, b| a.group == b.group) {
                    h3 { (of_group[0].group.title) }
                    div.charts {
                        @for detector in &detectors {
                            @let chart = chart(page, *detector, of_group);
                            @if has_points(&chart) { (wide_and_narrow(chart)) }
                        }
                    }
                }
            }
        }
    }
}

/// The chart for a wide page and for a phone, where the wide one would be too small to read.
pub(super) fn wide_and_narrow(chart: RatioChart) -> Markup {
    let narrow = RatioChart { id: format!("{}-narrow", chart.id), width: WIDTH_NARROW, ..chart.clone() };
    drawn_twice(&chart.title, chart.svg(Theme::Page), narrow.svg(Theme::Page))
}

/// The charts of all groups that have points, to stand alone.
pub(super) fn all(page: &Page<'_>) -> Vec<RatioChart> {
    let groups = page.steps.chunk_by(|a, b| a.group == b.group);
    let alone = |detector, steps| {
        let captions = captions::of_run(page, detector, steps);
        RatioChart { captions, width: rqps_charts::WIDTH_DEFAULT, ..chart(page, detector, steps) }
    };
    let charts =
        groups.flat_map(|steps| page.detectors().into_iter().map(move |detector| alone(detector, steps)));
    charts.filter(has_points).collect()
}

fn has_points(chart: &RatioChart) -> bool {
    chart.rows.iter().any(|row| row.points.iter().any(Option::is_some))
}

fn chart(page: &Page<'_>, detector: Detector, steps: &[TestStep]) -> RatioChart {
    let arms = page.candidates();
    let (what, axis) = match detector {
        Detector::Rate => ("Rate".to_owned(), "rate relative to base (left = slower)"),
        Detector::Cost => {
            let metrics = page.cost_metrics(steps);
            (format!("Cost per operation ({metrics})"), "cost relative to base (right = more expensive)")
        }
        Detector::Stalls => {
            ("Time in stalls".to_owned(), "time with stalls relative to base (right = more stalls)")
        }
        _ => (format!("{} per operation", words::subject(detector)), "relative to base (right = more)"),
    };
    let row = |step: &TestStep| {
        let (shown, label) = page.charted(&step.name, detector);
        let points = arms.iter().map(|arm| point(page, *arm, step, shown)).collect();
        RatioRow { label, href: Some(page.href(&step.name)), points }
    };
    let group = &steps[0].group;
    RatioChart {
        id: format!("ratio-{}-{}", detector.key(), group.key),
        title: format!("{what}, {}", group.title),
        axis: axis.to_owned(),
        arms: arms.iter().map(|arm| page.name(*arm).to_owned()).collect(),
        arm_numbers: arms.clone(),
        rows: steps.iter().map(row).collect(),
        band: page.judged.as_ref().and_then(|judged| band(judged, detector, steps)),
        lower_is_better: detector != Detector::Rate,
        interval: captions::interval(),
        captions: Vec::new(),
        width: WIDTH,
    }
}

/// An arm's ratio in a test, as a point.
pub(super) fn point(page: &Page<'_>, arm: usize, step: &TestStep, detector: Detector) -> Option<RatioPoint> {
    match &page.judged {
        Some(judged) => point_of(judged.verdict_across_arms(&step.name, arm, detector)?),
        None => {
            let ratio = page.pair(arm).ranked_ratio(&step.name)?;
            Some(RatioPoint { ratio, mark: ChartMark::Unjudged, ..RatioPoint::BASE })
        }
    }
}

/// The point of a verdict; None if a logarithmic axis cannot show its ratio.
pub(super) fn point_of(verdict: &Verdict) -> Option<RatioPoint> {
    let mark = Mark::from(verdict).in_charts();
    let is_drawable = verdict.ratio.is_finite() && verdict.ratio > 0.0;
    let Verdict { ratio, low, high, common: whisker, .. } = *verdict;
    let decimals_max = decimals_max(verdict.detector);
    is_drawable.then_some(RatioPoint { ratio, low, high, whisker, mark, decimals_max })
}

/// The largest deviation of the A/A control from 1 in these tests, in both directions.
fn band(judged: &Judged<'_>, detector: Detector, steps: &[TestStep]) -> Option<(f64, f64)> {
    let control = judged.verdicts.experiment.control?;
    let deviation = steps
        .iter()
        .filter_map(|step| judged.verdicts.verdict(&step.name, control, detector))
        .map(|verdict| verdict.ratio.ln().abs())
        .filter(|deviation| deviation.is_finite())
        .fold(0.0, f64::max);
    (deviation > 0.0).then(|| ((-deviation).exp(), deviation.exp()))
}
