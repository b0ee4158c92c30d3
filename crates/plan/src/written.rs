//! How a plan's workload is written down: each benchmark has keys of its own, and only those are there.

use serde::Serialize;

use crate::driver::Driver;
use crate::model::{Benchmark, Transport, Workload, WriteWork};
use rqps_model::Warmup;

/// `[workload]` as a file has it.
#[derive(Serialize)]
pub(crate) struct WrittenWorkload {
    benchmark: &'static str,
    #[serde(flatten)]
    microbenchmarks: Option<OfMicrobenchmarks>,
    clients: u32,
    #[serde(skip_serializing_if = "Driver::is_default")]
    driver: Driver,
    transport: Transport,
    settle_seconds_max: u32,
    steps: Vec<String>,
}

/// What means nothing to the Insert Benchmark.
#[derive(Serialize)]
struct OfMicrobenchmarks {
    tables: u32,
    rows: u64,
    read_seconds: u32,
    write_seconds: u32,
    write_work: WriteWork,
    warmup_seconds: Warmup,
    delete_share_max: f64,
    vacuum_after_load: bool,
}

impl From<Workload> for WrittenWorkload {
    fn from(workload: Workload) -> Self {
        WrittenWorkload {
            benchmark: workload.benchmark.key(),
            microbenchmarks: (workload.benchmark == Benchmark::Microbenchmarks).then_some(
                OfMicrobenchmarks {
                    tables: workload.tables,
                    rows: workload.rows,
                    read_seconds: workload.read_seconds,
                    write_seconds: workload.write_seconds,
                    write_work: workload.write_work,
                    warmup_seconds: workload.warmup,
                    delete_share_max: workload.delete_share_max,
                    vacuum_after_load: workload.vacuum_after_load,
                },
            ),
            clients: workload.clients,
            driver: workload.driver,
            transport: workload.transport,
            settle_seconds_max: workload.settle_seconds_max,
            steps: workload.steps,
        }
    }
}
