//! Blocks of the protocol `isolated`: who starts when and where, and in which order windows are measured.
//!
//! A block is a pure function of plan, number and the tests it measures, so a block that was cut off is drawn again
//! the same. Everything that could favour an arm by its place is drawn at random: the order of starts, the side
//! (directory and socket), the order of tests, and the order of arms within a test, which is then mirrored: `ABC
//! CBA`, and with four windows `ABC CBA CBA ABC`. So a drift that is linear in time cancels within each test.

use rqps_workloads::random::Stream;
use rqps_workloads::{Test, microbenchmarks};

use crate::estimate;
use crate::model::{Isolated, Plan};

/// Keeps the draws of blocks apart from those of keys.
const BLOCK_WORD: u64 = 0x0062_6c6f_636b;

/// One block as drawn.
#[derive(Debug, Clone)]
pub struct BlockPlan {
    /// From 1.
    pub number: u32,
    /// What it was drawn from.
    pub seed: u64,
    /// Indices of [`Plan::arms`] in the order in which their servers start.
    pub starts: Vec<usize>,
    /// The side of each arm, by index of [`Plan::arms`]; from 0.
    pub sides: Vec<usize>,
    /// Which of the host's CPUs serves single clients: an index that is taken modulo their number.
    pub cpu_turn: u32,
    /// The tests, those that only read first.
    pub tests: Vec<Turns>,
}

/// The windows of one test in a block, in order.
#[derive(Debug, Clone)]
pub struct Turns {
    /// The test.
    pub test: &'static Test,
    /// Whose turn it is.
    pub slots: Vec<Slot>,
}

/// One window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Index in [`Plan::arms`].
    pub arm: usize,
    /// The arm's how-manieth window of this test, from 1: windows of the same number repeat the same operations.
    pub window: u32,
}

/// Draws a block.
pub fn block(plan: &Plan, number: u32, tests: &[String]) -> BlockPlan {
    let mut stream = Stream::new(&[plan.seed, BLOCK_WORD, u64::from(number)]);
    let seed = stream.bits();
    let windows = plan.isolated.as_ref().map_or_else(|| Isolated::default().windows, |it| it.windows);
    let arms = plan.arms.len();
    let starts = permutation(&mut stream, arms);
    let sides = permutation(&mut stream, arms);
    let known = tests.iter().filter_map(|name| microbenchmarks::test_by_name(name));
    let (writes, reads): (Vec<_>, Vec<_>) = known.partition(|test| test.writes());
    let mut turns = Vec::new();
    for group in [reads, writes] {
        for at in permutation(&mut stream, group.len()) {
            let order = permutation(&mut stream, arms);
            turns.push(Turns { test: group[at], slots: mirrored(&order, windows) });
        }
    }
    // CPUs take turns, so that no run depends on one of them being drawn often.
    BlockPlan { number, seed, starts, sides, cpu_turn: number - 1, tests: turns }
}

/// `order` and its mirror image, twice mirrored again: `ABBA BAAB`.
fn mirrored(order: &[usize], windows: u32) -> Vec<Slot> {
    let mut slots = Vec::new();
    for window in 1..=windows {
        // 1 forward, 2 and 3 backward, 4 and 5 forward, …
        let backward = window % 4 == 2 || window % 4 == 3;
        let arms: Vec<usize> = if backward { order.iter().rev().copied().collect() } else { order.to_vec() };
        slots.extend(arms.into_iter().map(|arm| Slot { arm, window }));
    }
    slots
}

/// A random order of `0..count` (Fisher and Yates).
fn permutation(stream: &mut Stream, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        let other = stream.key(last as u64 + 1) as usize - 1;
        order.swap(last, other);
    }
    order
}

/// Seconds that a block of these tests is taken to last before one has been measured.
pub fn block_seconds(plan: &Plan, tests: usize) -> f64 {
    let isolated = plan.isolated.clone().unwrap_or_default();
    let arms = plan.arms.len() as f64;
    let window = isolated.window_seconds * 1.2 + estimate::STEP_OVERHEAD_SECONDS;
    arms * (estimate::START_SECONDS + tests as f64 * f64::from(isolated.windows) * window)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PlanContext;

    fn plan() -> Plan {
        let text = "protocol = \"isolated\"\n[workload]\nrows = 1000\n[isolated]\nwindows = 4\n\
                    [matrix]\nbuilds = [\"postgres-17.1\", \"postgres-18.1\"]\nconfigs = [\"sized\"]\n";
        Plan::parse(text, "p.toml", &PlanContext::trusting()).unwrap().plan
    }

    #[test]
    fn windows_are_mirrored_so_that_drift_cancels() {
        let plan = plan();
        let tests = plan.workload.steps.clone();
        assert_eq!((plan.arms.len(), tests.len()), (3, 32), "base is measured twice, all tests by default");
        for number in 1..=20 {
            let block = block(&plan, number, &tests);
            for turns in &block.tests {
                let place_sum = |arm| -> usize {
                    turns.slots.iter().enumerate().filter(|(_, slot)| slot.arm == arm).map(|(at, _)| at).sum()
                };
                let sums: Vec<usize> = (0..3).map(place_sum).collect();
                assert!(sums.iter().all(|sum| *sum == sums[0]), "{}: {sums:?}", turns.test.name);
                let windows: Vec<u32> = turns.slots.iter().filter(|s| s.arm == 1).map(|s| s.window).collect();
                assert_eq!(windows, [1, 2, 3, 4]);
            }
        }
    }

    #[test]
    fn a_resolved_plan_of_blocks_parses_back_to_itself() {
        for control in [true, false] {
            let text = format!(
                "protocol = \"isolated\"\nbudget = \"1h 5m\"\n[workload]\nrows = 1000\nsteps = [\"scan\"]\n\
                 [isolated]\ncontrol = {control}\n[test.scan]\nrate_mei_percent = 5\n[verdict.mei_percent]\nrate = 3\n\
                 [[arm]]\nname = \"a\"\nbuild = \"postgres-17.1\"\nconfig = \"sized\"\nenv = {{ A = \"b c\" }}\n\
                 [[arm]]\nname = \"b\"\nbuild = \"postgres-18.1\"\nconfig = \"sized\"\n"
            );
            let plan = Plan::parse(&text, "p.toml", &PlanContext::trusting()).unwrap().plan;
            let again =
                Plan::parse(&plan.to_toml().unwrap(), "p.toml", &PlanContext::trusting()).unwrap().plan;
            assert_eq!(plan, again);
            assert_eq!(plan.arms.iter().filter(|arm| arm.control).count(), usize::from(control));
        }
    }

    #[test]
    fn places_vary_from_block_to_block_and_repeat_with_the_seed() {
        let plan = plan();
        let tests = plan.workload.steps.clone();
        let starts: std::collections::BTreeSet<_> =
            (1..=40).map(|number| block(&plan, number, &tests).starts).collect();
        assert_eq!(starts.len(), 6, "every order of three arms comes up in 40 blocks");
        assert_eq!(block(&plan, 7, &tests).sides, block(&plan, 7, &tests).sides);
        let order = |number| -> Vec<&str> {
            block(&plan, number, &tests).tests.iter().map(|turns| turns.test.name).collect()
        };
        assert_ne!(order(1), order(2));
        let first_write = block(&plan, 1, &tests).tests.iter().position(|turns| turns.test.writes()).unwrap();
        assert!(block(&plan, 1, &tests).tests[first_write..].iter().all(|turns| turns.test.writes()));
    }
}
