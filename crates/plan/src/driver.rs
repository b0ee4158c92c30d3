//! Plan keys that require rqps' own clients as the load driver.

use crate::model::Driver;
use crate::plan::Plan;
use crate::problem::Problems;
use crate::reader::Section;
use crate::shared::NOT_WITH_SYSBENCH;

/// Turns counting under valgrind off in blocks with sysbench; reports a plan that sets it explicitly.
pub(crate) fn check(top: &Section<'_>, problems: &Problems<'_>, plan: &mut Plan) {
    if plan.workload.driver != Driver::Sysbench {
        return;
    }
    let Some(isolated) = &mut plan.isolated else {
        return;
    };
    if let Some(section) = top.table("isolated", "[isolated]")
        && section.node("count_instructions").and_then(|(_, node)| node.get_ref().as_bool()) == Some(true)
    {
        let key = "count_instructions";
        let remedy = "Remove it: counting under valgrind needs rqps' own clients.";
        problems.error(&section.key_at(key), section.place_of(key), NOT_WITH_SYSBENCH, remedy);
    }
    isolated.count_instructions = false;
}
