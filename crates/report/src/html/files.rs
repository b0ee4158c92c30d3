//! The charts of a report as separate files, for a blog or a talk.

use rqps_charts::Theme;
use rqps_store::Run;

use super::{Page, all_tests, captions, latency, ratios, timeline, versions};
use crate::comparison::TestStep;
use crate::error::Result;
use crate::reading::Reading;

/// A standalone drawing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartFile {
    /// File name without extension: `all-rate`, `ratio-rate-point`, `versions-cost-0-0`, `time-scan`, `latency-scan`.
    pub name: String,
    /// One `<svg>` element on white.
    pub svg: String,
}

/// Returns every chart of a run: all tests in one, ratios by group, ratios across versions, and time series and
/// latencies of each test.
///
/// # Errors
/// If the run cannot be read or judged.
pub fn chart_files(run: &Run) -> Result<Vec<ChartFile>> {
    let readings = [Reading::new(run)];
    let page = Page::new(run, &readings)?;
    let mut files = Vec::new();
    let mut file = |name: String, svg: String| files.push(ChartFile { name: file_name(&name), svg });
    for chart in all_tests::alone(&page) {
        file(chart.id.clone(), chart.svg(Theme::Light));
    }
    for mut chart in ratios::all(&page) {
        // Link targets exist only on the page.
        chart.rows.iter_mut().for_each(|row| row.href = None);
        file(chart.id.clone(), chart.svg(Theme::Light));
    }
    for chart in versions::all(&page)? {
        file(chart.id.clone(), chart.svg(Theme::Light));
    }
    let timed: &[TestStep] = if page.comparison.leaves_out_rates()? { &[] } else { &page.steps };
    for step in timed {
        if let Some(mut chart) = timeline::rate_chart(&page, step)? {
            chart.title = format!("{}: {}", step.name, chart.title);
            chart.captions = captions::of_timeline(&page, step);
            file(format!("time-{}", step.name), chart.svg(Theme::Light));
        }
        if let Some(mut chart) = latency::event_chart(&page, step)? {
            chart.title = format!("{}: {}", step.name, chart.title);
            chart.captions = captions::of_latency(&page, step);
            file(format!("latency-{}", step.name), chart.svg(Theme::Light));
        }
    }
    Ok(files)
}

/// Replaces characters that are not portable in file names.
fn file_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_=".contains(c) { c } else { '_' }).collect()
}
