//! Disturbed windows: other programs, or other guests of the host, used some of the machine's CPU.

use rqps_store::{Recorded, Window};

use crate::comparison::{ComparedArm, Comparison, TestStep};

/// Share of the machine's CPU above which other programs are a disturbance. It includes kernel work for the
/// test itself (writeback, network), about 1 to 3 %.
const OTHERS_SHARE: f64 = 0.05;
/// Share of the machine's CPU above which stolen time is a disturbance.
const STEAL_SHARE: f64 = 0.02;

/// A sentence per kind of disturbance that occurred.
pub(crate) fn sentences(comparison: &Comparison<'_>, steps: &[TestStep]) -> Vec<String> {
    let kinds = [
        ("rest_us", OTHERS_SHARE, "other programs used"),
        ("host_steal_us", STEAL_SHARE, "other guests of the host took"),
    ];
    kinds
        .iter()
        .filter_map(|(metric, limit, what)| sentence(comparison, steps, metric, *limit, what))
        .collect()
}

fn sentence(
    comparison: &Comparison<'_>,
    steps: &[TestStep],
    metric: &str,
    limit: f64,
    what: &str,
) -> Option<String> {
    let disturbed = |arm: &ComparedArm<'_>| {
        let windows = steps.iter().filter_map(|step| arm.window(&step.name).ok());
        let shares: Vec<f64> = windows.filter_map(|window| share(window, metric)).collect();
        let over = shares.iter().filter(|share| **share > limit).count();
        let most = shares.iter().copied().fold(0.0, f64::max);
        (over > 0).then(|| {
            let (label, all) = (arm.label(), shares.len());
            format!("{over} of {all} windows of {label} (up to {:.0} %)", most * 100.0)
        })
    };
    let arms: Vec<String> = comparison.arms.iter().filter_map(disturbed).collect();
    (!arms.is_empty()).then(|| {
        format!(
            "DISTURBED: {what} more than {:.0} % of the machine's CPU in {}. Do not rely on ratios of these windows; \
             measure again on a quiet machine.",
            limit * 100.0,
            arms.join(", ")
        )
    })
}

/// A metric's share of all CPU time of the machine in the window.
fn share(window: &Recorded<Window>, metric: &str) -> Option<f64> {
    let capacity_us = window.result.elapsed_us as f64 * window.metric("cpus")?;
    (capacity_us > 0.0).then_some(window.metric(metric)? / capacity_us)
}
