//! Query plans that differ from the base's, as text.
//!
//! What makes two plans the same is decided by [`Fingerprint`]. A changed plan is often the whole explanation of a
//! changed rate.

use rqps_explain::{Fingerprint, of_one_kind, plan_changes, shortened_plan};
use rqps_model::QueryPlan;

use crate::document::Block;
use crate::error::Result;
use crate::sides::{Side, Sides, StepKind, TestStep};

/// For each plan that differs from the base's: where, then both plans.
pub(crate) fn blocks(sides: &Sides<'_>, which: StepKind) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    for step in &sides.steps(which) {
        let base = plans(&sides.base, step)?;
        for side in sides.others().filter(|side| of_one_kind(&sides.base.arm.dbms, &side.arm.dbms)) {
            for plan in plans(side, step)? {
                let Some(before) = base.iter().find(|before| before.statement == plan.statement) else {
                    continue;
                };
                if Fingerprint::of(before) != Fingerprint::of(&plan) {
                    blocks.extend(changed(sides, side, step, before, &plan));
                }
            }
        }
    }
    if blocks.is_empty() {
        let all_alike = sides.others().all(|side| of_one_kind(&sides.base.arm.dbms, &side.arm.dbms));
        let kind = if all_alike { "" } else { " that runs the same kind of DBMS" };
        blocks.push(Block::Text(format!(
            "Every statement has the same plan as on base on every variant{kind}."
        )));
    }
    Ok(blocks)
}

fn plans(side: &Side<'_>, step: &TestStep) -> Result<Vec<QueryPlan>> {
    match side.first_window(&step.name) {
        Some(window) => Ok(side.run.plans(window.action.seq)?),
        None => Ok(Vec::new()),
    }
}

fn changed(
    sides: &Sides<'_>,
    side: &Side<'_>,
    step: &TestStep,
    before: &QueryPlan,
    plan: &QueryPlan,
) -> [Block; 4] {
    let (test, statement) = (&step.name, &plan.statement);
    [
        Block::Text(format!(
            "The plan of {statement} in {test} differs: {}. On {}:",
            plan_changes(before, plan).join("; "),
            sides.base.label()
        )),
        Block::Code(shortened_plan(&before.text)),
        Block::Text(format!("On {}:", side.label())),
        Block::Code(shortened_plan(&plan.text)),
    ]
}
