//! Which program sends a step's load: clients of our own, or sysbench.

use crate::adapter::Adapter;
use crate::error::{Error, Result};
use rqps_driver::{Observer, StepError, StepResult, StepSpec, sysbench};
use rqps_plan::Driver;
use rqps_wire::Endpoint;

/// Runs a step with this driver. Only our own clients give way to their servers.
pub(crate) fn run_step(
    driver: Driver,
    adapter: &dyn Adapter,
    spec: &StepSpec,
    endpoint: &Endpoint,
    gives_way: bool,
    observer: &mut dyn Observer,
) -> std::result::Result<StepResult, StepError> {
    match driver {
        Driver::Rqps => adapter.run_step(spec, endpoint, gives_way, observer),
        Driver::Sysbench => sysbench::run(spec, &adapter.sysbench_target(endpoint), observer),
    }
}

/// What a run says of its driver, unless that is our own.
///
/// # Errors
/// Where the driver is not installed.
pub(crate) fn described(driver: Driver) -> Result<Option<String>> {
    match driver {
        Driver::Rqps => Ok(None),
        Driver::Sysbench => {
            let version = sysbench::version().map_err(Error::Sysbench)?;
            Ok(Some(format!("sysbench {version}; answers are not checked")))
        }
    }
}
