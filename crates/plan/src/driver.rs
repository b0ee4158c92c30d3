//! Plan keys that require rqps' own clients as the load driver.

use crate::model::Driver;
use crate::plan::Plan;
use crate::problem::Problems;
use crate::reader::Section;
use crate::shared::NOT_WITH_SYSBENCH;

/// Turns counting under valgrind off in blocks with sysbench, or of a benchmark without servers; reports a plan that
/// sets it explicitly.
pub(crate) fn check(top: &Section<'_>, problems: &Problems<'_>, plan: &mut Plan) {
    let with_sysbench = plan.workload.driver == Driver::Sysbench;
    if !with_sysbench && plan.work.can_count_instructions() {
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
        let what = if with_sysbench { NOT_WITH_SYSBENCH } else { "cannot be used with this benchmark" };
        problems.error(&section.key_at(key), section.place_of(key), what, remedy);
    }
    isolated.count_instructions = false;
}
