//! Work on a server outside of a run: load, vacuum or drive it by hand.

use crate::sql::adapters::adapter;
use crate::sql::microbenchmarks;
use crate::sql::system::SqlAddress;
pub use crate::sql::system::endpoint;
use crate::sql::tables::table_names;
pub use crate::sql::tables::{LoadTimes, Tables};
use rqps_driver::{Observer, StepError, StepResult, StepSpec};
use rqps_model::Dbms;
use rqps_plan::Driver;
use rqps_wire::{Endpoint, Error};
use rqps_workloads::Dialect;

/// The SQL dialect of a DBMS.
pub fn dialect(dbms: Dbms) -> Dialect {
    adapter(dbms).dialect()
}

/// Creates, fills and indexes all tables, replacing those of an earlier load. `tick` is called several times
/// a second with the phase and the rows so far; when it returns false, the load ends early with `None`.
///
/// # Errors
/// If a session fails.
pub fn load(
    dbms: Dbms,
    endpoint: &Endpoint,
    tables: Tables,
    mut tick: impl FnMut(&'static str, u64) -> bool,
) -> Result<Option<LoadTimes>, Error> {
    adapter(dbms).load(endpoint, tables, &mut tick)
}

/// Does what [`crate::Instance::vacuum`] does after a load. `look` is called several times a second; when it
/// returns false, the work ends early and so does this.
///
/// # Errors
/// If a session fails.
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
    let address = SqlAddress { adapter: adapter(dbms), endpoint: endpoint.clone() };
    microbenchmarks::run(driver, &address, spec, false, observer)
}
