//! Query plans that differ from the base's, as text. [`Fingerprint`] decides whether two plans are the same.

use rqps_explain::{Fingerprint, of_one_kind, plan_changes, shortened_plan};
use rqps_model::QueryPlan;

use crate::comparison::{ComparedArm, Comparison, StepKind, TestStep};
use crate::document::Block;
use crate::error::Result;

/// For each plan that differs from the base's: a sentence, then both plans.
pub(crate) fn blocks(comparison: &Comparison<'_>, which: StepKind) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    for step in &comparison.steps(which) {
        for compared in comparison.others() {
            for (before, plan) in changed(&comparison.base, compared, step)? {
                blocks.extend(described(comparison, compared, step, &before, &plan));
            }
        }
    }
    // Few imported files have plans.
    let is_planned = |arm: &ComparedArm<'_>| {
        let steps = comparison.steps(which);
        !arm.run.meta.is_imported()
            || steps.iter().any(|step| plans(arm, step).is_ok_and(|plans| !plans.is_empty()))
    };
    let has_plans = is_planned(&comparison.base) && comparison.others().any(is_planned);
    if blocks.is_empty() && has_plans {
        let is_one_kind =
            comparison.others().all(|compared| of_one_kind(&comparison.base.arm.dbms, &compared.arm.dbms));
        let kind = if is_one_kind { "" } else { " that runs the same kind of DBMS" };
        blocks.push(Block::Text(format!(
            "Every statement has the same plan as on base on every variant{kind}."
        )));
    }
    Ok(blocks)
}

/// The statements of a step whose plans differ, with both plans; none if the arms run different kinds of DBMS.
pub(crate) fn changed(
    base: &ComparedArm<'_>,
    arm: &ComparedArm<'_>,
    step: &TestStep,
) -> Result<Vec<(QueryPlan, QueryPlan)>> {
    if !of_one_kind(&base.arm.dbms, &arm.arm.dbms) {
        return Ok(Vec::new());
    }
    let of_base = plans(base, step)?;
    let pairs = plans(arm, step)?.into_iter().filter_map(|plan| {
        let before = of_base.iter().find(|before| before.statement == plan.statement)?;
        Some((before.clone(), plan))
    });
    Ok(pairs.filter(|(before, plan)| Fingerprint::of(before) != Fingerprint::of(plan)).collect())
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
