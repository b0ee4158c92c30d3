//! The components of this program: a line here adds a benchmark, a system or a driver.

use rqps_device as device;
use rqps_executor::{Kit, ThisHost, drivers, systems};
use rqps_rocksdb as rocksdb;
use rqps_workloads::BENCHMARKS;

pub static KIT: Kit = Kit {
    systems: &[systems::POSTGRES, systems::MYSQL, rocksdb::ROCKSDB, device::DIRECTORY],
    benchmarks: BENCHMARKS,
    drivers: &[
        drivers::CLIENTS,
        drivers::SYSBENCH,
        drivers::INSERT_CLIENTS,
        drivers::SQL_CLIENTS,
        rocksdb::CLIENTS,
        rocksdb::DB_BENCH,
        drivers::TPROC_C_CLIENTS,
        drivers::HAMMERDB,
        device::FIO,
    ],
    host: &ThisHost,
};
