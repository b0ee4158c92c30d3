//! Query plans that differ from base's: which, how they changed, and whether that can be a cause.
//!
//! Two plans are the same if they find, join and sort the same rows in the same way in any version's format:
//! costs, estimates, literals, aliases and the numbers of tables are ignored.

use rqps_model::{QueryPlan, clipped};
use rqps_stats::{Class, Detector};

use crate::context::Context;
use crate::error::Result;
use crate::model::{Cause, Certainty, Evidence, Finding, Shows, Word};

mod blocks;
mod changes;
mod expression;
mod iterators;
mod tree;

use changes::Change;
use tree::Tree;

/// The identity of a plan as text: one line per node, without costs, estimates, literals and aliases.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    canonical: String,
}

impl Fingerprint {
    /// The fingerprint of a plan from its JSON or, if that is not recognized, from its text.
    pub fn of(plan: &QueryPlan) -> Self {
        let canonical =
            Tree::parse(&plan.json).map_or_else(|| shape_of_text(&plan.text), |tree| tree.canonical());
        Self { canonical }
    }

    /// The text that is compared.
    pub fn as_str(&self) -> &str {
        &self.canonical
    }
}

/// How the plan changed from base to the arm: `Index Scan on sbtest using k_1 became Seq Scan`. Empty if it
/// is the same.
pub fn changes(base: &QueryPlan, arm: &QueryPlan) -> Vec<String> {
    all_changes(base, arm).into_iter().map(|change| change.text).collect()
}

fn all_changes(base: &QueryPlan, arm: &QueryPlan) -> Vec<Change> {
    if Fingerprint::of(base) == Fingerprint::of(arm) {
        return Vec::new();
    }
    match (Tree::parse(&base.json), Tree::parse(&arm.json)) {
        (Some(base), Some(arm)) => changes::changes(&base, &arm),
        _ => change_of_text(&base.text, &arm.text).into_iter().collect(),
    }
}

/// A row that MySQL or MariaDB reads by its full key before execution.
const CONST_ACCESS: &str = "const access";
/// Further changes are counted, not described.
const CHANGES_NAMED_MAX: usize = 3;
/// Maximum length of a plan's line in evidence; lists of keys can have thousands of characters.
const LINE_MAX: usize = 160;
/// A changed plan comes before its effects, but after a finding that accounts for nearly all of the change.
const WEIGHT: f64 = 0.95;

/// The finding that statements of this test have a different plan; empty if all plans are the same.
pub(crate) fn findings(cx: &Context<'_>) -> Result<Vec<Finding>> {
    if !cx.of_one_kind() {
        return Ok(Vec::new());
    }
    let (base, arm) = (Plans::read(cx, cx.base)?, Plans::read(cx, cx.arm)?);
    let control = cx.control.map(|control| Plans::read(cx, control)).transpose()?;
    let changed: Vec<Changed> =
        arm.statements().filter_map(|statement| changed(&base, control.as_ref(), &arm, statement)).collect();
    if changed.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![Finding {
        word: Word::AnotherPlan,
        cause: Cause::QueryPlan,
        sentence: sentence(&changed),
        weight: weight(cx),
        share: None,
        certainty: Certainty::Fact,
        evidence: changed.iter().flat_map(|changed| changed.evidence(cx)).collect(),
    }])
}

/// Whether the plan of any statement of the test has a node of this type on the arm.
pub(crate) fn has_node(cx: &Context<'_>, kind: &str) -> Result<bool> {
    let plans = Plans::read(cx, cx.arm)?;
    Ok(plans.0.iter().flatten().any(|plan| Fingerprint::of(plan).as_str().contains(kind)))
}

/// The weight of a changed plan, by whether it is known to have an effect on the test.
fn weight(cx: &Context<'_>) -> f64 {
    let is_open = |detector: Detector| {
        cx.verdict(detector).is_some_and(|verdict| matches!(verdict.class, Class::Inconclusive))
    };
    if cx.changed() {
        WEIGHT
    } else if is_open(Detector::Rate) || is_open(Detector::Cost) {
        WEIGHT / 2.0
    } else {
        0.0
    }
}

/// The plans of one arm, for each window that has any.
struct Plans(Vec<Vec<QueryPlan>>);

impl Plans {
    fn read(cx: &Context<'_>, arm: usize) -> Result<Self> {
        let windows = cx.windows(arm);
        let plans: rqps_store::Result<Vec<_>> =
            windows.iter().map(|window| cx.run.plans(window.action.seq)).collect();
        Ok(Self(plans?.into_iter().filter(|plans| !plans.is_empty()).collect()))
    }

    fn statements(&self) -> impl Iterator<Item = &str> {
        self.0.first().into_iter().flatten().map(|plan| plan.statement.as_str())
    }

    fn of(&self, statement: &str) -> Vec<&QueryPlan> {
        self.0.iter().flatten().filter(|plan| plan.statement == statement).collect()
    }
}

/// A statement whose plan changed.
struct Changed {
    statement: String,
    what: Vec<Change>,
    base: QueryPlan,
    arm: QueryPlan,
    /// Number of windows with the new plan, and of all windows.
    windows: (usize, usize),
}

/// Compares the statement's plans in all windows of the arm with base's first. A plan that base or its control
/// also has in some window does not count as different.
fn changed(base: &Plans, control: Option<&Plans>, arm: &Plans, statement: &str) -> Option<Changed> {
    let (before, after) = (base.of(statement), arm.of(statement));
    let again = control.map(|control| control.of(statement)).unwrap_or_default();
    let known: Vec<Fingerprint> = before.iter().chain(&again).map(|plan| Fingerprint::of(plan)).collect();
    let first = *before.first()?;
    let others: Vec<&QueryPlan> =
        after.iter().copied().filter(|plan| !known.contains(&Fingerprint::of(plan))).collect();
    let other = *others.first()?;
    Some(Changed {
        statement: statement.to_owned(),
        what: all_changes(first, other),
        base: first.clone(),
        arm: other.clone(),
        windows: (others.len(), after.len()),
    })
}

impl Changed {
    fn evidence(&self, cx: &Context<'_>) -> [Evidence; 2] {
        let parts = || self.what.iter().flat_map(|change| change.parts.clone()).collect();
        let text = |arm: &str, plan: &QueryPlan| Evidence {
            what: format!("plan of {} on {arm}", self.statement),
            text: Some(shortened(&plan.text)),
            shows: Shows::Plan(parts()),
            ..Evidence::default()
        };
        let (arm, base) = cx.names();
        [text(base, &self.base), text(arm, &self.arm)]
    }

    fn in_windows(&self) -> String {
        let (with, all) = self.windows;
        if with == all { String::new() } else { format!(" in {with} of {all} windows") }
    }
}

/// Groups statements with the same change.
fn sentence(changed: &[Changed]) -> String {
    let mut grouped: Vec<(String, Vec<&str>)> = Vec::new();
    for change in changed {
        let texts: Vec<&str> = change.what.iter().map(|change| change.text.as_str()).collect();
        let what = format!("{}{}", texts.join(", "), change.in_windows());
        match grouped.iter_mut().find(|(known, _)| *known == what) {
            Some((_, statements)) => statements.push(&change.statement),
            None => grouped.push((what, vec![&change.statement])),
        }
    }
    let more: usize = grouped.iter().skip(CHANGES_NAMED_MAX).map(|(_, statements)| statements.len()).sum();
    let mut parts: Vec<String> = grouped
        .iter()
        .take(CHANGES_NAMED_MAX)
        .map(|(what, statements)| match statements.len() {
            1 => format!("{what} (statement {})", statements[0]),
            _ => format!("{what} (statements {})", statements.join(", ")),
        })
        .collect();
    if more > 0 {
        parts.push(format!("{more} more statements changed plan"));
    }
    parts.join("; ")
}

/// Clips very long lines of a plan.
pub fn shortened(plan: &str) -> String {
    plan.lines().map(|line| clipped(line, LINE_MAX)).collect::<Vec<_>>().join("\n")
}

/// The lines of a plan's text without `(cost=…)`, `(actual …)` and literals.
fn shape_of_text(plan: &str) -> String {
    let names = std::collections::BTreeMap::new();
    let line = |line: &str| {
        let end = ["  (cost=", " (cost=", " (actual "].iter().filter_map(|mark| line.find(mark)).min();
        expression::normalised(line[..end.unwrap_or(line.len())].trim_end(), &names)
    };
    plan.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The first line that differs.
fn change_of_text(base: &str, arm: &str) -> Option<Change> {
    let (base, arm) = (shape_of_text(base), shape_of_text(arm));
    let line = |line: Option<&str>| {
        line.map_or_else(
            || "nothing".to_owned(),
            |line| line.trim().trim_start_matches("->").trim().to_owned(),
        )
    };
    let (mut before, mut after) = (base.lines(), arm.lines());
    loop {
        match (before.next(), after.next()) {
            (None, None) => return None,
            (old, new) if old != new => {
                let (old, new) = (line(old), line(new));
                return Some(Change::of_nodes(format!("{old} became {new}"), &[&old, &new]));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_mysql;
