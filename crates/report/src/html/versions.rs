//! The rate of each test across versions, or the cost where nobody judges rates, and the version in which a change
//! arrived.

use maud::{Markup, html};
use rqps_charts::{RatioPoint, VersionChart, VersionLine};
use rqps_stats::Detector;
use rqps_verdicts::VersionRow;

use super::ratios::point_of;
use super::{CHART_WIDTH, Page, versions_figure};
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
            @for (number, row) in rows.iter().enumerate() {
                div.charts {
                    @for chart in charts(page, judged, row, number) {
                        (versions_figure(&chart))
                    }
                }
            }
        }
    }))
}

/// The charts of all series of versions.
pub(super) fn all(page: &Page<'_>) -> Result<Vec<VersionChart>> {
    let Some(judged) = &page.judged else {
        return Ok(Vec::new());
    };
    let rows = judged.versions()?.iter().enumerate();
    Ok(rows.flat_map(|(number, row)| charts(page, judged, row, number)).collect())
}

/// A chart per group, split if it has many tests.
fn charts(page: &Page<'_>, judged: &Judged<'_>, row: &VersionRow, number: usize) -> Vec<VersionChart> {
    let versions: Vec<String> =
        row.arms.iter().map(|arm| page.run.arms[*arm].build_version.clone()).collect();
    let detector = if judged.verdicts.rules.rates { Detector::Rate } else { Detector::Cost };
    let (what, axis) = match detector {
        Detector::Rate => ("Rate".to_owned(), "rate"),
        _ => (format!("Cost per operation ({})", page.cost_metrics()), "cost"),
    };
    let line = |step: &TestStep| {
        let (shown, label) = page.charted(&step.name, detector);
        VersionLine {
            label,
            points: row.arms.iter().map(|arm| point(judged, (&step.name, shown), *arm)).collect(),
        }
    };
    let mut charts = Vec::new();
    for of_group in page.steps.chunk_by(|a, b| a.group == b.group) {
        for (part, steps) in of_group.chunks(LINES_MAX).enumerate() {
            let more = if part > 0 { format!(", part {}", part + 1) } else { String::new() };
            charts.push(VersionChart {
                id: format!("versions-{number}-{}", charts.len()),
                title: format!("{what} over versions, {}{more}", of_group[0].group.title),
                axis: format!("{axis} relative to {}", page.comparison.base.arm.name),
                versions: versions.clone(),
                lines: steps.iter().map(line).collect(),
                width: CHART_WIDTH,
            });
        }
    }
    charts
}

fn point(judged: &Judged<'_>, (test, detector): (&str, Detector), arm: usize) -> Option<RatioPoint> {
    if arm == judged.base {
        return Some(RatioPoint::BASE);
    }
    point_of(judged.verdicts.verdict(test, arm, detector)?)
}
