//! A series as text, Markdown, CSV and JSON.
//!
//! | column | means |
//! | --- | --- |
//! | `rQPS`, `from`, `to` | the version's rate divided by the anchor's, and its interval, over all links that have it |
//! | `rate` | the verdict on the version relative to the one before it, in their link |
//! | `step` | the ratio of that verdict |
//! | `cost/op`, `cost`, `step`, `of` | the same of the cost per operation, and what the cost is; the step's if that differs |
//! | `blocks` | blocks that the ratio of the rate to the anchor is from |

use rqps_model::{counted, sentence};
use rqps_stats::course::Level;
use rqps_stats::{Detector, Verdict};

use super::{Series, SeriesLink, TestCourse};
use crate::document::{Block, Cell, Column, Document, Table};
use crate::error::Result;
use crate::format::{Format, Screen};
use crate::render::render;
use crate::tables::{arrivals, conditions};
use crate::words;

/// Tests named as differing between links.
const NAMED_MAX: usize = 5;

impl Series<'_> {
    /// The series in a format; CSV has the course alone.
    ///
    /// # Errors
    /// If the output cannot be produced.
    pub fn render(&self, format: Format, screen: Screen) -> Result<String> {
        let mut document = Document::default();
        if format != Format::Csv {
            document.push(Block::Heading(1, self.title()));
            document.extend(self.opening());
            document.push(Block::Heading(2, "What came with which version".to_owned()));
            document.extend(self.what_came());
            document.push(Block::Heading(2, format!("Course, relative to {}", self.versions[0])));
        }
        document.extend(self.courses());
        if format != Format::Csv {
            document.push(Block::Text("How far to trust these figures:".to_owned()));
            document.push(Block::Items(self.trust()));
        }
        render(&document, format, screen)
    }

    /// What was measured, and warnings about builds.
    pub(crate) fn opening(&self) -> Vec<Block> {
        let mut blocks = vec![Block::Text(format!(
            "{} of {} relative to {}, which was measured in every link: {}.",
            counted(self.tests.len(), "test"),
            counted(self.versions.len(), "version"),
            self.versions[0],
            self.versions.join(", ")
        ))];
        blocks.extend(
            self.skipped
                .iter()
                .map(|(version, why)| Block::Text(format!("Could not be measured: {version} ({why})."))),
        );
        blocks.extend(self.conditions());
        let warnings = self.steps.iter().flat_map(|step| &step.warnings);
        blocks.extend(warnings.map(|warning| Block::Text(sentence(&format!("WARNING: {warning}")))));
        blocks
    }

    /// What the first link was measured with, and the links that were measured otherwise: arms share the memory, and
    /// links have two or three.
    fn conditions(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut links: Vec<(String, Vec<&str>)> = Vec::new();
        for step in &self.steps {
            let SeriesLink { run, anchor, .. } = step.link;
            let line = conditions::line(run, *anchor);
            if blocks.is_empty() {
                blocks = conditions::blocks(&[(run, *anchor)]);
            }
            let version = &*step.after().build_version;
            match links.iter_mut().find(|(known, _)| *known == line) {
                Some((_, versions)) => versions.push(version),
                None => links.push((line, vec![version])),
            }
        }
        let others = links.iter().skip(1).map(|(line, versions)| {
            Block::Text(format!(
                "WARNING: not the same in the links to {}, and the course joins them. {line}",
                versions.join(", ")
            ))
        });
        blocks.extend(others);
        blocks
    }

    /// The arrivals as a table, then for each version its changes with their causes.
    pub(crate) fn what_came(&self) -> Vec<Block> {
        let (found, steps) = self.arrivals();
        let columns = ["version", "after", "what moved", "tests"].map(Column::words).to_vec();
        let mut table = Table::new("arrivals", "Arrivals", columns, 0);
        for arrival in &found {
            let [version] = arrival.versions.as_slice() else { continue };
            table.row(vec![
                Cell::words(&*self.versions[*version]),
                Cell::words(&*self.versions[version - 1]),
                Cell::words(arrivals::moved(&steps, arrival, |_| false)),
                Cell::words(arrival.tests.join(", ")),
            ]);
        }
        table.footnotes.push(format!(
            "changes between neighbouring versions in the same blocks, smallest to largest over the tests; tests with the \
             same counters in the same version are one row; {}",
            arrivals::APART
        ));
        let mut blocks: Vec<Block> = table.block().into_iter().collect();
        for step in &self.steps {
            let (version, before) = (&step.after().build_version, &step.before().build_version);
            if !step.has_looked() {
                blocks.push(Block::Text(format!(
                    "{version} after {before}: no verdict: too few blocks. The same command measures more."
                )));
                continue;
            }
            let changed = step.changed();
            let [_, same, other] = step.tally();
            let likely = match step.likely() {
                none if none.is_empty() => String::new(),
                some => format!("; likely, not established: {}", some.join(", ")),
            };
            let rest = format!("rates: {same} the same, {other} inconclusive{likely}");
            let of = counted(self.tests.len(), "test");
            match changed.is_empty() {
                true => {
                    blocks.push(Block::Text(format!(
                        "{version} after {before}: no change shown in {of}; {rest}."
                    )));
                }
                false => {
                    let count = changed.len();
                    blocks.push(Block::Text(format!(
                        "{version} after {before}: {count} of {of} changed; {rest}:"
                    )));
                    blocks.push(Block::Items(changed));
                }
            }
        }
        blocks
    }

    /// A table for each test.
    pub(crate) fn courses(&self) -> Vec<Block> {
        self.tests.iter().map(|course| Block::Table(self.course(course))).collect()
    }

    fn course(&self, course: &TestCourse) -> Table {
        let columns = vec![
            Column::number("rQPS", "rqps"),
            Column::number("from", "rqps_from"),
            Column::number("to", "rqps_to"),
            Column::keyed_words("rate", "rate_verdict"),
            Column::number("step", "rate_step"),
            Column::number("cost/op", "cost_ratio"),
            Column::number("from", "cost_from"),
            Column::number("to", "cost_to"),
            Column::keyed_words("cost", "cost_verdict"),
            Column::number("step", "cost_step"),
            Column::keyed_words("of", "cost_of"),
            Column::number("blocks", "blocks"),
            Column::words("version"),
        ];
        let mut table = Table::new("course", course.test.clone(), columns, 1).about("test", &course.test);
        for (version, name) in self.versions.iter().enumerate() {
            let (rate, cost) = (course.rate[version], course.cost[version]);
            let step = |detector| self.step(&course.test, version, detector);
            let ends = |level: Option<Level>, decimals| {
                level.map_or_else(
                    || [(); 3].map(|()| Cell::missing()),
                    |level| Cell::estimate((level.ratio, level.low, level.high), decimals),
                )
            };
            let of_step = |verdict: Option<&Verdict>, decimals| {
                let word = verdict.map_or_else(Cell::missing, words::verdict_cell);
                [word, Cell::fixed(verdict.map(|verdict| verdict.ratio), decimals)]
            };
            let mut cells = ends(rate, 3).to_vec();
            cells.extend(of_step(step(Detector::Rate), 3));
            cells.extend(ends(cost.map(|(_, level)| level), 4));
            cells.extend(of_step(step(Detector::Cost), 4));
            // A count that one pair of versions has may be missing in another.
            let of = (cost.map(|(metric, _)| metric), step(Detector::Cost).map(|verdict| verdict.metric));
            cells.push(match of {
                (Some(all), Some(step)) if all != step => {
                    Cell::words(format!("{}; step: {}", all.measure().label, step.measure().label))
                }
                (Some(metric), _) | (None, Some(metric)) => Cell::words(metric.measure().label),
                (None, None) => Cell::missing(),
            });
            let blocks = rate.filter(|level| level.runs > 0).map(|level| level.blocks as f64);
            cells.push(Cell::fixed(blocks, 0));
            cells.push(Cell::words(&**name));
            table.row(cells);
        }
        table
    }

    /// What the figures rest on.
    pub(crate) fn trust(&self) -> Vec<String> {
        let anchor = &self.versions[0];
        let mut items = vec![
            format!(
                "rQPS, cost/op: relative to {anchor} in the same blocks, never chained from other ratios; {} intervals, \
                 over every link that has the version",
                words::level(Level::CONFIDENCE)
            ),
            "rate, cost: the verdict on the version relative to the one above it, step: its ratio, both from the blocks of \
             their link; an arrival is significant (of all changes in a link at most 1 % by chance)"
                .to_owned(),
        ];
        let (repeated, mut differing) = self.repeated();
        if repeated > 0 {
            let count = differing.len();
            differing.truncate(NAMED_MAX);
            let named = if count == 0 { String::new() } else { format!(": {}", differing.join(", ")) };
            items.push(format!(
                "{} measured in two links or more; {count} differ between links by more than their blocks explain (by \
                 chance 1 in 100), and have the wider interval{named}",
                counted(repeated, "ratio")
            ));
        }
        if let Some((low, high)) = self.drift {
            items.push(format!(
                "{anchor} itself ran at {low:.2} to {high:.2} of a test's mean rate over the links: the host's drift, which no \
                 ratio contains"
            ));
        }
        items
    }
}
