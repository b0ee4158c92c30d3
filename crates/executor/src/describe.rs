//! What a run says of itself before it begins: its parameters and its steps.

use crate::adapter::adapter;
use rqps_model::{Limit, Setting, Warmup};
use rqps_plan::{
    ActionKind, Benchmark, EndsBy, InsertOptions, Plan, Protocol, Transport, WriteWork, schedule,
};
use rqps_store::{Meta, PlannedStep, now_ms};
use rqps_workloads::{Step, StepKind};
use std::collections::BTreeSet;

/// Changes when a statement, a parameter or the order of the steps of a benchmark changes: runs of two revisions don't
/// compare.
const fn revision(benchmark: Benchmark) -> &'static str {
    match benchmark {
        Benchmark::Microbenchmarks | Benchmark::Insert => "1",
    }
}

/// The run's parameters; `driver` is described where it is not our own.
pub(crate) fn meta(plan: &Plan, driver: Option<String>, actions_total: u32, program_version: &str) -> Meta {
    let workload = &plan.workload;
    let warmup = match workload.warmup {
        Warmup::Time(time) => format!("{} s", time.as_secs_f64()),
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
    let method = match (&plan.isolated, &plan.insert) {
        (_, Some(options)) => method_of_queue(plan, options, connections),
        (None, None) => vec![
            ("read window", format!("{} s", workload.read_seconds)),
            ("write window", format!("{} s", workload.write_seconds)),
            ("work of writes", writes.to_owned()),
            ("warm-up", warmup),
            connections,
            delete,
            settle,
            ("vacuum after load", vacuum.to_owned()),
        ],
        (Some(isolated), None) => vec![
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
        workload_revision: revision(workload.benchmark).to_owned(),
        protocol: plan.protocol.key().to_owned(),
        seed: plan.seed,
        tables: workload.tables,
        rows_per_table: workload.rows,
        clients: workload.clients,
        actions_total,
        method: method.into_iter().map(|(name, value)| Setting { name, value }).collect(),
    }
}

/// What matters of the method of the Insert Benchmark.
fn method_of_queue(
    plan: &Plan,
    options: &InsertOptions,
    connections: (&'static str, String),
) -> Vec<(&'static str, String)> {
    let ends = match options.ends_by {
        EndsBy::Rows => format!("when {} s of rows at their rate are in", options.query_seconds),
        EndsBy::Time => format!("after {} s", options.query_seconds),
    };
    let tables = if options.shared_table { "one for all clients, no deletes" } else { "one a client" };
    let least = options.settle_seconds_min(plan.workload.clients);
    let memory = options.server_memory.map(|memory| ("server memory at most", memory.to_string()));
    let partitions = options.partitions;
    let divided = (partitions > 1).then(|| ("partitions of a table", partitions.to_string()));
    let method = [
        ("rows of l.i0", format!("{} a client", options.load_rows)),
        ("rows of l.i1 and l.i2", format!("{} a client", options.write_rows)),
        ("query steps end", ends),
        ("pacer of background writes", options.pacer.key().to_owned()),
        ("form of deletes", options.delete_form.key().to_owned()),
        ("tables", tables.to_owned()),
        connections,
        ("settle", format!("{least} to {} s", plan.workload.settle_seconds_max)),
    ];
    method.into_iter().chain(memory).chain(divided).collect()
}

/// The tests of a plan of blocks.
fn isolated_steps(plan: &Plan) -> Vec<PlannedStep> {
    let steps = plan.steps().into_iter().enumerate();
    let step = |(at, step): (usize, Step)| {
        let StepKind::Measure { test, role, .. } = step.kind else {
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
            role: Some(role),
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
            role: None,
            clients: plan.workload.clients,
            amount: String::new(),
        };
        let planned = match &action.kind {
            ActionKind::Start | ActionKind::Stop => continue,
            ActionKind::Load => step("load", "load"),
            ActionKind::Vacuum => step("vacuum", "vacuum"),
            ActionKind::Settle(settle) => PlannedStep {
                amount: match settle.seconds_min {
                    0 => format!("at most {} s", settle.seconds_max),
                    least => format!("{least} to {} s", settle.seconds_max),
                },
                ..step(&settle.step, "settle")
            },
            ActionKind::Measure(measure) => PlannedStep {
                test: Some(measure.test.name.to_owned()),
                group: Some(measure.test.group.key().to_owned()),
                role: Some(measure.role),
                clients: measure.clients,
                amount: match &measure.limit {
                    Limit::Time(time) => format!("{} s", time.as_secs()),
                    Limit::Events(events) => format!("{events} events"),
                    Limit::Rows(rows) => format!("{rows} rows of each client"),
                    Limit::Work(_) => String::new(),
                },
                ..step(&measure.step, "measure")
            },
        };
        steps.push(planned);
    }
    steps
}
