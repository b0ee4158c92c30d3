//! The server spec of an arm, and the CPUs of its sessions.

use crate::arm::Ingredients;
use rqps_builds::CpuSet;
use rqps_plan::{Plan, Protocol, Transport, schedule};
use rqps_servers::ServerSpec;
use rqps_store::RunFolder;
use std::path::PathBuf;

/// The server spec of an arm with data in `data_dir`. Its log goes to the run folder.
pub(crate) fn server_spec(
    plan: &Plan,
    arm: usize,
    ingredients: &Ingredients,
    data_dir: PathBuf,
    folder: &RunFolder,
) -> ServerSpec {
    spec_with_logs(plan, arm, ingredients, data_dir, folder.logs_dir().join(&plan.arms[arm].name))
}

/// The same with its log in `log_dir`.
pub(crate) fn spec_with_logs(
    plan: &Plan,
    arm: usize,
    ingredients: &Ingredients,
    data_dir: PathBuf,
    log_dir: PathBuf,
) -> ServerSpec {
    let Ingredients { build, config, .. } = ingredients.clone();
    ServerSpec {
        build,
        config,
        data_dir,
        log_dir,
        clients_max: clients_max(plan),
        tcp: plan.workload.transport == Transport::Tcp,
        env: plan.arms[arm].env.clone(),
        cpus: None,
        instrument: None,
        memory_bytes_max: plan.work.server_memory_bytes_max(),
    }
}

/// The largest number of sessions that any step has.
pub(crate) fn clients_max(plan: &Plan) -> u32 {
    match plan.protocol {
        Protocol::Sequence => schedule(plan).clients_max() * plan.work.sessions_per_client(),
        Protocol::Isolated => {
            let tests = plan.workload.steps.iter().map(|test| plan.clients_of(test));
            tests.max().unwrap_or(plan.workload.clients)
        }
    }
}

/// The CPU that a single client shares with its session, since only one of them runs at a time; it rotates
/// with `turn`. `None` with several clients or a single CPU.
pub(crate) fn session_cpus(online: &CpuSet, clients: u32, turn: u32) -> Option<CpuSet> {
    if clients > 1 || online.len() < 2 {
        return None;
    }
    let cpu = online.cpus().nth(turn as usize % online.len())?;
    CpuSet::of([cpu])
}
