//! Query plans that differ from base's: whether they do, what became of them, and whether that can be the cause.
//!
//! Two plans are the same when they find, join and sort the same rows in the same way, whatever the version that
//! printed them: costs, estimates, literals, aliases and the numbers of tables do not count.

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

/// What makes a plan another one, as text to compare: a line a node, without costs, estimates, literals, aliases.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    canonical: String,
}

impl Fingerprint {
    /// The fingerprint of a plan by its JSON; where that is not to be understood, by its text.
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

/// What became of base's plan on the arm: `Index Scan on sbtest using k_1 became Seq Scan`. Empty for the same plan.
pub fn changes(base: &QueryPlan, arm: &QueryPlan) -> Vec<String> {
    all_changes(base, arm).into_iter().map(|change| change.said).collect()
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

/// A row that MySQL or MariaDB reads by its whole key before the statement runs.
const CONST_ACCESS: &str = "const access";
/// Changes beyond these are counted, not described.
const CHANGES_TOLD_MAX: usize = 3;
/// Longest line of a plan that is kept as evidence; lists of keys can be thousands of characters long.
const LINE_MAX: usize = 160;
/// A plan that changed goes before whatever it brings about, short of what accounts for nearly all of the change.
const WEIGHT: f64 = 0.95;

/// The finding that statements of this test have another plan; none where all plans are alike.
pub(crate) fn findings(cx: &Context<'_>) -> Result<Vec<Finding>> {
    if !cx.of_one_kind() {
        return Ok(Vec::new());
    }
    let (base, arm) = (Plans::read(cx, cx.base)?, Plans::read(cx, cx.arm)?);
    let changed: Vec<Changed> =
        arm.statements().filter_map(|statement| changed(&base, &arm, statement)).collect();
    if changed.is_empty() {
        return Ok(Vec::new());
    }
    let (weight, effect) = effect(cx);
    let sentence = format!("{}{effect}", sentence(&changed));
    Ok(vec![Finding {
        word: Word::AnotherPlan,
        cause: Cause::QueryPlan,
        sentence,
        weight,
        share: None,
        certainty: Certainty::Fact,
        evidence: changed.iter().flat_map(|changed| changed.evidence(cx)).collect(),
    }])
}

/// Whether a statement of the test has a node of that kind on the arm.
pub(crate) fn has_node(cx: &Context<'_>, kind: &str) -> Result<bool> {
    let plans = Plans::read(cx, cx.arm)?;
    Ok(plans.0.iter().flatten().any(|plan| Fingerprint::of(plan).as_str().contains(kind)))
}

/// What a changed plan weighs, and what its sentence says of its effect on the test.
fn effect(cx: &Context<'_>) -> (f64, &'static str) {
    let is_open = |detector: Detector| {
        cx.verdict(detector).is_some_and(|verdict| matches!(verdict.class, Class::Inconclusive))
    };
    if cx.changed() {
        (WEIGHT, "")
    } else if is_open(Detector::Rate) || is_open(Detector::Cost) {
        (WEIGHT / 2.0, "; whether rate or cost changed is undecided")
    } else {
        (0.0, "; no change of rate or cost is shown")
    }
}

/// The plans of one arm in every window that has some.
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

/// A statement with another plan.
struct Changed {
    statement: String,
    what: Vec<Change>,
    base: QueryPlan,
    arm: QueryPlan,
    /// Windows with the other plan, and windows.
    windows: (usize, usize),
}

/// Compares the statement's plans in all windows with base's first. A plan that base has too in some window is none
/// that tells the two apart.
fn changed(base: &Plans, arm: &Plans, statement: &str) -> Option<Changed> {
    let (before, after) = (base.of(statement), arm.of(statement));
    let known: Vec<Fingerprint> = before.iter().map(|plan| Fingerprint::of(plan)).collect();
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

/// Statements of which the same is to be said are named together.
fn sentence(changed: &[Changed]) -> String {
    let mut told: Vec<(String, Vec<&str>)> = Vec::new();
    for change in changed {
        let said: Vec<&str> = change.what.iter().map(|change| change.said.as_str()).collect();
        let what = format!("{}{}", said.join(", "), change.in_windows());
        match told.iter_mut().find(|(known, _)| *known == what) {
            Some((_, statements)) => statements.push(&change.statement),
            None => told.push((what, vec![&change.statement])),
        }
    }
    let more: usize = told.iter().skip(CHANGES_TOLD_MAX).map(|(_, statements)| statements.len()).sum();
    let mut parts: Vec<String> = told
        .iter()
        .take(CHANGES_TOLD_MAX)
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

/// A plan's text without the ends of very long lines.
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

/// The first line that differs, before and after.
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
