//! The gate: whether a run's verdicts let a change pass, told to people and to programs.

mod benchmark;
mod junit;
mod summary;

use rqps_stats::{Class, Detector, Verdict};
use rqps_store::Run;

use crate::error::{Error, Result};
use crate::reading::Reading;
use crate::sides::Sides;
use crate::verdict_lines::{Judged, Line, Missed};

/// What makes the gate close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateRules {
    /// Regressions of the rate.
    pub rate: bool,
    /// Regressions of the cost of an operation.
    pub cost: bool,
    /// Regressions of the time lost in stalls.
    pub stalls: bool,
    /// Verdicts on rate and cost that were not reached. Those on stalls take longer than most runs.
    pub inconclusive: bool,
}

impl Default for GateRules {
    /// Regressions of any kind; what is not decided lets a change pass.
    fn default() -> Self {
        Self { rate: true, cost: true, stalls: true, inconclusive: false }
    }
}

/// How it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing that counts got worse.
    Passed,
    /// Something did.
    Regressed,
    /// Nothing did as far as is known, but verdicts are missing that were asked for.
    Undecided,
}

/// A run at the gate.
#[derive(Debug, Clone)]
pub struct Gate {
    /// How it ends.
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
pub fn gate(run: &Run, rules: GateRules) -> Result<Gate> {
    let base = run.arms.iter().position(|arm| arm.role == rqps_store::Role::Base).unwrap_or(0);
    let judged = Judged::of(run, base)?.ok_or_else(|| Error::NoBlocks { run: run.folder.name() })?;
    let readings = [Reading::of(run)];
    let sides = Sides::new(&readings, None, &[])?;
    let at_gate = |arm: usize| ArmAtGate {
        arm,
        lines: judged.lines(arm, |_| true),
        warnings: sides.warnings_on(&run.arms[arm], &run.arms[base]),
    };
    let arms: Vec<ArmAtGate<'_>> = judged.candidates().map(at_gate).collect();
    let verdicts = || arms.iter().flat_map(|arm| arm.lines.iter().flat_map(Line::all));
    let looked = |verdict: &Verdict| verdict.metrics.iter().any(|one| one.looks_reached > 0);
    let missed = || arms.iter().flat_map(|arm| &arm.lines).filter_map(|line| line.missed.as_ref());
    if !verdicts().any(looked) && missed().next().is_none() {
        return Err(Error::NothingJudged { run: run.folder.name(), blocks: judged.verdicts.blocks_done });
    }
    let fell_short = missed().any(|missed| rules.closes_on_missed(missed));
    let outcome = if fell_short
        || verdicts().any(|verdict| rules.closes_on(verdict) && verdict.class.is_regression())
    {
        Outcome::Regressed
    } else if verdicts().any(|verdict| rules.closes_on(verdict)) {
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

/// One candidate's verdicts.
struct ArmAtGate<'a> {
    /// Index in the run's arms.
    arm: usize,
    lines: Vec<Line<'a>>,
    /// What must be read with them.
    warnings: Vec<String>,
}

impl GateRules {
    /// Whether background writes that an arm did not keep, and base did, keep a change out, as a regression of the
    /// rate.
    fn closes_on_missed(&self, missed: &Missed) -> bool {
        self.rate && missed.is_regression()
    }

    /// Whether this verdict alone keeps a change out.
    fn closes_on(&self, verdict: &Verdict) -> bool {
        let is_wanted = match verdict.detector {
            Detector::Rate => self.rate,
            Detector::Cost => self.cost,
            Detector::Stalls => self.stalls,
        };
        is_wanted
            && match verdict.class {
                Class::Regression { .. } => true,
                Class::Inconclusive => self.inconclusive && verdict.detector != Detector::Stalls,
                Class::Improvement { .. } | Class::Same => false,
            }
    }
}
