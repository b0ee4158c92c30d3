//! The page of a series: what came with which version, charts of the course, its figures.

use std::collections::BTreeSet;

use maud::{Markup, html};
use rqps_charts::{Mark as ChartMark, RatioPoint, VersionChart, VersionLine};
use rqps_model::counted;
use rqps_stats::course::Level;
use rqps_stats::{Detector, Metric};
use rqps_store::{Arm, Run};

use super::marks::{Mark, decimals_max};
use super::shell::Frame;
use super::{CHART_WIDTH, captions, versions_figure};
use crate::document::{Block, Document};
use crate::number;
use crate::render::html as blocks;
use crate::series::{Series, TestCourse};
use crate::tame::tame_document;
use crate::words;

/// Maximum lines of a chart: more cannot be distinguished.
const LINES_MAX: usize = 8;

impl Series<'_> {
    /// One HTML file.
    pub fn page(&self) -> String {
        let tamed = |blocks: Vec<Block>| {
            let mut document = Document::default();
            document.extend(blocks);
            blocks::blocks(&tame_document(&document).blocks, 3)
        };
        let main = html! {
            section #summary {
                h1 { (self.title()) }
                (tamed(self.opening()))
            }
            section #arrivals {
                h2 { "What came with which version" }
                (tamed(self.what_came()))
            }
            section #course {
                h2 { "Course, relative to " (self.versions[0]) }
                div.charts {
                    @for chart in self.charts() { (versions_figure(&chart)) }
                }
                (tamed(self.courses()))
            }
            section #trust {
                h2 { "How far to trust these figures" }
                (tamed(vec![Block::Items(self.trust())]))
                (self.links())
            }
        };
        let links = [
            ("#summary", "Summary"),
            ("#arrivals", "Arrivals"),
            ("#course", "Course"),
            ("#trust", "How far to trust"),
        ];
        let frame = Frame {
            title: format!("rqps: {}", self.title()),
            program_version: env!("CARGO_PKG_VERSION"),
            links: links.map(|(link, title)| (link.to_owned(), title)).to_vec(),
            feed: None,
            footer: html! { p { "Written by rqps " (env!("CARGO_PKG_VERSION")) "." } },
        };
        frame.page(&main)
    }

    /// The pages of the links.
    fn links(&self) -> Markup {
        html! {
            p { "The run of each step:" }
            ul {
                @for step in &self.steps {
                    li {
                        a href=(step.link.page) {
                            (step.before().build_version) " to " (step.after().build_version)
                        }
                    }
                }
            }
        }
    }

    /// Rate and cost, a chart for each group, split if it has many tests.
    fn charts(&self) -> Vec<VersionChart> {
        let mut charts = Vec::new();
        for of_group in self.tests.chunk_by(|a, b| a.group == b.group) {
            for (part, tests) in of_group.chunks(LINES_MAX).enumerate() {
                let more = if part > 0 { format!(", part {}", part + 1) } else { String::new() };
                for (detector, what) in [
                    (Detector::Rate, "rate".to_owned()),
                    (Detector::Cost, format!("cost per operation ({})", cost_metrics(tests))),
                ] {
                    let lines: Vec<VersionLine> = tests
                        .iter()
                        .map(|course| VersionLine {
                            label: course.test.clone(),
                            points: (0..self.versions.len())
                                .map(|version| self.point(course, version, detector))
                                .collect(),
                        })
                        .collect();
                    let points = lines.iter().map(|line| line.points.iter().flatten().count());
                    if points.max().unwrap_or(0) < 2 {
                        continue;
                    }
                    charts.push(VersionChart {
                        id: format!("series-{}", charts.len()),
                        title: format!("{} of {}, {what}{more}", self.title(), of_group[0].group.title),
                        axis: format!("{what} relative to {}", self.versions[0]),
                        versions: self.versions.to_vec(),
                        lines,
                        interval: format!("{} interval", words::level(Level::CONFIDENCE)),
                        captions: self.captions(),
                        width: CHART_WIDTH,
                    });
                }
            }
        }
        charts
    }

    /// What makes a chart complete without the page.
    fn captions(&self) -> Vec<String> {
        let known = (0..self.versions.len()).filter_map(|version| self.arm_of(version));
        let arms = known.map(|arm| (arm, arm.build_version.clone()));
        let anchor = self.arm_of(0).map_or_else(|| self.versions[0].clone(), Arm::variant);
        let base = format!("Base, at 1.0: {anchor}, measured in every run.");
        let base = [base].into_iter().chain(captions::builds(arms)).collect::<Vec<_>>().join(" ");
        let runs: Vec<&Run> = self.steps.iter().map(|step| &step.link.run).collect();
        let mut hosts: Vec<String> = Vec::new();
        for run in &runs {
            let host = format!("{}{}", captions::work(run), captions::machine(run));
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        let dates = || runs.iter().map(|run| run.meta.created_at_ms);
        let dates: BTreeSet<String> =
            dates().min().into_iter().chain(dates().max()).map(number::utc).collect();
        let measured = format!(
            "Whiskers: {} confidence intervals, over all runs that have the version. Filled, half-filled or hollow: by the \
             verdict on the version relative to the one before it. Measured {} with rqps {}, in {}.",
            words::level(Level::CONFIDENCE),
            dates.into_iter().collect::<Vec<_>>().join(" to "),
            runs.first().map_or(env!("CARGO_PKG_VERSION"), |run| &*run.meta.program_version),
            counted(runs.len(), "run"),
        );
        [base].into_iter().chain(hosts).chain([measured]).collect()
    }

    /// The ratio to the anchor, marked by the step to it.
    fn point(&self, course: &TestCourse, version: usize, detector: Detector) -> Option<RatioPoint> {
        let level = match (detector, version) {
            (_, 0) => Some(Level::ANCHOR),
            (Detector::Rate, _) => course.rate[version],
            _ => course.cost[version].map(|(_, level)| level),
        }?;
        let step = self.step(&course.test, version, detector);
        let mark = step.map_or(ChartMark::Same, |verdict| Mark::from(verdict).in_charts());
        let Level { ratio, low, high, .. } = level;
        Some(RatioPoint {
            ratio,
            low,
            high,
            whisker: (low, high),
            mark,
            decimals_max: decimals_max(detector),
        })
    }
}

/// The metrics of the tests' costs, in words.
fn cost_metrics(tests: &[TestCourse]) -> String {
    let metrics = tests.iter().flat_map(|course| course.cost.iter().flatten().map(|(metric, _)| *metric));
    let metrics: BTreeSet<Metric> = metrics.collect();
    metrics.into_iter().map(|metric| metric.measure().label).collect::<Vec<_>>().join(" or ")
}
