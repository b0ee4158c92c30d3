//! `driver` in `[workload]`: which program sends the load, and what of a plan goes with rqps' own clients alone.

use serde::Serialize;

use crate::model::{Plan, Protocol};
use crate::problem::Problems;
use crate::reader::Section;
use crate::steps::toml_key;
use rqps_model::Warmup;

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

pub(crate) fn read(workload: &Section<'_>) -> Driver {
    let words = [Driver::Rqps, Driver::Sysbench].map(|driver| (driver.key(), driver));
    workload.choice("driver", &words).unwrap_or_default()
}

/// Reports what sysbench can't do. In blocks nothing is counted under valgrind with it, unless the plan insists, which
/// is a mistake.
pub(crate) fn check(top: &Section<'_>, problems: &Problems<'_>, plan: &mut Plan) {
    if plan.workload.driver != Driver::Sysbench {
        return;
    }
    const WARMUP_REMEDY: &str = "Write a number of seconds: sysbench can't tell when its rate has settled.";
    const RATE_REMEDY: &str =
        "Remove it: given a rate, sysbench sends at random intervals, not at even ones.";
    let not_with_sysbench = |section: &Section<'_>, key: &str, remedy: &str| {
        let what = "does not go with driver = \"sysbench\"";
        problems.error(&section.key_at(key), section.place_of(key), what, remedy);
    };
    if let Some(workload) = top.table("workload", "[workload]")
        && plan.workload.warmup == Warmup::Detect
        && plan.protocol == Protocol::Sequence
    {
        not_with_sysbench(&workload, "warmup_seconds", WARMUP_REMEDY);
    }
    if let Some(tests) = top.table("test", "[test.NAME]") {
        for (name, options) in &plan.tests {
            let Some(section) = tests.table(name, &format!("[test.{}]", toml_key(name))) else {
                continue;
            };
            if options.warmup == Some(Warmup::Detect) {
                not_with_sysbench(&section, "warmup_seconds", WARMUP_REMEDY);
            }
            if options.rate_per_second.is_some() {
                not_with_sysbench(&section, "rate_per_second", RATE_REMEDY);
            }
        }
    }
    if let Some(isolated) = &mut plan.isolated {
        let section = top.table("isolated", "[isolated]");
        let insists =
            section.as_ref().and_then(|section| section.node("count_instructions")?.1.get_ref().as_bool());
        if let (Some(section), Some(true)) = (&section, insists) {
            let remedy = "Remove it: instructions are counted under valgrind with rqps' own clients alone.";
            not_with_sysbench(section, "count_instructions", remedy);
        }
        isolated.count_instructions = false;
    }
}
