//! Functions in which sessions of one arm alone were seen, such as code that a change adds. They are told with the cost
//! that they are part of, even where the windows' CPU time is too noisy to tell how much of it they are.

use rqps_stats::Detector;

use super::change::{Changed, Changes};
use super::stacks::{Stacks, is_kernel, is_named};
use super::{NAMED_MAX, figure, more};
use crate::context::Context;
use crate::model::{Cause, Certainty, Evidence, Finding, Word};
use crate::words;

/// What they are part of; the first that there is.
const COSTS: [Cause; 3] = [Cause::Instructions, Cause::CpuTime, Cause::Function];

pub(crate) struct NewFunctions {
    clause: String,
    figures: Vec<Evidence>,
    /// Whether the cost rose, so that they are the arm's; else they are base's.
    rose: bool,
}

impl NewFunctions {
    /// Those that go with a change of the cost.
    pub(super) fn of(cx: &Context<'_>, changes: &Changes, stacks: &[Stacks; 2]) -> Option<Self> {
        let cost = cx.verdict(Detector::Cost).filter(|verdict| verdict.class.is_change())?;
        let rose = cost.class.is_regression();
        let without = &stacks[usize::from(!rose)].functions;
        let is_new = |changed: &&Changed| {
            is_named(&changed.name) && !is_kernel(&changed.name) && !without.contains_key(&changed.name)
        };
        let new: Vec<&Changed> = changes.functions.iter().filter(is_new).collect();
        let (arm, base) = cx.names();
        let (has, lacks) = if rose { (arm, base) } else { (base, arm) };
        let named = new.iter().take(NAMED_MAX).enumerate().map(|(place, changed)| {
            let us = words::number(changed.spent.change_us().abs());
            let of = if place == 0 { format!(" of CPU per {}", cx.operation()) } else { String::new() };
            format!("{us} us{of} in {}", changed.name)
        });
        let rest = match new.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            rest => format!(" and in {}", more(rest)),
        };
        let clause = format!(
            "in the profiles, {has} spends {}{rest}, where {lacks} has no sample",
            words::list(&named.collect::<Vec<_>>())
        );
        let figures = new.iter().take(NAMED_MAX).map(|changed| figure(cx, changed, "in")).collect();
        (!new.is_empty()).then_some(Self { clause, figures, rose })
    }

    /// Tells of them where the cost is explained.
    pub(crate) fn tell(self, findings: &mut Vec<Finding>) {
        let is_cost =
            |finding: &&mut Finding| COSTS.contains(&finding.cause) && finding.direction() == Some(self.rose);
        match findings.iter_mut().find(is_cost) {
            Some(cost) => {
                cost.add(&self.clause);
                cost.evidence.extend(self.figures);
            }
            None => findings.push(Finding {
                word: Word::work(self.rose),
                cause: Cause::Function,
                sentence: self.clause,
                weight: 0.0,
                share: None,
                certainty: Certainty::SinglePass,
                evidence: self.figures,
            }),
        }
    }
}
