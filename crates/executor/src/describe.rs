//! The parameters and planned steps that a run records before it begins.

use crate::arm::Ingredients;
use rqps_model::{Limit, Setting};
use rqps_plan::{ActionKind, Plan, Protocol, Step, schedule};
use rqps_store::{Meta, PlannedStep, now_ms};
use std::collections::BTreeSet;

/// The parameter of the method that describes the driver.
pub(crate) const DRIVER: &str = "driver";

/// The run's parameters; `driver` is [`crate::Driver::described`].
pub(crate) fn meta(
    plan: &Plan,
    ingredients: &[Ingredients],
    driver: Option<String>,
    program_version: &str,
) -> Meta {
    let actions_total = schedule(plan).actions.len() as u32;
    let workload = &plan.workload;
    let mut method: Vec<_> =
        plan.work.method(plan).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    method.extend(driver.map(|described| (DRIVER.to_owned(), described)));
    if plan.isolated.is_some() {
        let of_arms = ingredients.iter().map(|ingredients| ingredients.system.method_of_blocks());
        let distinct: BTreeSet<_> = of_arms.collect();
        method.extend(distinct.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())));
        let copies = ingredients.iter().map(|one| one.copies.len() + 1).max().unwrap_or(1);
        if copies > 1 {
            let value =
                format!("{copies} of each build from source, with functions at other addresses, in turn");
            method.push(("copies".to_owned(), value));
        }
    }
    Meta {
        name: plan.name.clone(),
        program_version: program_version.to_owned(),
        created_at_ms: now_ms(),
        workload: plan.work.benchmark().id().to_owned(),
        workload_title: plan.work.benchmark().title().to_owned(),
        workload_revision: plan.work.benchmark().revision().to_owned(),
        protocol: plan.protocol.key().to_owned(),
        seed: plan.seed,
        tables: plan.work.tables(),
        rows_per_table: plan.work.rows_per_table(),
        clients: workload.clients,
        actions_total,
        method: method.into_iter().map(|(name, value)| Setting { name, value }).collect(),
    }
}

/// The tests of a plan of blocks.
fn isolated_steps(plan: &Plan) -> Vec<PlannedStep> {
    let steps = plan.steps().into_iter().enumerate();
    let step = |(at, step): (usize, Step)| {
        let Step::Measure(step) = step else {
            return None;
        };
        Some(PlannedStep {
            position: at as u32,
            clients: step.clients,
            amount: match plan.options_of(&step.name).events {
                Some(events) => format!("{events} events"),
                None => format!("what base does in {} s", plan.window_seconds_of(&step.name)),
            },
            name: step.name,
            kind: "measure".to_owned(),
            test: Some(step.test),
            group: Some(step.group.clone()),
            role: Some(step.role),
            writes: step.writes,
        })
    };
    steps.filter_map(step).collect()
}

/// The steps as planned for base; the other arms have the same.
pub(crate) fn steps(plan: &Plan) -> Vec<PlannedStep> {
    if plan.protocol == Protocol::Isolated {
        return isolated_steps(plan);
    }
    let base = plan.base_index();
    let schedule = schedule(plan);
    let actions = schedule.actions.into_iter().filter(|action| action.arm == base);
    let mut steps = Vec::new();
    for action in actions {
        let step = |name: &str, kind: &str| PlannedStep {
            position: steps.len() as u32,
            name: name.to_owned(),
            kind: kind.to_owned(),
            test: None,
            group: None,
            role: None,
            writes: false,
            clients: plan.workload.clients,
            amount: String::new(),
        };
        let planned = match &action.kind {
            ActionKind::Start | ActionKind::Stop => continue,
            ActionKind::Load(load) => step(&load.name, "load"),
            ActionKind::Vacuum => step("vacuum", "vacuum"),
            ActionKind::Settle(settle) => PlannedStep {
                amount: match settle.seconds_min {
                    0 => format!("at most {} s", settle.seconds_max),
                    seconds_min => format!("{seconds_min} to {} s", settle.seconds_max),
                },
                ..step(&settle.step, "settle")
            },
            ActionKind::Measure(measured) => PlannedStep {
                test: Some(measured.test.clone()),
                group: Some(measured.group.clone()),
                role: Some(measured.role),
                writes: measured.writes,
                clients: measured.clients,
                amount: match &measured.limit {
                    Limit::Time(time) => format!("{} s", time.as_secs()),
                    Limit::Events(events) => format!("{events} events"),
                    Limit::Rows(rows) => format!("{rows} rows of each client"),
                    Limit::Work(_) => String::new(),
                },
                ..step(&measured.name, "measure")
            },
        };
        steps.push(planned);
    }
    steps
}
