//! The rules of a run: from its plan, with defaults for the rest.

use std::collections::BTreeMap;

use rqps_stats::{Metric, Rules};
use rqps_store::Run;
use serde::Deserialize;

use crate::error::{Error, Result};

/// Plan key of the stall factor.
const STALLS: &str = "stalls";

/// The keys of a plan that affect verdicts, the same for every benchmark.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PlanKeys {
    verdict: Verdict,
    test: BTreeMap<String, Test>,
    isolated: Isolated,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Verdict {
    rates: Option<bool>,
    mei_percent: BTreeMap<String, f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Test {
    rate_mei_percent: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Isolated {
    blocks_max: Option<usize>,
    blocks_expected: Option<usize>,
}

/// The rules of the run's plan.
///
/// # Errors
/// If `plan.toml` in the run folder cannot be read or parsed.
pub fn rules_of(run: &Run) -> Result<Rules> {
    let path = run.folder.plan_path();
    let invalid = |why: String| Error::Plan { path: path.clone(), why };
    let text = std::fs::read_to_string(&path).map_err(|error| invalid(error.to_string()))?;
    let rules = rules(&text).map_err(|error| invalid(error.to_string()))?;
    Ok(Rules { at_once: run.meta.is_imported(), ..rules })
}

fn rules(plan: &str) -> std::result::Result<Rules, toml::de::Error> {
    let plan: PlanKeys = toml::from_str(plan)?;
    let mut rules = Rules { rates: plan.verdict.rates.unwrap_or(true), ..Rules::default() };
    let Isolated { blocks_max, blocks_expected } = plan.isolated;
    if let Some(last) = [blocks_max, blocks_expected].into_iter().flatten().min() {
        rules = rules.ending_after(last);
    }
    for (key, percent) in &plan.verdict.mei_percent {
        let metric = if key == STALLS { Some(Metric::StallFactor) } else { key.parse().ok() };
        if let Some(metric) = metric {
            rules.mei.insert(metric, percent / 100.0);
        }
    }
    for (test, options) in plan.test {
        if let Some(percent) = options.rate_mei_percent {
            rules.mei_of_test.insert((test, Metric::Rate), percent / 100.0);
        }
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_sets_looks_and_minimum_effects() {
        let text = "[isolated]\nblocks_max = 7\n[test.scan]\nrate_mei_percent = 5\n\
                    [verdict]\nrates = false\n[verdict.mei_percent]\nrate = 3\ninstructions = 1\nstalls = 4\n";
        let rules = rules(text).unwrap();
        assert!(!rules.rates);
        let looks: Vec<usize> = rules.looks.iter().map(|look| look.blocks).collect();
        assert_eq!(looks, [3, 5, 8, 12, 18], "it may be given more time");
        assert_eq!(rules, Rules { looks: Rules::default().ending_after(7).looks, ..rules.clone() });
        let within = super::rules("[isolated]\nblocks_max = 18\nblocks_expected = 5\n").unwrap();
        assert_eq!(within.looks, Rules::default().ending_after(5).looks, "a budget reaches no more");
        let mei = |test: &str, metric| rules.mei(test, metric);
        assert_eq!((mei("scan", Metric::Rate), mei("delete", Metric::Rate)), (0.05, 0.03));
        assert_eq!((mei("scan", Metric::Instructions), mei("scan", Metric::CpuUs)), (0.01, 0.02));
        assert_eq!(mei("scan", Metric::StallFactor), 0.04);
    }
}
