//! Which program sends a step's load: clients of our own, or sysbench.

use crate::adapter::Adapter;
use crate::error::{Error, Result};
use rqps_driver::{Observer, StepError, StepResult, StepSpec, sysbench};
use rqps_plan::Driver;
use rqps_wire::{Endpoint, Error as Wire, Session};

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

/// Runs a step with clients of our own, whose sessions `connect` gives.
pub(crate) fn run_clients<S: Session>(
    spec: &StepSpec,
    gives_way: bool,
    connect: impl Fn() -> std::result::Result<S, Wire> + Sync,
    observer: &mut dyn Observer,
) -> std::result::Result<StepResult, StepError> {
    let connect = |_| {
        if gives_way {
            give_way();
        }
        connect()
    };
    rqps_driver::run_step(spec, connect, observer)
}

/// Has this thread give way to the server, which runs on the same CPU. Else it depends on the scheduler whether a
/// client's next statement is there before the server looks for it, and a server that finds none executes some more
/// instructions to wait for it. Lowering one's own priority is never refused.
fn give_way() {
    const NICEST: i32 = 19;
    let _lowered = rustix::process::setpriority_process(None, NICEST);
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
