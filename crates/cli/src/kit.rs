//! What this program is composed of: a benchmark, a system or a driver is added here, with a line.

use rqps_executor::{Kit, ThisHost, drivers, systems};
use rqps_workloads::BENCHMARKS;

pub static KIT: Kit = Kit {
    systems: &[systems::POSTGRES, systems::MYSQL],
    benchmarks: &BENCHMARKS,
    drivers: &[drivers::CLIENTS, drivers::SYSBENCH, drivers::INSERT_CLIENTS],
    host: &ThisHost,
};
