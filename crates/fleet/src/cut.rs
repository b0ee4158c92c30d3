//! Cuts a plan into pieces that never split a comparison: what is compared with each other within a block runs on one
//! host. Tests of blocks start from the same data, so they can be apart; arms are compared with base, so each piece has
//! base, and its control.

use std::time::Duration;

use rqps_plan::estimate::estimate;
use rqps_plan::isolated::{block_seconds, loads_seconds};
use rqps_plan::{Plan, Protocol, schedule};

/// Share of a budget that loads and pilot take, which every piece repeats.
const BUDGET_FIXED: f64 = 0.15;
/// Pieces for each host, so that a host that is slow or fails does not hold up all others for long.
const PIECES_PER_HOST: usize = 2;

/// A piece of a plan.
#[derive(Debug, Clone)]
pub struct Piece {
    pub plan: Plan,
    /// Estimated.
    pub seconds: f64,
}

/// How many pieces keep a group of hosts busy; a single host has nothing to share.
pub fn pieces_for(hosts: usize) -> usize {
    if hosts <= 1 { 1 } else { hosts * PIECES_PER_HOST }
}

/// Cuts a plan into at most `pieces` pieces of about the same size: first its tests, since arms side by side share
/// base's measurements, then its arms. A sequence shares state between tests, so only its arms are cut.
pub fn cut(plan: &Plan, pieces: usize) -> Vec<Piece> {
    let tests = &plan.workload.steps;
    let is_own = |arm: &rqps_plan::Arm| arm.control || arm.name == plan.base;
    let candidates: Vec<&str> =
        plan.arms.iter().filter(|arm| !is_own(arm)).map(|arm| arm.name.as_str()).collect();
    let test_groups = match plan.protocol {
        Protocol::Isolated => pieces.clamp(1, tests.len().max(1)),
        Protocol::Sequence => 1,
    };
    let arm_groups = pieces.div_ceil(test_groups).clamp(1, candidates.len().max(1));
    let whole = size(plan);
    let mut cut = Vec::new();
    for of_arms in split(&candidates, arm_groups) {
        for of_tests in split(tests, test_groups) {
            let mut piece = plan.clone();
            piece.arms.retain(|arm| is_own(arm) || of_arms.contains(&arm.name.as_str()));
            if plan.protocol == Protocol::Isolated {
                piece.workload.steps = of_tests.to_vec();
            }
            // Each comparison gets as much time as it would get on one host.
            let share = BUDGET_FIXED + (1.0 - BUDGET_FIXED) * size(&piece) / whole;
            piece.budget = plan.budget.map(|budget| {
                Duration::from_secs((budget.as_secs_f64() * share.min(1.0)).ceil().max(1.0) as u64)
            });
            let seconds = seconds_of(&piece);
            cut.push(Piece { plan: piece, seconds });
        }
    }
    cut
}

/// Seconds of a block, or the number of arms of a sequence: what a piece's share is measured by.
fn size(plan: &Plan) -> f64 {
    match plan.protocol {
        Protocol::Isolated => block_seconds(plan, plan.workload.steps.len()),
        Protocol::Sequence => plan.arms.len() as f64,
    }
}

fn seconds_of(plan: &Plan) -> f64 {
    if plan.protocol == Protocol::Sequence {
        return estimate(&schedule(plan), plan).iter().sum();
    }
    let blocks_s = || f64::from(plan.blocks().blocks_max) * size(plan);
    loads_seconds(plan) + plan.budget.map_or_else(blocks_s, |budget| budget.as_secs_f64())
}

/// Consecutive groups whose sizes differ by one at most.
fn split<T>(all: &[T], groups: usize) -> impl Iterator<Item = &[T]> {
    let (size, larger) = (all.len() / groups, all.len() % groups);
    let end = move |group: usize| group * size + group.min(larger);
    (0..groups).map(move |group| &all[end(group)..end(group + 1)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use rqps_plan::PlanContext;
    use std::collections::BTreeMap;

    fn plan(protocol: &str, arms: usize) -> Plan {
        let mut text = format!("protocol = \"{protocol}\"\nbase = \"a0\"\n");
        let rows = "[workload]\nrows = 1_000\n";
        if protocol == "isolated" {
            text.push_str("budget = \"2h\"\n");
        }
        text.push_str(rows);
        for arm in 0..arms {
            text.push_str(&format!(
                "[[arm]]\nname = \"a{arm}\"\nbuild = \"postgres-18.1\"\nconfig = \"sized\"\nenv = {{ A = \"{arm}\" }}\n"
            ));
        }
        let context = PlanContext::trusting(rqps_workloads::BENCHMARKS);
        Plan::parse(&text, "test", &context).unwrap().plan
    }

    /// Each candidate meets base, and the control, in each test exactly once.
    #[test]
    fn every_comparison_is_in_exactly_one_part() {
        for (protocol, pieces) in [
            ("isolated", 1),
            ("isolated", 7),
            ("isolated", 32),
            ("isolated", 100),
            ("isolated", 9_999),
            ("sequence", 3),
        ] {
            let plan = plan(protocol, 6);
            let cut = cut(&plan, pieces);
            let mut met: BTreeMap<(String, String), usize> = BTreeMap::new();
            for piece in &cut {
                assert!(piece.plan.arms.iter().any(|arm| arm.name == "a0"), "base is missing");
                let controls = piece.plan.arms.iter().filter(|arm| arm.control).count();
                assert_eq!(controls, usize::from(protocol == "isolated"));
                assert!(piece.plan.budget <= plan.budget);
                for arm in piece.plan.arms.iter().filter(|arm| !arm.control && arm.name != "a0") {
                    for test in &piece.plan.workload.steps {
                        *met.entry((arm.name.clone(), test.clone())).or_default() += 1;
                    }
                }
                // It is a plan like any other.
                let text = piece.plan.to_toml().unwrap();
                let again = Plan::parse(&text, "piece", &PlanContext::trusting(rqps_workloads::BENCHMARKS));
                assert_eq!(again.unwrap().plan, piece.plan);
            }
            let tests = plan.workload.steps.iter().collect::<std::collections::BTreeSet<_>>().len();
            assert_eq!(met.len(), 5 * tests, "{protocol} {pieces}");
            let times = if protocol == "isolated" { 1 } else { plan.workload.steps.len() / tests };
            assert!(met.values().all(|count| *count >= 1 && (protocol == "sequence" || *count == times)));
            assert!(cut.len() <= pieces.max(1) * 2, "{} pieces for {pieces}", cut.len());
        }
    }

    #[test]
    fn parts_are_about_equal() {
        let sizes: Vec<usize> = split(&[0; 32], 5).map(<[i32]>::len).collect();
        assert_eq!(sizes, [7, 7, 6, 6, 6]);
        let seconds: Vec<f64> = cut(&plan("isolated", 2), 8).iter().map(|piece| piece.seconds).collect();
        let total: f64 = seconds.iter().sum();
        assert!(seconds.iter().all(|one| *one < 2.0 * total / 8.0), "{seconds:?}");
    }
}
