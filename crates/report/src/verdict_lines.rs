//! Verdicts of one arm, a line for each test: what the table of verdicts, its headline and the gate's outputs share.

use std::collections::BTreeMap;

use rqps_stats::{Class, Detector, Tag, Verdict};
use rqps_store::{RateUnit, Run};
use rqps_verdicts::{RunVerdicts, judge_run_relative_to, rules_of};

use crate::background::Background;
use crate::error::Result;
use crate::groups;
use crate::reading::counts;
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
    /// Steps, by arm, that did not keep their rate of background writes: the pass in which least came. What an arm did
    /// beside them is not judged against one that did more, or less.
    missed: BTreeMap<(usize, String), Background>,
}

/// One test of one arm.
pub(crate) struct Line<'a> {
    pub test: &'a str,
    pub group: &'a str,
    pub rate: Option<&'a Verdict>,
    pub cost: Option<&'a Verdict>,
    pub stalls: Option<&'a Verdict>,
    /// What its operations are.
    pub unit: RateUnit,
    /// Why it has no verdicts, where the background writes were not the same.
    pub missed: Option<Missed>,
}

/// A step whose rate of background writes one of two arms did not keep, or neither.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Missed {
    pub by_arm: bool,
    pub by_base: bool,
    /// `not ranked: new kept 612 of 1000 rows/s of its background writes, old all`.
    pub said: String,
}

impl Missed {
    /// Whether the arm fell short of what base kept.
    pub fn is_regression(&self) -> bool {
        self.by_arm && !self.by_base
    }
}

impl<'a> Judged<'a> {
    /// The verdicts of a run by its own rules; none when it has no blocks.
    pub fn of(run: &'a Run, base: usize) -> Result<Option<Self>> {
        if !rqps_verdicts::has_blocks(run) {
            return Ok(None);
        }
        let mut verdicts = judge_run_relative_to(run, &rules_of(run)?, base)?;
        let missed = missed(run);
        let is_missed = |arm: usize, test: &str| missed.contains_key(&(arm, test.to_owned()));
        verdicts
            .judgement
            .verdicts
            .retain(|one| !is_missed(one.arm, &one.test) && !is_missed(base, &one.test));
        Ok(Some(Self { run, verdicts, base, missed }))
    }

    /// Whether the arm or base did not keep the test's rate of background writes, and in words.
    pub fn missed(&self, arm: usize, test: &str) -> Option<Missed> {
        let of = |arm: usize| self.missed.get(&(arm, test.to_owned()));
        let (own, base) = (of(arm), of(self.base));
        if own.is_none() && base.is_none() {
            return None;
        }
        let part = |arm: usize, missed: Option<&Background>| {
            let kept = missed.map_or_else(|| "kept them".to_owned(), |one| format!("did {}", one.said()));
            format!("{} {kept}", self.run.arms[arm].name)
        };
        Some(Missed {
            by_arm: own.is_some(),
            by_base: base.is_some(),
            said: format!(
                "not ranked, the background writes were not kept: {}, {}",
                part(arm, own),
                part(self.base, base)
            ),
        })
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
                unit: self
                    .run
                    .windows
                    .iter()
                    .find(|window| window.action.step == test.name)
                    .map_or(RateUnit::Queries, |window| window.result.rate_unit),
                missed: self.missed(arm, &test.name),
            };
            if line.rate.is_some() || line.cost.is_some() || line.missed.is_some() {
                lines.push(line);
            }
        }
        let place =
            |line: &Line<'_>| self.run.steps.iter().position(|step| step.name == line.test).unwrap_or(0);
        lines.sort_by(|a, b| {
            groups::place(a.group, a.test, place(a)).cmp(&groups::place(b.group, b.test, place(b)))
        });
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
        sides.side(arm).map_or_else(|| arm.variant(), Side::label)
    }
}

/// Steps whose rate of background writes was not kept in some block that counts.
fn missed(run: &Run) -> BTreeMap<(usize, String), Background> {
    let mut missed: BTreeMap<(usize, String), Background> = BTreeMap::new();
    for (arm, its) in run.arms.iter().enumerate() {
        for window in run.windows.iter().filter(|window| window.action.arm == its.name && counts(run, window))
        {
            let Some(background) = Background::of(window).filter(|background| !background.kept) else {
                continue;
            };
            let least = missed.entry((arm, window.action.step.clone())).or_insert(background);
            if background.rows_per_s < least.rows_per_s {
                *least = background;
            }
        }
    }
    missed
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
        if let Some(missed) = &self.missed {
            // Writes that a system does not keep up with go before any rate of its queries.
            return match (missed.by_arm, missed.by_base) {
                (true, false) => Some((Detector::Rate as u8, f64::NEG_INFINITY)),
                (false, true) => Some((Detector::Rate as u8 + DETECTORS, f64::NEG_INFINITY)),
                _ => None,
            };
        }
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
        if let Some(missed) = &self.missed {
            return format!("{}: {}", self.test, missed.said);
        }
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
        let (operation, blocks) = (words::operation(self.unit), deciding.blocks);
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
