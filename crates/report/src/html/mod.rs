//! A run's report as one HTML file that works from disk without network. It is complete without its script,
//! which adds sorting, zoom and themes.
//!
//! Where to look: `summary.rs` has the management summary, `overview.rs` the verdicts of all tests,
//! `consecutive.rs` the tables of consecutive steps, `ratios.rs` and `versions.rs` the plots over tests and
//! versions, `test.rs` all results of one test, `method.rs` what is needed to assess and repeat the run.
//! `page.css` and `page.js` are its style and script.

mod consecutive;
mod files;
mod flame;
mod latency;
mod marks;
mod method;
mod overview;
mod plans;
mod profiles;
mod ratios;
mod shell;
mod summary;
mod test;
mod timeline;
mod versions;

pub use files::{ChartFile, chart_files};
use maud::{Markup, PreEscaped, html};
use rqps_explain::{ExplainRequest, Explanation, explain};
use rqps_stats::{Detector, Metric};
use rqps_store::Run;
use std::collections::BTreeSet;

use crate::comparison::{Comparison, Pair, StepKind, TestStep};
use crate::document::{Block, Table};
use crate::error::Result;
use crate::explain::{is_reported, sentence};
use crate::reading::Reading;
use crate::section::Section;
use crate::verdict_lines::Judged;

/// Returns the report as one HTML file.
///
/// # Errors
/// If the run cannot be read or judged, or has a profile or histogram that cannot be drawn.
pub fn html_report(run: &Run) -> Result<String> {
    let readings = [Reading::new(run)];
    let page = Page::new(run, &readings)?;
    let tests = test::sections(&page)?;
    let ratios = ratios::section(&page);
    let versions = versions::section(&page)?;
    let steps = consecutive::section(&page)?;
    let main = html! {
        (summary::section(&page)?)
        @if let Some(steps) = &steps { (steps) }
        (overview::section(&page)?)
        (ratios)
        @if let Some(versions) = &versions { (versions) }
        (tests)
        (method::section(&page)?)
    };
    let mut links = vec![("summary", "Summary")];
    links.extend(steps.is_some().then_some(("steps", "Steps")));
    links.extend([("verdicts", page.verdicts_title()), ("ratios", "Ratios")]);
    links.extend(versions.is_some().then_some(("versions", "Versions")));
    links.extend([("tests", "Tests"), ("method", "Method")]);
    Ok(shell::page(&page, &links, &main))
}

/// The data that all parts of the page share.
struct Page<'a> {
    run: &'a Run,
    readings: &'a [Reading<'a>],
    comparison: Comparison<'a>,
    /// None for a run without blocks.
    judged: Option<Judged<'a>>,
    explanations: Vec<Explanation>,
    steps: Vec<TestStep>,
    /// The tables of section `variance` for all tests: computed once because they need all verdicts.
    variance: Vec<Table>,
}

impl<'a> Page<'a> {
    fn new(run: &'a Run, readings: &'a [Reading<'a>]) -> Result<Self> {
        let comparison = Comparison::new(readings, None, &[])?;
        let judged = Judged::all(&comparison)?.into_iter().next();
        let verdicts = judged.as_ref().map(|judged| &judged.verdicts);
        let steps = comparison.steps(StepKind::Tests);
        let mut explanations = explain(run, verdicts, &ExplainRequest::default())?;
        explanations.retain(|one| is_reported(judged.as_ref(), one));
        let variance = Section::Variance.blocks(&comparison, false)?.into_iter();
        let table = |block| if let Block::Table(table) = block { Some(table) } else { None };
        let variance = variance.filter_map(table).collect();
        Ok(Self { run, readings, comparison, judged, explanations, steps, variance })
    }

    fn verdicts_title(&self) -> &'static str {
        if self.judged.is_some() { "Verdicts" } else { "Rates" }
    }

    /// The detectors shown for every test: rate and cost; stalls and resources if they changed in any test.
    fn detectors(&self) -> Vec<Detector> {
        let Some(judged) = &self.judged else {
            return vec![Detector::Rate];
        };
        let has_changed = |detector: Detector| {
            judged.verdicts.on_candidates().any(|one| one.detector == detector && one.class.is_change())
        };
        let is_shown = |detector: &Detector| {
            matches!(detector, Detector::Rate | Detector::Cost) || has_changed(*detector)
        };
        Detector::ALL.into_iter().filter(is_shown).collect()
    }

    /// The metrics of the cost, in words.
    fn cost_metrics(&self) -> String {
        let verdicts = self.judged.iter().flat_map(|judged| judged.verdicts.on_candidates());
        let metrics: BTreeSet<Metric> =
            verdicts.filter(|one| one.detector == Detector::Cost).map(|one| one.metric).collect();
        metrics.into_iter().map(|metric| metric.measure().label).collect::<Vec<_>>().join(" or ")
    }

    /// Indexes of the arms compared with base, without the control.
    fn candidates(&self) -> Vec<usize> {
        match &self.judged {
            Some(judged) => judged.candidates().collect(),
            None => (0..self.run.arms.len()).filter(|arm| !self.is_base(*arm)).collect(),
        }
    }

    fn is_base(&self, arm: usize) -> bool {
        std::ptr::eq(&raw const self.run.arms[arm], self.comparison.base.arm)
    }

    fn pair(&self, arm: usize) -> Pair<'a> {
        self.comparison.pair(*self.comparison.find(&self.run.arms[arm]).unwrap_or(&self.comparison.base))
    }

    fn name(&self, arm: usize) -> &'a str {
        &self.run.arms[arm].name
    }

    /// The tables of section `variance`, reduced to one test.
    fn variance_of(&self, test: &str) -> Vec<Block> {
        let reduced = |table: &Table| {
            let mut table = table.clone();
            table.rows.retain(|row| row.cells.last().is_some_and(|name| name.text == test));
            // The column of tests is redundant, and all footnotes but the first are about several tests.
            table.columns.pop();
            table.labels -= 1;
            table.footnotes.truncate(1);
            for row in &mut table.rows {
                row.cells.pop();
                row.group = None;
            }
            table
        };
        let tables = self.variance.iter().map(reduced).filter(|table| !table.rows.is_empty());
        tables.map(Block::Table).collect()
    }

    /// The first finding of the explanation, as a sentence.
    fn first_finding(&self, test: &str, arm: usize) -> Option<String> {
        let one = self.explanations.iter().find(|one| one.test == test && one.arm == arm)?;
        one.findings.first().map(sentence)
    }

    fn blocks(&self, sections: &[Section]) -> Result<Vec<Block>> {
        Section::all_blocks(sections, &self.comparison)
    }
}

/// Width of charts that are side by side on a wide page and scroll on a phone.
const CHART_WIDTH: f64 = 500.0;

/// A drawing with its title.
fn figure(title: &str, svg: String) -> Markup {
    html! { figure.chart-box tabindex="0" { figcaption { (title) } (PreEscaped(svg)) } }
}

/// The id of a test on the page. Characters that could end an attribute or be decoded by a browser are
/// replaced by their number.
fn anchor(test: &str) -> String {
    let mut anchor = String::from("test-");
    for c in test.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '=' => anchor.push(c),
            other => anchor.push_str(&format!(".{:x}.", u32::from(other))),
        }
    }
    anchor
}

#[cfg(test)]
mod tests {
    use super::anchor;

    #[test]
    fn anchors_are_safe_in_links() {
        assert_eq!(anchor("read-only_range=10"), "test-read-only_range=10");
        assert_eq!(anchor("a b\"%20"), "test-a.20.b.22..25.20");
        assert_ne!(anchor("a b"), anchor("a_b"));
    }
}
