//! A series of versions: each test's course relative to the anchor, and what came with which version.
//!
//! A link is a run of blocks with two neighbouring versions and the anchor, the first version of all. Steps are the
//! verdicts on neighbours in their own link; the course is each version's ratio to the anchor in the same blocks, over
//! all links that have it. Nothing is compared between links.

mod text;

use std::collections::BTreeMap;

use rqps_explain::{ExplainRequest, Explanation, Finding, Word, explain};
use rqps_model::Group;
use rqps_model::sample::mean;
use rqps_stats::course::{Level, Part};
use rqps_stats::series::{Arrival, Step, TestSteps, arrivals};
use rqps_stats::{Class, Detector, Metric, Verdict};
use rqps_store::{Arm, Run};

use crate::comparison::Comparison;
use crate::error::{Error, Result};
use crate::explain_summary::sentence;
use crate::reading::Reading;
use crate::verdict_lines::{Judged, Line};
use crate::words;

/// A run of two neighbours and the anchor; arms as indexes in [`Run::arms`].
#[derive(Debug)]
pub struct SeriesLink {
    pub run: Run,
    /// The plan's base.
    pub before: usize,
    pub after: usize,
    /// The same as `before` in the first link.
    pub anchor: usize,
    /// Address of the run's page, relative to the series' page.
    pub page: String,
}

/// Everything that is said of a series.
pub struct Series<'a> {
    /// In their order; the first is the anchor.
    pub(crate) versions: &'a [String],
    /// Those between two versions that follow each other, in that order.
    pub(crate) steps: Vec<LinkOf<'a>>,
    pub(crate) tests: Vec<TestCourse>,
    /// The anchor's rate in a link over its mean over all links, of any test: smallest and largest.
    drift: Option<(f64, f64)>,
    /// Versions that could not be measured, and why.
    skipped: &'a [(String, String)],
}

/// A link with its verdicts, relative to the earlier version.
pub(crate) struct LinkOf<'a> {
    pub link: &'a SeriesLink,
    judged: Judged<'a>,
    explained: Vec<Explanation>,
    /// About builds.
    warnings: Vec<String>,
}

/// A test over the versions.
pub(crate) struct TestCourse {
    pub test: String,
    pub group: Group,
    pub rate: Vec<Option<Level>>,
    /// With what the cost is.
    pub cost: Vec<Option<(Metric, Level)>>,
}

/// Figures of a test, a version and a detector, by the metric that they are about.
type Parts = BTreeMap<(String, usize, Detector), Vec<(Metric, Part)>>;

impl<'a> Series<'a> {
    /// From the links that were measured, in any order. Some may have versions that are not among `versions`.
    ///
    /// # Errors
    /// If a run cannot be read or has no blocks.
    pub fn new(
        versions: &'a [String],
        links: &'a [SeriesLink],
        skipped: &'a [(String, String)],
    ) -> Result<Self> {
        let mut parts = Parts::new();
        let (mut steps, mut tests): (Vec<LinkOf<'_>>, Vec<(String, Group)>) = (Vec::new(), Vec::new());
        for link in links {
            let judged = |base| {
                let no_blocks = || Error::no_blocks(&link.run);
                Judged::from_run(&link.run, base)?.ok_or_else(no_blocks)
            };
            let place = |arm: usize| versions.iter().position(|one| *one == link.run.arms[arm].build_version);
            let of_step = judged(link.before)?;
            let of_anchor = if link.anchor == link.before { None } else { Some(judged(link.anchor)?) };
            let of_anchor = of_anchor.as_ref().unwrap_or(&of_step);
            for arm in [link.before, link.after].into_iter().filter(|arm| *arm != link.anchor) {
                let Some(version) = place(arm) else { continue };
                collect(&mut parts, version, of_anchor.verdicts.of_arm(arm));
            }
            let (Some(before), Some(after)) = (place(link.before), place(link.after)) else { continue };
            for line in of_step.lines(link.after, |_| true) {
                if tests.iter().all(|(known, _)| known != line.test) {
                    tests.push((line.test.to_owned(), line.group.clone()));
                }
            }
            if after == before + 1 {
                steps.push(LinkOf::new(link, of_step)?);
            }
        }
        steps.sort_by_key(|step| versions.iter().position(|version| *version == step.after().build_version));
        let level = |test: &str, version: usize, detector| -> Option<(Metric, Level)> {
            let found = parts.get(&(test.to_owned(), version, detector))?;
            // Instructions are not averaged with CPU time.
            let metric = found.iter().map(|(metric, _)| *metric).min()?;
            let of_metric: Vec<Part> =
                found.iter().filter(|(one, _)| *one == metric).map(|(_, part)| *part).collect();
            Some((metric, Level::of(&of_metric)?))
        };
        let tests = tests.into_iter().map(|(test, group)| {
            let along = |detector| -> Vec<Option<(Metric, Level)>> {
                (0..versions.len()).map(|version| level(&test, version, detector)).collect()
            };
            let (mut rate, cost) = (along(Detector::Rate), along(Detector::Cost));
            if let Some(anchor) = rate.first_mut() {
                *anchor = Some((Metric::Rate, Level::ANCHOR));
            }
            let rate = rate.into_iter().map(|one| one.map(|(_, level)| level)).collect();
            TestCourse { test, group, rate, cost }
        });
        Ok(Self { versions, steps, tests: tests.collect(), drift: drift(links)?, skipped })
    }

    /// The versions whose link has too few blocks for any verdict.
    pub fn undecided(&self) -> Vec<&str> {
        let undecided = self.steps.iter().filter(|step| !step.has_looked());
        undecided.map(|step| &*step.after().build_version).collect()
    }

    pub(crate) fn arm_of(&self, version: usize) -> Option<&Arm> {
        let is_it = |arm: &&Arm| arm.build_version == self.versions[version];
        self.steps.iter().flat_map(|step| [step.before(), step.after()]).find(is_it)
    }

    /// `PostgreSQL 12.22 to 18.6`.
    pub(crate) fn title(&self) -> String {
        let dbms = self.arm_of(0).map_or("", |arm| words::dbms(&arm.dbms));
        let ends = [self.versions.first(), self.versions.last()].map(|one| one.map_or("", String::as_str));
        format!("{dbms} {} to {}", ends[0], ends[1])
    }

    /// The link in which a version is the later one.
    fn step_to(&self, version: usize) -> Option<&LinkOf<'a>> {
        self.steps.iter().find(|step| step.after().build_version == self.versions[version])
    }

    /// The verdict on a version relative to the one before it.
    pub(crate) fn step(&self, test: &str, version: usize, detector: Detector) -> Option<&Verdict> {
        let step = self.step_to(version)?;
        step.judged.verdicts.verdict(test, step.link.after, detector)
    }

    /// Significant changes from version to version, and the steps that they consist of.
    fn arrivals(&self) -> (Vec<Arrival>, Vec<TestSteps>) {
        let of_test = |course: &TestCourse| {
            let mut metrics: BTreeMap<Metric, Vec<Step>> = BTreeMap::new();
            for version in 1..self.versions.len() {
                for detector in Detector::ALL {
                    let Some(verdict) = self.step(&course.test, version, detector) else { continue };
                    if verdict.class.is_change() && verdict.ratio.is_finite() {
                        let interval = (verdict.low, verdict.high);
                        let step = Step { arrivals: vec![version], ratio: verdict.ratio, interval };
                        metrics.entry(verdict.metric).or_default().push(step);
                    }
                }
            }
            TestSteps { test: course.test.clone(), metrics: metrics.into_iter().collect() }
        };
        let steps: Vec<TestSteps> = self.tests.iter().map(of_test).collect();
        (arrivals(&steps), steps)
    }

    /// How many ratios were measured in several links, and which of them differ between links.
    fn repeated(&self) -> (usize, Vec<String>) {
        let mut repeated = 0;
        let mut differing = Vec::new();
        for course in &self.tests {
            for (version, name) in self.versions.iter().enumerate() {
                let levels = [
                    (Metric::Rate, course.rate[version]),
                    course.cost[version]
                        .map_or((Metric::Rate, None), |(metric, level)| (metric, Some(level))),
                ];
                for (metric, level) in levels {
                    // Single blocks tell nothing about how much they differ by chance.
                    let is_compared = |level: &Level| level.runs > 1 && level.low.is_finite();
                    let Some(level) = level.filter(is_compared) else { continue };
                    repeated += 1;
                    if level.differs {
                        differing.push(format!("{} {name} {}", course.test, metric.measure().label));
                    }
                }
            }
        }
        (repeated, differing)
    }
}

impl<'a> LinkOf<'a> {
    fn new(link: &'a SeriesLink, judged: Judged<'a>) -> Result<Self> {
        let request = ExplainRequest { arms: vec![link.after], ..ExplainRequest::default() };
        let explained = explain(&link.run, Some(&judged.verdicts), &request)?;
        let readings = [Reading::new(&link.run)];
        let comparison = Comparison::new(&readings, None, &[])?;
        let warnings = comparison.warnings_on(&link.run.arms[link.after], &link.run.arms[link.before]);
        Ok(Self { link, judged, explained, warnings })
    }

    pub fn before(&self) -> &'a Arm {
        &self.link.run.arms[self.link.before]
    }

    pub fn after(&self) -> &'a Arm {
        &self.link.run.arms[self.link.after]
    }

    /// Whether it has blocks enough for verdicts.
    fn has_looked(&self) -> bool {
        self.judged.verdicts.has_looked(self.link.after)
    }

    /// The tests with a significant change, the worst first.
    fn changed(&self) -> Vec<String> {
        let lines = self.judged.lines(self.link.after, |_| true);
        let is_significant = |line: &Line<'_>| line.all().any(|verdict| verdict.class.is_change());
        let changed = crate::verdict_lines::changed(&lines).into_iter().map(|(_, line)| line);
        let item = |line: &Line<'_>| {
            let found = self.explained.iter().find(|one| one.test == line.test);
            let is_work = |finding: &&Finding| {
                matches!(finding.word, Word::MoreWork | Word::LessWork | Word::AnotherPlan)
            };
            // How long a host's CPUs are waited for is no property of a version where its cost changed too.
            let costs = line.cost.is_some_and(|cost| cost.class.is_change());
            let of_work = found.filter(|_| costs).and_then(|one| one.findings.iter().find(is_work));
            let why = of_work.or_else(|| found.and_then(|one| one.findings.first())).map(sentence);
            let why = why.map(|why| format!(". {why}")).unwrap_or_default();
            format!("{}{why}", line.sentence(&self.judged))
        };
        changed.filter(|line| is_significant(line)).map(item).collect()
    }

    /// What is likely a change and not established: `hot-points (rate 0.78)`.
    fn likely(&self) -> Vec<String> {
        let verdicts = self.judged.verdicts.of_arm(self.link.after);
        let likely = verdicts.filter(|one| one.is_likely());
        let name = |one: &Verdict| format!("{} ({} {:.2})", one.test, one.metric.measure().label, one.ratio);
        likely.map(name).collect()
    }

    /// Verdicts on rates: significant changes, the same, and others.
    fn tally(&self) -> [usize; 3] {
        let mut tally = [0; 3];
        for verdict in self.judged.verdicts.of_arm(self.link.after) {
            if verdict.detector == Detector::Rate {
                let place = if verdict.class.is_change() {
                    0
                } else if verdict.class == Class::Same {
                    1
                } else {
                    2
                };
                tally[place] += 1;
            }
        }
        tally
    }
}

/// Adds the figures of rate and cost of one arm.
fn collect<'v>(parts: &mut Parts, version: usize, verdicts: impl Iterator<Item = &'v Verdict>) {
    for verdict in verdicts.filter(|one| one.detector.is_rate_or_cost()) {
        if let Some(part) = Part::of(verdict) {
            let key = (verdict.test.clone(), version, verdict.detector);
            parts.entry(key).or_default().push((verdict.metric, part));
        }
    }
}

/// How much the anchor's own rates varied from link to link; `None` for fewer than two links.
fn drift(links: &[SeriesLink]) -> Result<Option<(f64, f64)>> {
    let mut by_test: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for link in links {
        let experiment = rqps_verdicts::experiment(&link.run)?;
        for test in &experiment.tests {
            let Some(data) = test.metrics.iter().find(|data| data.metric == Metric::Rate) else { continue };
            let blocks: Vec<f64> = data.blocks.iter().filter_map(|block| block.ln[link.anchor]).collect();
            if !blocks.is_empty() {
                by_test.entry(test.name.clone()).or_default().push(mean(&blocks));
            }
        }
    }
    let repeated: Vec<&Vec<f64>> = by_test.values().filter(|rates| rates.len() > 1).collect();
    let from_mean = repeated.iter().flat_map(|rates| {
        let mean = mean(rates);
        rates.iter().map(move |rate| rate - mean)
    });
    let (low, high) = from_mean.fold((0.0_f64, 0.0_f64), |(low, high), one| (low.min(one), high.max(one)));
    Ok((!repeated.is_empty()).then(|| (low.exp(), high.exp())))
}
