//! The rules of a run: what its plan says, and the defaults for the rest.

use rqps_plan::{Plan, PlanContext};
use rqps_stats::{Metric, Rules};
use rqps_store::Run;

use crate::error::{Error, Result};

/// What a plan calls the stall factor, which says less to its reader.
const STALLS: &str = "stalls";

/// The rules that the run's plan asks for.
///
/// # Errors
/// When `plan.toml` in the run folder is gone or is no plan.
pub fn rules_of(run: &Run) -> Result<Rules> {
    let path = run.folder.plan_path();
    let refuse = |why: String| Error::Plan { path: path.clone(), why };
    let text = std::fs::read_to_string(&path).map_err(|error| refuse(error.to_string()))?;
    let name = path.to_string_lossy();
    let plan =
        Plan::parse(&text, &name, &PlanContext::trusting()).map_err(|why| refuse(why.to_string()))?.plan;
    Ok(of_plan(&plan))
}

fn of_plan(plan: &Plan) -> Rules {
    let mut rules = Rules::default();
    // A later look would never be reached. The first stays: fewer blocks are no basis for a verdict.
    let first = rules.looks.first().map_or(0, |look| look.blocks);
    let most = (plan.blocks().blocks_max as usize).max(first);
    rules.looks.retain(|look| look.blocks <= most);
    for (key, percent) in &plan.verdict.mei_percent {
        let metric = if key == STALLS { Some(Metric::StallFactor) } else { Metric::from_key(key) };
        if let Some(metric) = metric {
            rules.mei.insert(metric, percent / 100.0);
        }
    }
    for (test, options) in &plan.tests {
        if let Some(percent) = options.rate_mei_percent {
            rules.mei_of_test.insert((test.clone(), Metric::Rate), percent / 100.0);
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_says_which_effects_matter() {
        let text = "protocol = \"isolated\"\n[workload]\nrows = 1000\n[isolated]\nblocks_max = 7\n[test.scan]\nrate_mei_percent = 5\n\
                    [verdict.mei_percent]\nrate = 3\ninstructions = 1\nstalls = 4\n\
                    [matrix]\nbuilds = [\"postgres-17.1\", \"postgres-18.1\"]\nconfigs = [\"sized\"]\n";
        let plan = Plan::parse(text, "p.toml", &PlanContext::trusting()).unwrap().plan;
        let rules = of_plan(&plan);
        let looks: Vec<usize> = rules.looks.iter().map(|look| look.blocks).collect();
        assert_eq!(looks, [3, 5], "no later one can be reached");
        let mei = |test: &str, metric| rules.mei(test, metric);
        assert_eq!((mei("scan", Metric::Rate), mei("delete", Metric::Rate)), (0.05, 0.03));
        assert_eq!((mei("scan", Metric::Instructions), mei("scan", Metric::CpuUs)), (0.01, 0.02));
        assert_eq!(mei("scan", Metric::StallFactor), 0.04);
    }
}
