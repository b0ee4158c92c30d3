//! Query plans of a test in columns, one for each plan that differs in more than numbers.

use maud::{Markup, html};
use rqps_explain::{Fingerprint, shortened_plan};
use rqps_model::QueryPlan;

use super::Page;
use crate::comparison::TestStep;
use crate::error::Result;
use crate::render::html::code_box;

/// A statement's distinct plans, each with the arms that chose it.
struct Statement {
    name: String,
    sql: String,
    plans: Vec<(Vec<String>, QueryPlan)>,
}

/// The plans of a test; empty if none was recorded. Expanded if plans differ.
pub(super) fn side_by_side(page: &Page<'_>, step: &TestStep) -> Result<Markup> {
    let statements = statements(page, step)?;
    let differs = statements.iter().any(|statement| statement.plans.len() > 1);
    Ok(html! {
        @if !statements.is_empty() {
            details open[differs] {
                summary { "Query plans" @if differs { " (different)" } @else { " (the same on every arm)" } }
                @for statement in &statements {
                    h4 { (statement.name) }
                    (code_box(&shortened_plan(&statement.sql), "Statement"))
                    div.columns {
                        @for (arms, plan) in &statement.plans {
                            div {
                                h5 { (arms.join(", ")) }
                                (code_box(&shortened_plan(&plan.text), &format!("Plan on {}", arms.join(", "))))
                            }
                        }
                    }
                }
            }
        }
    })
}

fn statements(page: &Page<'_>, step: &TestStep) -> Result<Vec<Statement>> {
    let mut statements: Vec<Statement> = Vec::new();
    for compared in page.comparison.base_first() {
        let Some(window) = compared.first_window(&step.name) else { continue };
        for plan in page.run.plans(window.action.seq)? {
            let index = statements.iter().position(|one| one.name == plan.statement).unwrap_or_else(|| {
                let (name, sql) = (plan.statement.clone(), plan.sql.clone());
                statements.push(Statement { name, sql, plans: Vec::new() });
                statements.len() - 1
            });
            let plans = &mut statements[index].plans;
            let arm = compared.arm.name.clone();
            match plans.iter_mut().find(|(_, known)| Fingerprint::of(known) == Fingerprint::of(&plan)) {
                Some((arms, _)) => arms.push(arm),
                None => plans.push((vec![arm], plan)),
            }
        }
    }
    Ok(statements)
}
