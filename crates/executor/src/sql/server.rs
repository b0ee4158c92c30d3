//! Work on a server outside a run: what one loads, looks through or drives by hand.

use crate::sql::adapters::adapter;
pub use crate::sql::system::endpoint;
use crate::sql::tables::table_names;
pub use crate::sql::tables::{LoadTimes, Tables};
use rqps_driver::{Observer, StepError, StepResult, StepSpec, run_step, sysbench};
use rqps_model::Dbms;
use rqps_plan::Driver;
use rqps_wire::{Endpoint, Error};
use rqps_workloads::Dialect;

/// How SQL is spelled for a DBMS.
pub fn dialect(dbms: Dbms) -> Dialect {
    adapter(dbms).dialect()
}

/// Creates, fills and indexes all tables, replacing those of an earlier try. `tick` is called several times a second
/// with the rows so far; when it returns false, the load ends early with `None`.
///
/// # Errors
/// What a session met.
pub fn load(
    dbms: Dbms,
    endpoint: &Endpoint,
    tables: Tables,
    mut tick: impl FnMut(&'static str, u64) -> bool,
) -> Result<Option<LoadTimes>, Error> {
    adapter(dbms).load(endpoint, tables, &mut tick)
}

/// Has the server look through every table, as after a load. False when `look`, which is called several times a
/// second, asked for the end.
///
/// # Errors
/// What a session met.
pub fn vacuum(
    dbms: Dbms,
    endpoint: &Endpoint,
    tables: u32,
    mut look: impl FnMut() -> bool,
) -> Result<bool, Error> {
    adapter(dbms).vacuum(endpoint, &table_names(tables), &mut look)
}

/// Runs one step with a driver.
///
/// # Errors
/// As [`rqps_driver::run_step`] or [`rqps_driver::sysbench::run`].
pub fn drive(
    dbms: Dbms,
    driver: Driver,
    endpoint: &Endpoint,
    spec: &StepSpec,
    observer: &mut dyn Observer,
) -> Result<StepResult, StepError> {
    match driver {
        Driver::Rqps => run_step(spec, &adapter(dbms).clients(endpoint, false), observer),
        Driver::Sysbench => sysbench::run(spec, &adapter(dbms).sysbench_target(endpoint), observer),
    }
}
