//! What a plan may ask of HammerDB.

use std::time::Duration;

use rqps_plan::reader::Section;
use rqps_plan::{Driver, Plan, Problems, Protocol};

use super::options::TprocCOptions;

/// Its scripts wait in steps of this size, and virtual users start one after the other in the ramp-up.
pub const HAMMERDB_STEP: Duration = Duration::from_secs(6);

/// Reports what HammerDB cannot do, in a plan that has it as its driver.
pub(super) fn check(options: &TprocCOptions, top: &Section<'_>, problems: &Problems<'_>, plan: &Plan) {
    if plan.workload.driver != Driver::HammerDb {
        return;
    }
    if plan.protocol == Protocol::Isolated
        && let Some(workload) = top.table("workload", "[workload]")
    {
        let what = "HammerDB draws other transactions in each window, and blocks repeat them";
        let remedy = "Write protocol = \"sequence\", with `passes` for verdicts, or driver = \"rqps\".";
        problems.error(&workload.key_at("driver"), "[workload] driver", what, remedy);
        return;
    }
    let section = top.table("tproc-c", "[tproc-c]");
    let error = |key: &str, what: &str, remedy: &str| {
        let at = section.as_ref().map_or(0..0, |section| section.key_at(key));
        problems.error(&at, format!("[tproc-c] {key}"), what, remedy);
    };
    for (key, time) in [("rampup", options.rampup), ("duration", options.duration)] {
        if time < HAMMERDB_STEP || !time.as_nanos().is_multiple_of(HAMMERDB_STEP.as_nanos()) {
            error(
                key,
                "HammerDB waits in steps of 6 seconds, at least one",
                "Write a multiple of 6 seconds, such as \"1m\".",
            );
        }
    }
    if !options.stored_procedures {
        let what = "HammerDB does not send single statements to each DBMS";
        error("stored_procedures", what, "Write true, or driver = \"rqps\" in [workload].");
    }
    let usual = TprocCOptions { partitions: None, ..options.clone() };
    let follows = |count: &u32| [1, usual.partitions_of(*count)].contains(&options.partitions_of(*count));
    if !options.warehouses.iter().all(follows) {
        let what = "HammerDB has a partition for each hundred warehouses, from 200 on, or none";
        error("partitions", what, "Remove it, or write 1.");
    }
}
