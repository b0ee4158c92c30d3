//! A run's report as one HTML file: opened from disk without network, complete without its script, which adds sorting,
//! zoom and a choice of theme.
//!
//! Where to look: `summary.rs` is what a manager reads, `overview.rs` the verdicts of all tests, `consecutive.rs` the
//! tables of steps that follow one another, `ratios.rs` and `versions.rs` the plots over tests and versions, `test.rs`
//! what there is of one test, `method.rs` what is needed to judge and repeat the run. `page.css` and `page.js` are its
//! looks and its script.

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
use rqps_explain::{Asked, Explanation, explain};
use rqps_stats::{Detector, Metric};
use rqps_store::Run;
use std::collections::BTreeSet;

use crate::document::{Block, Table};
use crate::error::Result;
use crate::explain::{is_reported, sentence};
use crate::number;
use crate::reading::Reading;
use crate::section::Section;
use crate::sides::{Side, Sides, StepKind, TestStep};
use crate::verdict_lines::Judged;

/// The report as one HTML file.
///
/// # Errors
/// When the run cannot be read or judged, or holds a profile or histogram that cannot be drawn.
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

/// What every part of the page looks at.
struct Page<'a> {
    run: &'a Run,
    readings: &'a [Reading<'a>],
    sides: Sides<'a>,
    /// None in a run without blocks.
    judged: Option<Judged<'a>>,
    explanations: Vec<Explanation>,
    steps: Vec<TestStep>,
    /// How evenly tests ran: all of them, since the verdicts in it are made at once.
    variance: Vec<Table>,
}

impl<'a> Page<'a> {
    fn new(run: &'a Run, readings: &'a [Reading<'a>]) -> Result<Self> {
        let sides = Sides::new(readings, None, &[])?;
        let judged = Judged::all(&sides)?.into_iter().next();
        let verdicts = judged.as_ref().map(|judged| &judged.verdicts);
        let steps = sides.steps(StepKind::Tests);
        let mut explanations = explain(run, verdicts, &Asked::default())?;
        explanations.retain(|one| is_reported(judged.as_ref(), one));
        let mut variance = Vec::new();
        for block in Section::Variance.blocks(&sides, false)? {
            if let Block::Table(table) = block {
                variance.push(table);
            }
        }
        Ok(Self { run, readings, sides, judged, explanations, steps, variance })
    }

    fn verdicts_title(&self) -> &'static str {
        if self.judged.is_some() { "Verdicts" } else { "Rates" }
    }

    /// What is shown of every test: rate and cost; stalls and resources where they have changed anywhere.
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

    /// What the cost rests on, in words.
    fn cost_of(&self) -> String {
        let verdicts = self.judged.iter().flat_map(|judged| judged.verdicts.on_candidates());
        let of: BTreeSet<Metric> =
            verdicts.filter(|one| one.detector == Detector::Cost).map(|one| one.metric).collect();
        of.into_iter().map(|metric| metric.measure().label).collect::<Vec<_>>().join(" or ")
    }

    /// Arms that are compared with base, by their index in the run; not base measured again.
    fn candidates(&self) -> Vec<usize> {
        match &self.judged {
            Some(judged) => judged.candidates().collect(),
            None => (0..self.run.arms.len()).filter(|arm| !self.is_base(*arm)).collect(),
        }
    }

    fn is_base(&self, arm: usize) -> bool {
        std::ptr::eq(&raw const self.run.arms[arm], self.sides.base.arm)
    }

    /// The arm as a side of tables.
    fn side(&self, arm: usize) -> &Side<'a> {
        self.sides.side(&self.run.arms[arm]).unwrap_or(&self.sides.base)
    }

    fn name(&self, arm: usize) -> &'a str {
        &self.run.arms[arm].name
    }

    /// How evenly one test ran.
    fn variance_of(&self, test: &str) -> Vec<Block> {
        let of_test = |table: &Table| {
            let mut one = table.clone();
            one.rows.retain(|row| row.cells.last().is_some_and(|name| name.text == test));
            // Every row is of this test now, and what is said of other tests says nothing here.
            one.columns.pop();
            one.labels -= 1;
            one.footnotes.truncate(1);
            for row in &mut one.rows {
                row.cells.pop();
                row.group = None;
            }
            one
        };
        let tables = self.variance.iter().map(of_test).filter(|table| !table.rows.is_empty());
        tables.map(Block::Table).collect()
    }

    /// The sentence of the explanation's first finding.
    fn first_reason(&self, test: &str, arm: usize) -> Option<String> {
        let one = self.explanations.iter().find(|one| one.test == test && one.arm == arm)?;
        one.findings.first().map(sentence)
    }

    /// Rate relative to base; none where one of them is missing.
    fn ratio(&self, arm: usize, test: &str) -> Option<f64> {
        number::ratio(self.side(arm).rate(test), self.sides.base.rate(test))
    }

    /// Whether the arm or base did not keep the test's rate of background writes, so that its ratio ranks nobody.
    fn missed(&self, arm: usize, test: &str) -> bool {
        self.side(arm).missed(test) || self.sides.base.missed(test)
    }

    /// The same ratio where both did the same beside it.
    fn ranked_ratio(&self, arm: usize, test: &str) -> Option<f64> {
        self.ratio(arm, test).filter(|_| !self.missed(arm, test))
    }

    /// Blocks of sections, one after the other.
    fn blocks(&self, sections: &[Section]) -> Result<Vec<Block>> {
        let all = sections.iter().map(|section| section.blocks(&self.sides, false));
        Ok(all.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }
}

/// Width of the drawings of charts that stand side by side on a wide page and scroll on a phone.
const CHART_WIDTH: f64 = 500.0;

/// A drawing with its title.
fn figure(title: &str, svg: String) -> Markup {
    html! { figure.chart-box tabindex="0" { figcaption { (title) } (PreEscaped(svg)) } }
}

/// The place of a test on the page. What could end an attribute or be decoded by a browser is written by its number.
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
    fn anchors_hold_nothing_that_links_do_not() {
        assert_eq!(anchor("read-only_range=10"), "test-read-only_range=10");
        assert_eq!(anchor("a b\"%20"), "test-a.20.b.22..25.20");
        assert_ne!(anchor("a b"), anchor("a_b"));
    }
}
