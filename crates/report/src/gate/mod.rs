//! The gate: whether a run's verdicts let a change pass, for people and for programs.

mod benchmark;
mod junit;
mod summary;

use rqps_stats::{Class, Detector, Verdict};
use rqps_store::Run;

use crate::error::{Error, Result};
use crate::reading::Reading;
use crate::sides::Sides;
use crate::verdict_lines::{Judged, Line, Missed};

/// What makes the gate fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateRules {
    /// Significant regressions of these. Of the cost those that are not mixed: something else that an operation takes
    /// has not fallen.
    pub fail_on: Vec<Detector>,
    /// What has risen beside something that has fallen, of the cost and the resources.
    pub mixed: bool,
    /// Verdicts on what is named that were not reached, or that may be chance among so many. Those on stalls take
    /// longer than most runs.
    pub inconclusive: bool,
}

impl Default for GateRules {
    /// Regressions of the rate, the cost and stalls; what is mixed or not decided lets a change pass.
    fn default() -> Self {
        Self { fail_on: Detector::HEADLINES.to_vec(), mixed: false, inconclusive: false }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing that counts got worse.
    Passed,
    Regressed,
    /// Nothing did as far as is known, but verdicts are missing that were asked for.
    Undecided,
}

/// A run at the gate.
#[derive(Debug, Clone)]
pub struct Gate {
    pub outcome: Outcome,
    /// A summary for people, Markdown.
    pub markdown: String,
    /// JUnit XML: a test case for each verdict; a regression is a failure, an open verdict is skipped (a failure, where
    /// the rules say so).
    pub junit: String,
    /// A list for benchmark-action's `customSmallerIsBetter`: an entry for each metric, with the ratio to base of the
    /// time or the cost of an operation.
    pub json: String,
}

/// Holds a run's verdicts against the rules.
///
/// # Errors
/// When the run has no blocks, when none of its verdicts came to a look, or when its folder cannot be read.
pub fn gate(run: &Run, rules: &GateRules) -> Result<Gate> {
    let base = run.arms.iter().position(|arm| arm.role == rqps_store::Role::Base).unwrap_or(0);
    let judged = Judged::from_run(run, base)?.ok_or_else(|| Error::NoBlocks { run: run.folder.name() })?;
    let readings = [Reading::new(run)];
    let sides = Sides::new(&readings, None, &[])?;
    let at_gate = |arm: usize| ArmAtGate {
        arm,
        lines: judged.lines(arm, |_| true),
        warnings: sides.warnings_on(&run.arms[arm], &run.arms[base]),
    };
    let arms: Vec<ArmAtGate<'_>> = judged.candidates().map(at_gate).collect();
    let verdicts = || arms.iter().flat_map(|arm| arm.lines.iter().flat_map(Line::all));
    let looked = |verdict: &Verdict| verdict.looks_reached > 0;
    let missed = || arms.iter().flat_map(|arm| &arm.lines).filter_map(|line| line.missed.as_ref());
    if !verdicts().any(looked) && missed().next().is_none() {
        return Err(Error::NothingJudged { run: run.folder.name(), blocks: judged.verdicts.blocks_done });
    }
    let fell_short = missed().any(|missed| rules.fails_on_missed(missed));
    let outcome = if fell_short || verdicts().any(|verdict| rules.is_regression(verdict)) {
        Outcome::Regressed
    } else if verdicts().any(|verdict| rules.is_missing(verdict)) {
        Outcome::Undecided
    } else {
        Outcome::Passed
    };
    Ok(Gate {
        outcome,
        markdown: summary::markdown(&judged, &arms, outcome, &sides.warnings())?,
        junit: junit::xml(&judged, &arms, rules)?,
        json: benchmark::json(&judged, &arms)?,
    })
}

struct ArmAtGate<'a> {
    /// Index in the run's arms.
    arm: usize,
    lines: Vec<Line<'a>>,
    /// What must be read with them.
    warnings: Vec<String>,
}

impl GateRules {
    /// Whether an arm that missed its target rate of background writes, while base met it, fails the gate: it counts as
    /// a regression of the rate.
    fn fails_on_missed(&self, missed: &Missed) -> bool {
        self.fail_on.contains(&Detector::Rate) && missed.is_regression()
    }

    /// Whether this verdict alone fails the gate.
    fn fails_on(&self, verdict: &Verdict) -> bool {
        self.is_regression(verdict) || self.is_missing(verdict)
    }

    /// Whether it says that something got worse that was asked for. A call that may be chance among all verdicts of the
    /// run does not.
    fn is_regression(&self, verdict: &Verdict) -> bool {
        let is_asked_for = match verdict.is_mixed() {
            // A resource that is named explicitly counts, whatever else was saved in exchange.
            true => {
                self.mixed || (verdict.detector.is_resource() && self.fail_on.contains(&verdict.detector))
            }
            false => self.fail_on.contains(&verdict.detector),
        };
        is_asked_for && verdict.class.is_regression() && verdict.significant
    }

    /// Whether what was asked for is not known.
    fn is_missing(&self, verdict: &Verdict) -> bool {
        let may_be_chance = verdict.class.is_regression() && !verdict.significant;
        let is_asked_for = self.fail_on.contains(&verdict.detector) && verdict.detector != Detector::Stalls;
        self.inconclusive && is_asked_for && (verdict.class == Class::Inconclusive || may_be_chance)
    }
}
