//! What a run says of itself before it begins: its parameters and its steps.

use crate::adapter::adapter;
use rqps_plan::{ActionKind, Limit, Plan, Protocol, Transport, Warmup, WriteWork, schedule};
use rqps_store::{Meta, PlannedStep, Setting, now_ms};
use rqps_workloads::{Step, StepKind};
use std::collections::BTreeSet;

/// Changes when a statement, a parameter or the order of the steps changes: runs of two revisions don't compare.
const WORKLOAD_REVISION: &str = "1";

/// The run's parameters; `driver` is described where it is not our own.
pub(crate) fn meta(plan: &Plan, driver: Option<String>, actions_total: u32, program_version: &str) -> Meta {
    let workload = &plan.workload;
    let warmup = match workload.warmup {
        Warmup::Seconds(seconds) => format!("{seconds} s"),
        Warmup::Detect => "until the rate is steady".to_owned(),
    };
    let writes = match workload.write_work {
        WriteWork::AsBase => "base by time, every other arm exactly base's operations",
        WriteWork::Time => "every arm by time",
    };
    let transport = match workload.transport {
        Transport::Unix => "Unix socket",
        Transport::Tcp => "TCP over loopback",
    };
    let connections = ("connections", transport.to_owned());
    let delete = ("delete stops at", format!("{} of the rows", workload.delete_share_max));
    let settle = ("settle at most", format!("{} s", workload.settle_seconds_max));
    let vacuum = if workload.vacuum_after_load { "yes" } else { "no" };
    let method = match &plan.isolated {
        None => vec![
            ("read window", format!("{} s", workload.read_seconds)),
            ("write window", format!("{} s", workload.write_seconds)),
            ("work of writes", writes.to_owned()),
            ("warm-up", warmup),
            connections,
            delete,
            settle,
            ("vacuum after load", vacuum.to_owned()),
        ],
        Some(isolated) => vec![
            ("window", format!("the events that base does in {} s", isolated.window_seconds)),
            ("windows of a block", format!("{} on each arm, mirrored", isolated.windows)),
            ("blocks at most", isolated.blocks_max.to_string()),
            connections,
            delete,
            settle,
        ],
    };
    let mut method: Vec<_> = method.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    method.extend(driver.map(|described| ("driver".to_owned(), described)));
    if plan.isolated.is_some() {
        let of_arms = plan.arms.iter().map(|arm| adapter(arm.build.dbms).method_of_blocks());
        let undisturbed: BTreeSet<_> = of_arms.collect();
        method.extend(undisturbed.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
    Meta {
        name: plan.name.clone(),
        program_version: program_version.to_owned(),
        created_at_ms: now_ms(),
        workload: workload.benchmark.key().to_owned(),
        workload_revision: WORKLOAD_REVISION.to_owned(),
        protocol: plan.protocol.key().to_owned(),
        seed: plan.seed,
        tables: workload.tables,
        rows_per_table: workload.rows,
        clients: workload.clients,
        actions_total,
        method: method.into_iter().map(|(name, value)| Setting { name, value }).collect(),
    }
}

/// The tests of a plan of blocks.
fn isolated_steps(plan: &Plan) -> Vec<PlannedStep> {
    let steps = plan.steps().into_iter().enumerate();
    let step = |(at, step): (usize, Step)| {
        let StepKind::Measure { test, .. } = step.kind else {
            return None;
        };
        Some(PlannedStep {
            position: at as u32,
            clients: plan.clients_of(&step.name),
            amount: match plan.options_of(&step.name).events {
                Some(events) => format!("{events} events"),
                None => format!("what base does in {} s", plan.window_seconds_of(&step.name)),
            },
            name: step.name,
            kind: "measure".to_owned(),
            test: Some(test.name.to_owned()),
            group: Some(test.group.key().to_owned()),
        })
    };
    steps.filter_map(step).collect()
}

/// The steps as planned for the base arm; the others have the same.
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
            clients: plan.workload.clients,
            amount: String::new(),
        };
        let planned = match &action.kind {
            ActionKind::Start | ActionKind::Stop => continue,
            ActionKind::Load => step("load", "load"),
            ActionKind::Vacuum => step("vacuum", "vacuum"),
            ActionKind::Settle(settle) => PlannedStep {
                amount: format!("at most {} s", settle.seconds_max),
                ..step(&settle.step, "settle")
            },
            ActionKind::Measure(measure) => PlannedStep {
                test: Some(measure.test.name.to_owned()),
                group: Some(measure.test.group.key().to_owned()),
                clients: measure.clients,
                amount: match measure.limit {
                    Limit::Seconds(seconds) | Limit::AsBase { seconds } => format!("{seconds} s"),
                    Limit::Events(events) => format!("{events} events"),
                    Limit::Rows(rows) => format!("{rows} rows of each client"),
                },
                ..step(&measure.step, "measure")
            },
        };
        steps.push(planned);
    }
    steps
}
