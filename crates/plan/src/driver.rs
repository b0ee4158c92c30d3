//! Which program sends the load, and what of a plan goes with rqps' own clients alone.

use serde::Serialize;

use crate::model::Plan;
use crate::problem::Problems;
use crate::reader::Section;
use crate::shared::NOT_WITH_SYSBENCH;

/// The program whose clients send the load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Driver {
    #[default]
    Rqps,
    /// The sysbench that is installed.
    Sysbench,
}

impl Driver {
    /// The word in plans and result files.
    pub fn key(self) -> &'static str {
        match self {
            Driver::Rqps => "rqps",
            Driver::Sysbench => "sysbench",
        }
    }

    pub(crate) fn is_default(&self) -> bool {
        *self == Driver::default()
    }
}

/// In blocks nothing is counted under valgrind with sysbench, unless the plan insists, which is a mistake.
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
        let remedy = "Remove it: instructions are counted under valgrind with rqps' own clients alone.";
        problems.error(&section.key_at(key), section.place_of(key), NOT_WITH_SYSBENCH, remedy);
    }
    isolated.count_instructions = false;
}
