//! What an arm's server is started with, and on which CPUs its sessions run.

use crate::arm::Ingredients;
use rqps_builds::CpuSet;
use rqps_plan::{Plan, Protocol, Transport, schedule};
use rqps_servers::ServerSpec;
use rqps_store::RunFolder;
use std::path::PathBuf;

/// The server of an arm of a plan, on data in this place. Its log goes to the run folder.
pub(crate) fn server_spec(
    plan: &Plan,
    arm: usize,
    made_of: &Ingredients,
    data_dir: PathBuf,
    folder: &RunFolder,
) -> ServerSpec {
    let Ingredients { build, config, .. } = made_of.clone();
    let planned = &plan.arms[arm];
    ServerSpec {
        build,
        config,
        data_dir,
        log_dir: folder.logs_dir().join(&planned.name),
        clients_max: clients_max(plan),
        tcp: plan.workload.transport == Transport::Tcp,
        env: planned.env.clone(),
        cpus: None,
        instrument: None,
        memory_bytes_max: memory_bytes_max(plan),
    }
}

/// The most memory that a server may have, where the plan limits it.
pub(crate) fn memory_bytes_max(plan: &Plan) -> Option<u64> {
    plan.work.server_memory_bytes_max()
}

/// Sessions of the step that has most.
fn clients_max(plan: &Plan) -> u32 {
    match plan.protocol {
        Protocol::Sequence => schedule(plan).clients_max() * plan.work.sessions_per_client(),
        Protocol::Isolated => {
            let tests = plan.workload.steps.iter().map(|test| plan.clients_of(test));
            tests.max().unwrap_or(plan.workload.clients)
        }
    }
}

/// The CPU that a single client and its session share, since they take turns; which one changes with `turn`. None for
/// more clients, or where there is one CPU.
pub(crate) fn session_cpus(online: &CpuSet, clients: u32, turn: u32) -> Option<CpuSet> {
    if clients > 1 || online.len() < 2 {
        return None;
    }
    let cpu = online.cpus().nth(turn as usize % online.len())?;
    CpuSet::of([cpu])
}
