//! Verdicts of one arm, a line for each test: what the table of verdicts, its headline and the gate's outputs share.

use rqps_stats::{Class, Detector, Tag, Verdict};
use rqps_store::{RateUnit, Run};
use rqps_verdicts::{RunVerdicts, judge_run_relative_to, rules_of};

use crate::error::Result;
use crate::groups;
use crate::sides::{Side, Sides};
use crate::words;

/// How many detectors there are, for the order of headlines.
const DETECTORS: u8 = Detector::ALL.len() as u8;

/// A run's verdicts relative to the base of a report.
pub(crate) struct Judged<'a> {
    pub run: &'a Run,
    pub verdicts: RunVerdicts,
    /// Index of base in the run's arms.
    pub base: usize,
}

/// One test of one arm.
pub(crate) struct Line<'a> {
    pub test: &'a str,
    pub group: &'a str,
    pub rate: Option<&'a Verdict>,
    pub cost: Option<&'a Verdict>,
    pub stalls: Option<&'a Verdict>,
    /// Whether an operation is a thousand rows.
    pub counts_rows: bool,
}

impl<'a> Judged<'a> {
    /// The verdicts of a run by its own rules; none when it has no blocks.
    pub fn of(run: &'a Run, base: usize) -> Result<Option<Self>> {
        if !rqps_verdicts::has_blocks(run) {
            return Ok(None);
        }
        let verdicts = judge_run_relative_to(run, &rules_of(run)?, base)?;
        Ok(Some(Self { run, verdicts, base }))
    }

    /// The verdicts of each run of a report. Blocks of different runs are never paired, so a run without the report's
    /// base is held against its own.
    pub fn of_all(sides: &Sides<'a>) -> Result<Vec<Self>> {
        let mut judged = Vec::new();
        for run in sides.runs() {
            judged.extend(Self::of(run, sides.base_in(run))?);
        }
        Ok(judged)
    }

    /// The arms that verdicts are about: not base, and not base measured again.
    pub fn candidates(&self) -> impl Iterator<Item = usize> + '_ {
        let control = self.verdicts.experiment.control;
        (0..self.run.arms.len()).filter(move |arm| *arm != self.base && Some(*arm) != control)
    }

    /// An arm's verdicts, a line for each test that `sides` shows: by group, alphabetical inside.
    pub fn lines(&self, arm: usize, shows: impl Fn(&str) -> bool) -> Vec<Line<'_>> {
        let mut lines: Vec<Line<'_>> = Vec::new();
        for test in self.verdicts.experiment.tests.iter().filter(|test| shows(&test.name)) {
            let of = |detector| self.verdicts.verdict(&test.name, arm, detector);
            let line = Line {
                test: &test.name,
                group: &test.group,
                rate: of(Detector::Rate),
                cost: of(Detector::Cost),
                stalls: of(Detector::Stalls),
                counts_rows: self.run.windows.iter().any(|window| {
                    window.action.step == test.name && window.result.rate_unit == RateUnit::Rows
                }),
            };
            if line.rate.is_some() || line.cost.is_some() {
                lines.push(line);
            }
        }
        lines.sort_by(|a, b| (groups::order(a.group), a.test).cmp(&(groups::order(b.group), b.test)));
        lines
    }

    /// What a verdict that is not reached would take: `12 more blocks, about 25 min`.
    pub fn still_takes(&self, verdict: &Verdict) -> Option<String> {
        let blocks = RunVerdicts::blocks_to_resolve(verdict)?;
        let seconds = self.verdicts.seconds_to_resolve(verdict)?;
        let blocks = if blocks == 1 { "1 more block".to_owned() } else { format!("{blocks} more blocks") };
        Some(match seconds > 0.0 {
            true => format!("{blocks}, about {}", words::about(seconds)),
            false => blocks,
        })
    }

    /// The arm by its variant and name, for outputs of one run.
    pub fn name(&self, arm: usize) -> String {
        let arm = &self.run.arms[arm];
        let variant = arm.variant();
        if variant == arm.name { variant } else { format!("{variant} ({})", arm.name) }
    }

    /// The arm as tables call it.
    pub fn label(&self, sides: &Sides<'_>, arm: usize) -> String {
        let arm = &self.run.arms[arm];
        let side = sides.all.iter().find(|side| std::ptr::eq(side.arm, arm));
        side.map_or_else(|| arm.variant(), Side::label)
    }
}

/// What moved the same way as the verdict says, the metric that decided first.
fn cost_changes(verdict: &Verdict) -> String {
    let regressed = verdict.class.is_regression();
    let others = verdict.metrics.iter().enumerate().filter(|(place, one)| {
        *place != verdict.decided_by && one.class.is_change() && one.class.is_regression() == regressed
    });
    let all = std::iter::once(verdict.deciding()).chain(others.map(|(_, one)| one));
    all.map(words::change).collect::<Vec<_>>().join(" and ")
}

impl Line<'_> {
    /// The verdicts on rate and cost, those that a run is measured for.
    pub fn verdicts(&self) -> impl Iterator<Item = &Verdict> {
        self.rate.into_iter().chain(self.cost)
    }

    /// The verdict on stalls where it says that they have changed.
    pub fn changed_stalls(&self) -> Option<&Verdict> {
        self.stalls.filter(|verdict| verdict.class.is_change())
    }

    /// All verdicts, the rate's first.
    pub fn all(&self) -> impl Iterator<Item = &Verdict> {
        self.verdicts().chain(self.stalls)
    }

    /// Where the line stands among the headlines: regressions before improvements, rates before costs before stalls,
    /// the largest first. None: nothing has changed.
    pub fn rank(&self) -> Option<(u8, f64)> {
        let distance = |verdict: &Verdict| -verdict.deciding().ratio.ln().abs();
        let of = |verdict: &Verdict| {
            let detector = verdict.detector as u8;
            match verdict.class {
                Class::Regression { .. } => Some((detector, distance(verdict))),
                Class::Improvement { .. } => Some((detector + DETECTORS, distance(verdict))),
                Class::Same | Class::Inconclusive => None,
            }
        };
        self.all().filter_map(of).min_by_key(|(rank, _)| *rank)
    }

    /// The line in a sentence or two: `hot-points: 3.1 % slower (2.4 to 3.9 %), 5 blocks; a query executes 4.0 % more
    /// instructions (3.9 to 4.1 %)`.
    pub fn sentence(&self, judged: &Judged<'_>) -> String {
        let mut told: Vec<&Verdict> = self.verdicts().chain(self.changed_stalls()).collect();
        // What the line is listed for comes first.
        if let Some((rank, _)) = self.rank() {
            told.sort_by_key(|verdict| verdict.detector as u8 != rank % DETECTORS);
        }
        let parts: Vec<String> = told.into_iter().map(|verdict| self.part(verdict, judged)).collect();
        format!("{}: {}", self.test, parts.join("; "))
    }

    /// What the line says of one verdict.
    pub fn part(&self, verdict: &Verdict, judged: &Judged<'_>) -> String {
        let deciding = verdict.deciding();
        let (operation, blocks) = (words::operation(self.counts_rows), deciding.blocks);
        let mei = words::percent(deciding.mei);
        match (verdict.class, verdict.detector) {
            (Class::Same, Detector::Rate) => format!("its rate is the same within {mei}"),
            (Class::Same, Detector::Cost) => {
                format!("its {} are the same within {mei}", words::metric(deciding.metric))
            }
            (Class::Same, Detector::Stalls) => format!("stalls take the same time within {mei}"),
            (Class::Inconclusive, Detector::Stalls) if verdict.tags.contains(&Tag::TooShort) => {
                "it was measured too short to rule stalls out".to_owned()
            }
            (Class::Inconclusive, Detector::Stalls) => "its stalls are not decided".to_owned(),
            (Class::Inconclusive, detector) => {
                let what = if detector == Detector::Rate { "its rate" } else { "its cost" };
                match judged.still_takes(verdict) {
                    Some(takes) => format!("{what} is not decided ({takes})"),
                    None if verdict.tags.contains(&Tag::BeyondLooks) => {
                        format!("{what} is too noisy to be decided")
                    }
                    None => format!("{what} is not decided"),
                }
            }
            (_, Detector::Rate | Detector::Stalls) => format!("{}, {blocks} blocks", words::change(deciding)),
            (_, Detector::Cost) => format!("{operation} {}", cost_changes(verdict)),
        }
    }
}
