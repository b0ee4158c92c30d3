//! Query plans that differ from the base's, as text. [`Fingerprint`] decides whether two plans are the same.

use rqps_explain::{Fingerprint, of_one_kind, plan_changes, shortened_plan};
use rqps_model::{Dbms, QueryPlan};

use crate::comparison::{ComparedArm, Comparison, StepKind, TestStep};
use crate::document::Block;
use crate::error::Result;
use crate::tables::host;

/// For each plan that differs from the base's: a sentence, then both plans.
pub(crate) fn blocks(comparison: &Comparison<'_>, which: StepKind) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    for step in &comparison.steps(which) {
        for compared in comparison.others() {
            for (before, plan) in changed(&comparison.base, compared, step)?.unwrap_or_default() {
                blocks.extend(described(comparison, compared, step, &before, &plan));
            }
        }
    }
    if blocks.is_empty() {
        blocks.extend(without_change(comparison, which)?.map(Block::Text));
    }
    Ok(blocks)
}

/// What it means that no plan differs: that plans are the same, or that there were none to compare.
fn without_change(comparison: &Comparison<'_>, which: StepKind) -> Result<Option<String>> {
    let steps = comparison.steps(which);
    let base = &comparison.base;
    let speaks_sql = base.arm.dbms.parse::<Dbms>().is_ok_and(Dbms::speaks_sql);
    if !speaks_sql || steps.is_empty() || comparison.others().next().is_none() {
        return Ok(None);
    }
    let is_planned = |arm: &ComparedArm<'_>| -> Result<bool> {
        for step in &steps {
            if has_plans(arm, step)? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let mut planned = Vec::new();
    for arm in comparison.others() {
        if is_planned(arm)? {
            planned.push(arm);
        }
    }
    let is_base_planned = is_planned(base)?;
    let is_compared = |arm: &ComparedArm<'_>| of_one_kind(&base.arm.dbms, &arm.arm.dbms);
    let compared = planned.iter().filter(|arm| is_compared(arm)).count();
    let text = if compared > 0 && is_base_planned {
        let kind = match (comparison.others().all(is_compared), compared == comparison.others().count()) {
            (_, true) => "",
            (true, _) => " whose plans were read",
            (false, _) => " that runs the same kind of DBMS",
        };
        format!("Every statement has the same plan as on base on every variant{kind}.")
    } else if base.run.meta.is_imported() {
        // Few imported files have plans.
        return Ok(None);
    } else if !comparison.others().any(is_compared) {
        "Query plans are not compared: no variant runs the same kind of DBMS as base.".to_owned()
    } else {
        match host::driver(base.run).filter(|_| !is_base_planned && planned.is_empty()) {
            Some(driver) => format!(
                "Query plans are not compared: none were read, because {driver} sends the statements. \
                 Runs that rqps drives itself have them."
            ),
            None if is_base_planned => {
                "Query plans are not compared: none were read on another variant.".to_owned()
            }
            None => "Query plans are not compared: none were read on base.".to_owned(),
        }
    };
    Ok(Some(text))
}

/// The statements of a step whose plans differ, with both plans; `None` if there is nothing to compare: plans of only
/// one arm, or of different kinds of DBMS.
pub(crate) fn changed(
    base: &ComparedArm<'_>,
    arm: &ComparedArm<'_>,
    step: &TestStep,
) -> Result<Option<Vec<(QueryPlan, QueryPlan)>>> {
    if !of_one_kind(&base.arm.dbms, &arm.arm.dbms) {
        return Ok(None);
    }
    let (of_base, of_arm) = (plans(base, step)?, plans(arm, step)?);
    if of_base.is_empty() || of_arm.is_empty() {
        return Ok(None);
    }
    let pairs = of_arm.into_iter().filter_map(|plan| {
        let before = of_base.iter().find(|before| before.statement == plan.statement)?;
        Some((before.clone(), plan))
    });
    Ok(Some(pairs.filter(|(before, plan)| Fingerprint::of(before) != Fingerprint::of(plan)).collect()))
}

/// Whether plans of a step were read on an arm.
fn has_plans(arm: &ComparedArm<'_>, step: &TestStep) -> Result<bool> {
    Ok(!plans(arm, step)?.is_empty())
}

fn plans(arm: &ComparedArm<'_>, step: &TestStep) -> Result<Vec<QueryPlan>> {
    match arm.first_window(&step.name) {
        Some(window) => Ok(arm.run.plans(window.action.seq)?),
        None => Ok(Vec::new()),
    }
}

fn described(
    comparison: &Comparison<'_>,
    arm: &ComparedArm<'_>,
    step: &TestStep,
    before: &QueryPlan,
    plan: &QueryPlan,
) -> [Block; 4] {
    let (test, statement) = (&step.name, &plan.statement);
    [
        Block::Text(format!(
            "The plan of {statement} in {test} differs: {}. On {}:",
            plan_changes(before, plan).join("; "),
            comparison.base.label()
        )),
        Block::Code(shortened_plan(&before.text)),
        Block::Text(format!("On {}:", arm.label())),
        Block::Code(shortened_plan(&plan.text)),
    ]
}
