//! Turns a plan into the list of actions that execute it.
//!
//! The executor journals each action by its `seq`, and an interrupted run is resumed by it: one plan always gives the
//! same schedule.

use crate::model::Protocol;
use crate::plan::Plan;
use crate::step::{Action, ActionKind, LoadDef, Settle, Step, StepDef};

/// Everything a run does, in order.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// The actions; `seq` is the index.
    pub actions: Vec<Action>,
}

impl Schedule {
    /// The largest number of clients of any step, for the server's connection limit.
    pub fn clients_max(&self) -> u32 {
        let clients = self.actions.iter().filter_map(|action| match &action.kind {
            ActionKind::Measure(measure) => Some(measure.clients),
            _ => None,
        });
        clients.max().unwrap_or(1)
    }

    /// The number of steps that run a test.
    pub fn measures(&self) -> usize {
        self.actions.iter().filter(|action| matches!(action.kind, ActionKind::Measure(_))).count()
    }
}

/// The actions of a plan.
pub fn schedule(plan: &Plan) -> Schedule {
    match plan.protocol {
        Protocol::Sequence => sequence(plan),
        // Each block depends on the results of earlier ones: see [`crate::isolated`].
        Protocol::Isolated => Schedule { actions: Vec::new() },
    }
}

/// One pass: arm after arm, each from an empty directory. Base comes first: it sets the work that the others repeat.
///
/// Several passes: in each, all arms start and load, then go through the steps in lockstep, in an order that is
/// reversed from step to step and from pass to pass, so that a drift of the machine does not favour one of them.
fn sequence(plan: &Plan) -> Schedule {
    let base = plan.base_index();
    let order: Vec<usize> =
        std::iter::once(base).chain((0..plan.arms.len()).filter(|arm| *arm != base)).collect();
    let mut actions = Vec::new();
    let mut add = |arm, pass, kind| actions.push(Action { seq: actions.len() as u32, arm, pass, kind });
    if plan.passes == 1 {
        for &arm in &order {
            let steps = step_actions(plan, arm == base);
            let whole = before_steps(plan).into_iter().chain(steps).chain([ActionKind::Stop]);
            whole.for_each(|kind| add(arm, 1, kind));
        }
        return Schedule { actions };
    }
    for pass in 1..=plan.passes {
        for &arm in &turned(&order, pass) {
            before_steps(plan).into_iter().for_each(|kind| add(arm, pass, kind));
        }
        // After the first pass base, too, repeats its work from that pass.
        let base_actions = step_actions(plan, pass == 1);
        let other_actions = step_actions(plan, false);
        for (step, (base_kind, kind)) in base_actions.into_iter().zip(other_actions).enumerate() {
            let sets_work = matches!(&kind, ActionKind::Measure(step) if pass == 1 && step.writes);
            let mut turn = turned(&order, pass + step as u32);
            if sets_work {
                turn.retain(|arm| *arm != base);
                turn.insert(0, base);
            }
            for arm in turn {
                add(arm, pass, if arm == base { base_kind.clone() } else { kind.clone() });
            }
        }
        order.iter().for_each(|arm| add(*arm, pass, ActionKind::Stop));
    }
    Schedule { actions }
}

/// The order, or its mirror image in even turns.
fn turned(order: &[usize], turn: u32) -> Vec<usize> {
    if turn % 2 == 1 { order.to_vec() } else { order.iter().rev().copied().collect() }
}

fn before_steps(plan: &Plan) -> Vec<ActionKind> {
    start_and_load(plan, LoadDef { name: "load".to_owned(), test: plan.first_test() }).collect()
}

fn start_and_load(plan: &Plan, load: LoadDef) -> impl Iterator<Item = ActionKind> {
    let vacuum = plan.work.vacuums_after_load().then_some(ActionKind::Vacuum);
    [ActionKind::Start, ActionKind::Load(load)].into_iter().chain(vacuum)
}

/// The steps; before all tests but the first a new data directory and its load, if each test has its own.
fn step_actions(plan: &Plan, is_base: bool) -> Vec<ActionKind> {
    let workload = &plan.workload;
    let steps = plan.steps();
    let mut before = Vec::new();
    let mut loaded = true;
    for (at, step) in steps.iter().enumerate() {
        let next = steps[at..].iter().find(|step| matches!(step, Step::Measure(_)));
        before.push(match next {
            Some(test) if !loaded => {
                let test = test.name().to_owned();
                let load = LoadDef { name: format!("load-{test}"), test };
                std::iter::once(ActionKind::Stop).chain(start_and_load(plan, load)).collect()
            }
            _ => Vec::new(),
        });
        loaded = !(plan.work.loads_for_each_test() && matches!(step, Step::Measure(_)));
    }
    let action = |(at, step): (usize, Step)| match step {
        Step::Settle(step) => ActionKind::Settle(Settle {
            step,
            position: at as u32 + 1,
            seconds_min: plan.work.settle_seconds_min(workload.clients),
            seconds_max: workload.settle_seconds_max,
        }),
        Step::Measure(step) => ActionKind::Measure(StepDef { as_base: step.as_base && !is_base, ..step }),
    };
    let actions = steps.into_iter().enumerate().map(action);
    before.into_iter().zip(actions).flat_map(|(before, action)| before.into_iter().chain([action])).collect()
}
