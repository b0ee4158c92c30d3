//! Rate and cost of each test across versions, and the version in which a change arrived.

use maud::{Markup, html};
use rqps_charts::{RatioPoint, VersionChart, VersionLine};
use rqps_stats::Detector;
use rqps_verdicts::VersionRow;

use super::ratios::point_of;
use super::{CHART_WIDTH, Page, captions, versions_figure};
use crate::comparison::TestStep;
use crate::error::Result;
use crate::render::html as blocks;
use crate::section::Section;
use crate::verdict_lines::Judged;

/// Maximum lines of a chart: more cannot be distinguished.
const LINES_MAX: usize = 8;

/// The section; None if there is no series of at least three versions.
pub(super) fn section(page: &Page<'_>) -> Result<Option<Markup>> {
    let Some(judged) = &page.judged else {
        return Ok(None);
    };
    let rows = judged.versions()?;
    if rows.is_empty() {
        return Ok(None);
    }
    let arrivals = page.blocks(&[Section::Arrivals])?;
    Ok(Some(html! {
        section #versions {
            h2 { "Across versions" }
            (blocks::blocks(&arrivals, 3))
            p.legend {
                "Relative to " strong { (page.comparison.base.arm.name) } "."
                @if judged.has_intervals() {
                    " " (captions::whiskers(""))
                }
            }
            @for (number, row) in rows.iter().enumerate() {
                div.charts {
                    @for charted in charts(page, judged, row, number) { (versions_figure(&charted.chart)) }
                }
            }
        }
    }))
}

/// The charts of all series of versions, to stand alone.
pub(super) fn all(page: &Page<'_>) -> Result<Vec<VersionChart>> {
    let Some(judged) = &page.judged else {
        return Ok(Vec::new());
    };
    let rows = judged.versions()?.iter().enumerate();
    let charted = rows.flat_map(|(number, row)| charts(page, judged, row, number));
    let alone = |Charted { detector, steps, chart }| {
        let captions = captions::of_run(page, detector, steps);
        VersionChart { captions, width: rqps_charts::WIDTH_DEFAULT, ..chart }
    };
    Ok(charted.map(alone).collect())
}

/// A chart, and what it is of.
struct Charted<'p> {
    detector: Detector,
    steps: &'p [TestStep],
    chart: VersionChart,
}

/// A chart per group for the rate and one for the cost, split if it has many tests; without those that have nothing but
/// base.
fn charts<'p>(page: &'p Page<'_>, judged: &Judged<'_>, row: &VersionRow, number: usize) -> Vec<Charted<'p>> {
    let versions: Vec<String> =
        row.arms.iter().map(|arm| page.run.arms[*arm].build_version.clone()).collect();
    let mut charts = Vec::new();
    let of_groups = page.steps.chunk_by(|a, b| a.group == b.group);
    let parts = of_groups.flat_map(|of_group| of_group.chunks(LINES_MAX).enumerate());
    for (place, (part, steps)) in parts.enumerate() {
        let more = if part > 0 { format!(", part {}", part + 1) } else { String::new() };
        for detector in page.headlines() {
            let (what, axis) = match detector {
                Detector::Rate => ("Rate".to_owned(), "rate"),
                _ => (format!("Cost per operation ({})", page.cost_metrics(steps)), "cost"),
            };
            let line = |step: &TestStep| {
                let (shown, label) = page.charted(&step.name, detector);
                let point = |arm: &usize| point(judged, (&step.name, shown), *arm);
                VersionLine { label, points: row.arms.iter().map(point).collect() }
            };
            let lines: Vec<VersionLine> = steps.iter().map(line).collect();
            if lines.iter().all(|line| line.points.iter().flatten().count() < 2) {
                continue;
            }
            let chart = VersionChart {
                id: format!("versions-{}-{number}-{place}", detector.key()),
                title: format!("{what} over versions, {}{more}", steps[0].group.title),
                axis: format!("{axis} relative to {}", page.comparison.base.arm.name),
                versions: versions.clone(),
                lines,
                interval: captions::interval(),
                captions: Vec::new(),
                width: CHART_WIDTH,
            };
            charts.push(Charted { detector, steps, chart });
        }
    }
    charts
}

fn point(judged: &Judged<'_>, (test, detector): (&str, Detector), arm: usize) -> Option<RatioPoint> {
    if arm == judged.base {
        return Some(RatioPoint::BASE);
    }
    point_of(judged.verdict_across_arms(test, arm, detector)?)
}
