//! The gate: passes or fails a change by a run's verdicts, with output for people and programs.

mod benchmark;
mod decided;
mod junit;
mod summary;

use rqps_stats::{Class, Detector, Metric, Verdict};
use rqps_store::{Arm, Run, Status};
use rqps_verdicts::{MissedBy, rules_of};

use crate::comparison::Comparison;
use crate::document::Document;
use crate::error::{Error, Result};
use crate::format::{Format, Screen};
use crate::reading::Reading;
use crate::render::render;
use crate::verdict_lines::{Judged, Line, Missed};

/// What makes the gate fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateRules {
    /// Significant regressions of these detectors; mixed ones only for resources.
    pub fail_on: Vec<Detector>,
    /// Also mixed regressions of cost and resources, where another resource improved.
    pub mixed: bool,
    /// Also verdicts of `fail_on` that are inconclusive; not those on stalls, which need
    /// more blocks than most runs have.
    pub inconclusive: bool,
}

impl Default for GateRules {
    /// Fails on regressions of rate, cost and stalls, but not if they are mixed or inconclusive.
    fn default() -> Self {
        Self { fail_on: Detector::HEADLINES.to_vec(), mixed: false, inconclusive: false }
    }
}

/// What the gate of a run fails on unless told otherwise: cost and CPU time if its plan judges no rates.
///
/// # Errors
/// If the run's plan cannot be read.
pub fn fail_on_of(run: &Run) -> Result<Vec<Detector>> {
    Ok(match rules_of(run)?.rates {
        true => Detector::HEADLINES.to_vec(),
        false => vec![Detector::Cost, Detector::Cpu],
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Regressed,
    /// No regression, but a test has no valid result on an arm, or the run failed.
    Incomplete,
    /// No regression, but a verdict that the rules require is missing, or there is none at all.
    Undecided,
}

/// The result of the gate.
#[derive(Debug, Clone)]
pub struct Gate {
    pub outcome: Outcome,
    /// A summary in Markdown.
    pub markdown: String,
    summary: Document,
    /// JUnit XML: one test case per verdict. Regressions are failures; inconclusive verdicts are skipped, or
    /// failures if the rules require them. An error unless the gate passes or finds a regression.
    pub junit: String,
    /// A list for benchmark-action's `customSmallerIsBetter`: one entry per metric, with the ratio to base of
    /// the time or cost of an operation.
    pub json: String,
}

impl Gate {
    fn new(outcome: Outcome, summary: Document, junit: String, json: String) -> Result<Self> {
        let markdown = render(&summary, Format::Markdown, Screen::default())?;
        Ok(Self { outcome, markdown, summary, junit, json })
    }

    /// The summary as text.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn text(&self, screen: Screen) -> Result<String> {
        render(&self.summary, Format::Text, screen)
    }

    /// The outcome, with how much of it is decided.
    pub fn heading(&self) -> &str {
        self.summary.remarks().first().copied().unwrap_or_default()
    }
}

/// Applies the rules to a run's verdicts.
///
/// # Errors
/// If the run has no blocks, or cannot be read.
pub fn gate(run: &Run, rules: &GateRules) -> Result<Gate> {
    judge(run, rules, None)
}

/// The result of a run that ended for this reason before it was complete: of what it measured until then, if anything.
///
/// # Errors
/// If the outputs cannot be written.
pub fn gate_of_failed(run: &Run, rules: &GateRules, why: &str) -> Result<Gate> {
    judge(run, rules, Some(why)).or_else(|_| {
        let (xml, json) = (junit::without_verdicts(run, why)?, benchmark::json(run, &[])?);
        Gate::new(Outcome::Incomplete, summary::failed(run, why), xml, json)
    })
}

fn judge(run: &Run, rules: &GateRules, cut_off: Option<&str>) -> Result<Gate> {
    let base = run.arms.iter().position(|arm| arm.role == rqps_store::Role::Base).unwrap_or(0);
    let Some(judged) = Judged::from_run(run, base)? else {
        return match run.meta.is_imported() {
            true => without_repeats(run, base),
            false => Err(Error::no_blocks(run)),
        };
    };
    let readings = [Reading::new(run)];
    let comparison = Comparison::new(&readings, None, &[])?;
    let lines = |arm: usize| {
        let lines = judged.lines(arm, |_| true).into_iter();
        lines.map(|line| line.judging(|verdict| rules.requires(verdict))).collect()
    };
    let at_gate = |arm: usize| ArmAtGate {
        arm,
        lines: lines(arm),
        warnings: comparison.warnings_on(&run.arms[arm], &run.arms[base]),
        builds: [arm, base].iter().filter_map(|arm| build(&run.arms[*arm])).collect(),
    };
    let arms: Vec<ArmAtGate<'_>> = judged.candidates().map(at_gate).collect();
    let verdicts = || arms.iter().flat_map(|arm| arm.lines.iter().flat_map(Line::all));
    let missed = || arms.iter().flat_map(|arm| &arm.lines).filter_map(|line| line.missed.as_ref());
    let unjudged: Vec<usize> =
        arms.iter().filter(|one| !rules.has_judged(&judged, one)).map(|one| one.arm).collect();
    let is_judged = !arms.is_empty() && unjudged.is_empty();
    let unmeasured = if is_judged { rules.unmeasured(&judged) } else { Vec::new() };
    let fails_on_missed = missed().any(|missed| rules.fails_on_missed(missed));
    let outcome = if fails_on_missed || verdicts().any(|verdict| rules.is_regression(verdict)) {
        Outcome::Regressed
    } else if cut_off.is_some()
        || run.status.status == Status::Failed
        || !run.without_result().is_empty()
        || !run.invalid_in_part().is_empty()
    {
        Outcome::Incomplete
    } else if !is_judged
        || !unmeasured.is_empty()
        || missed().any(|missed| rules.lacks_rate(missed))
        || arms.iter().any(|one| rules.decides_nothing(one))
        || verdicts().any(|verdict| rules.is_missing(verdict))
    {
        Outcome::Undecided
    } else {
        Outcome::Passed
    };
    let found = Found { outcome, cut_off, unjudged: &unjudged, unmeasured: &unmeasured };
    let summary = summary::document(&judged, &comparison, &arms, rules, &found)?;
    Gate::new(outcome, summary, junit::xml(&judged, &arms, rules, &found)?, benchmark::json(run, &arms)?)
}

/// The result of a run that was imported without repeats: there is no verdict.
fn without_repeats(run: &Run, base: usize) -> Result<Gate> {
    let blocks_min = rules_of(run)?.looks.first().map_or(0, |look| look.blocks);
    let is_complete = run.without_result().is_empty();
    let outcome = if is_complete { Outcome::Undecided } else { Outcome::Incomplete };
    let why = summary::too_few_repeats(run, base, (1, blocks_min));
    let summary = summary::without_repeats(run, &why, outcome);
    Gate::new(outcome, summary, junit::without_verdicts(run, &why)?, benchmark::json(run, &[])?)
}

/// What the gate found of a whole run.
struct Found<'a> {
    outcome: Outcome,
    /// Why the run ended before it was complete, if this is the run that was started for the gate.
    cut_off: Option<&'a str>,
    /// Arms without a verdict.
    unjudged: &'a [usize],
    /// What the rules ask for and the run has no figures of.
    unmeasured: &'a [Detector],
}

struct ArmAtGate<'a> {
    /// Index in the run's arms.
    arm: usize,
    /// As the rules judge them.
    lines: Vec<Line<'a>>,
    warnings: Vec<String>,
    /// Where its build and base's come from.
    builds: Vec<String>,
}

/// `head: postgres-18.6, /src/postgres at commit 0123456789ab, flavour o2nofp, given as main`; `None` if the origin is
/// not known.
fn build(arm: &Arm) -> Option<String> {
    let Arm { name, dbms, build_version, build_origin, .. } = arm;
    (!build_origin.is_empty()).then(|| format!("{name}: {dbms}-{build_version}, {build_origin}"))
}

impl GateRules {
    /// Whether a missed target rate of background writes fails the gate: that an arm can't keep what base keeps is a
    /// regression of the rate.
    fn fails_on_missed(&self, missed: &Missed) -> bool {
        self.fail_on.contains(&Detector::Rate) && missed.by == MissedBy::Arm
    }

    /// Whether the rules require a verdict on the rate where a missed target leaves none.
    fn lacks_rate(&self, missed: &Missed) -> bool {
        self.inconclusive && self.fail_on.contains(&Detector::Rate) && missed.by == MissedBy::Unclear
    }

    /// Whether the verdict fails the gate.
    fn fails_on(&self, verdict: &Verdict) -> bool {
        self.is_regression(verdict) || self.is_missing(verdict)
    }

    /// Whether the verdict is a regression that the rules cover.
    fn is_regression(&self, verdict: &Verdict) -> bool {
        let is_covered = match verdict.is_mixed() {
            // A resource in `fail_on` counts even if others improved in exchange.
            true => self.mixed || (verdict.detector.is_resource() && self.covers(verdict)),
            false => self.covers(verdict),
        };
        is_covered && verdict.class.is_regression()
    }

    /// Whether the rules require a verdict here that was not reached.
    fn is_missing(&self, verdict: &Verdict) -> bool {
        self.inconclusive && self.requires(verdict) && verdict.class == Class::Inconclusive
    }

    /// Whether no verdict of an arm that should be reached is.
    fn decides_nothing(&self, arm: &ArmAtGate<'_>) -> bool {
        let mut all = arm.lines.iter().flat_map(Line::all).filter(|one| self.requires(one)).peekable();
        all.peek().is_some() && all.all(|one| !one.class.is_decided())
    }

    /// Whether the verdict should be reached. Stalls need more blocks than most runs have.
    fn requires(&self, verdict: &Verdict) -> bool {
        self.covers(verdict) && verdict.detector != Detector::Stalls
    }

    /// CPU time is the cost where no instructions were counted.
    fn covers(&self, verdict: &Verdict) -> bool {
        let is_cpu = verdict.metric == Metric::CpuUs;
        self.fail_on.contains(&verdict.detector) || is_cpu && self.fail_on.contains(&Detector::Cpu)
    }

    /// Whether an arm has a verdict: on rate, cost or stalls if the rules ask for one of them.
    fn has_judged(&self, judged: &Judged<'_>, arm: &ArmAtGate<'_>) -> bool {
        let is_headline = |detector: &Detector| Detector::HEADLINES.contains(detector);
        let asks_for_headline = self.fail_on.iter().any(is_headline);
        let is_reached =
            |one: &Verdict| one.looks_reached > 0 && (!asks_for_headline || is_headline(&one.detector));
        let mut all = judged.verdicts.judgement.verdicts.iter().filter(|one| one.arm == arm.arm);
        all.any(is_reached) || arm.lines.iter().any(|line| line.missed.is_some())
    }

    /// What the rules ask for and the run has no figures of. The default takes what there is of its list.
    fn unmeasured(&self, judged: &Judged<'_>) -> Vec<Detector> {
        if self.fail_on == Self::default().fail_on {
            return Vec::new();
        }
        let run = judged.run;
        let is_judged = |detector: Detector| {
            let rule = Self { fail_on: vec![detector], ..Self::default() };
            judged.verdicts.judgement.verdicts.iter().any(|one| !one.is_control && rule.covers(one))
        };
        // Too little of it for a verdict, such as WAL of reads, is no rise.
        let is_measured = |detector: Detector| {
            let total = detector.measure().and_then(|measure| measure.total);
            let has = |arm: usize| {
                let windows = run.windows.iter().filter(|one| one.action.arm == run.arms[arm].name);
                total.is_some_and(|total| windows.clone().any(|one| one.metrics.contains_key(total)))
            };
            has(judged.base) && judged.candidates().all(has)
        };
        let asked = self.fail_on.iter().copied();
        asked.filter(|detector| !is_judged(*detector) && !is_measured(*detector)).collect()
    }
}
