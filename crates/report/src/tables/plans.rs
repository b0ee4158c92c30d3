//! Query plans that differ from the base's, as text.
//!
//! Two plans are the same when they differ only in costs, row estimates, timings and literal numbers. A changed plan
//! is often the whole explanation of a changed rate.

use rqps_store::QueryPlan;

use crate::document::Block;
use crate::error::Result;
use crate::sides::{Side, Sides, TestStep, Which};

/// Longest line of a plan that is shown; lists of keys can be thousands of characters long.
const LINE_MAX: usize = 160;

/// For each plan that differs from the base's: where, then both plans.
pub(crate) fn blocks(sides: &Sides<'_>, which: Which) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    for step in &sides.steps(which) {
        let base = plans(&sides.base, step)?;
        for side in sides.others() {
            for plan in plans(side, step)? {
                let Some(before) = base.iter().find(|before| before.statement == plan.statement) else {
                    continue;
                };
                if shape(&before.text) != shape(&plan.text) {
                    blocks.extend(changed(sides, side, step, before, &plan));
                }
            }
        }
    }
    if blocks.is_empty() {
        blocks.push(Block::Text("Every statement has the base's plan on every variant.".to_owned()));
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
        Block::Text(format!("The plan of {statement} in {test} differs. On {}:", sides.base.label())),
        Block::Code(shortened(&before.text)),
        Block::Text(format!("On {}:", side.label())),
        Block::Code(shortened(&plan.text)),
    ]
}

fn shortened(plan: &str) -> String {
    let short = |line: &str| match line.char_indices().nth(LINE_MAX) {
        Some((end, _)) => format!("{} …", &line[..end]),
        None => line.to_owned(),
    };
    plan.lines().map(short).collect::<Vec<_>>().join("\n")
}

/// The plan without what may differ between two equal ones: `(cost=…)`, `(actual …)` and literal numbers. Numbers in
/// names (`sbtest1`, `k_1`, `$1`) stay.
fn shape(plan: &str) -> String {
    let mut shape = String::with_capacity(plan.len());
    for line in plan.lines() {
        let end = ["  (cost=", " (cost=", " (actual "].iter().filter_map(|mark| line.find(mark)).min();
        let mut in_name = false;
        for c in line[..end.unwrap_or(line.len())].trim_end().chars() {
            if !c.is_ascii_digit() {
                in_name = c.is_alphanumeric() || matches!(c, '_' | '$');
                shape.push(c);
            } else if in_name {
                shape.push(c);
            } else if !shape.ends_with('#') {
                shape.push('#');
            }
        }
        shape.push('\n');
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_and_literals_do_not_make_another_plan() {
        let a = "Index Scan using sbtest1_pkey on sbtest1  (cost=0.42..8.44 rows=1 width=121)\n  Index Cond: (id = 1234)";
        let b = "Index Scan using sbtest1_pkey on sbtest1  (cost=0.43..8.45 rows=9 width=121)\n  Index Cond: (id = 77)";
        assert_eq!(shape(a), shape(b));
        assert_ne!(shape(a), shape(&b.replace("sbtest1_pkey", "k_1")));
        assert_ne!(shape("Index Cond: (id = $1)"), shape("Index Cond: (id = $2)"));
        assert_ne!(shape(a), shape(&a.replace("Index Scan", "Index Only Scan")));
    }
}
