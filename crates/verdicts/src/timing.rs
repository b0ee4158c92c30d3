//! What a further block would take, from those that were measured.

use std::collections::BTreeMap;

use rqps_store::{BlockStatus, Run};

use crate::data::is_result;

/// Seconds of a block, by what they were spent on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Timing {
    /// Of each test: its windows and counts on all arms.
    pub test_s: BTreeMap<String, f64>,
    /// Of what a block takes whatever it measures: restoring data, starting and stopping servers, canaries.
    pub overhead_s: f64,
}

impl Timing {
    /// From the blocks that are done. A pass of a sequence cannot be cut down to a test: all of it is overhead.
    pub fn of(run: &Run) -> Self {
        let done: BTreeMap<u32, f64> = run
            .blocks
            .iter()
            .filter(|block| block.status == BlockStatus::Done)
            .filter_map(|block| Some((block.number, seconds(block.started_at_ms, block.finished_at_ms?))))
            .collect();
        let blocks = done.len().max(1) as f64;
        let spent: f64 = done.values().sum();
        if run.meta.protocol == "sequence" {
            return Self { test_s: BTreeMap::new(), overhead_s: spent / blocks };
        }
        let windows = run
            .windows
            .iter()
            .filter(|window| is_result(window))
            .map(|window| (&window.action, window.placement));
        let counts = run.counts.iter().map(|count| (&count.action, count.placement));
        // By test and block; windows of arms that take turns share their time.
        let mut stretches: BTreeMap<(&str, u32), Vec<(i64, i64)>> = BTreeMap::new();
        for (action, placement) in windows.chain(counts) {
            if let Some(block) = placement.map(|at| at.block).filter(|block| done.contains_key(block)) {
                let stretch = (action.started_at_ms, action.finished_at_ms);
                stretches.entry((&action.step, block)).or_default().push(stretch);
            }
        }
        let mut by_test: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for ((test, _), stretches) in stretches {
            by_test.entry(test).or_default().push(covered(stretches));
        }
        let in_tests: f64 = by_test.values().flatten().sum();
        let mean = |blocks: &Vec<f64>| blocks.iter().sum::<f64>() / blocks.len().max(1) as f64;
        Self {
            test_s: by_test.iter().map(|(test, blocks)| ((*test).to_owned(), mean(blocks))).collect(),
            overhead_s: ((spent - in_tests) / blocks).max(0.0),
        }
    }

    /// Seconds of further blocks that give each test as many as it needs.
    pub fn seconds_for<'a>(&self, needs: impl IntoIterator<Item = (&'a str, usize)>) -> f64 {
        let mut by_test: BTreeMap<&str, usize> = BTreeMap::new();
        for (test, blocks) in needs {
            let most = by_test.entry(test).or_default();
            *most = (*most).max(blocks);
        }
        let own: f64 = by_test
            .iter()
            .map(|(test, blocks)| self.test_s.get(*test).copied().unwrap_or(0.0) * *blocks as f64)
            .sum();
        own + self.overhead_s * by_test.values().copied().max().unwrap_or(0) as f64
    }
}

/// Seconds that any of these stretches takes up.
fn covered(mut stretches: Vec<(i64, i64)>) -> f64 {
    stretches.sort_unstable();
    let (mut covered, mut reached) = (0.0, i64::MIN);
    for (from_ms, to_ms) in stretches {
        covered += seconds(from_ms.max(reached), to_ms);
        reached = reached.max(to_ms);
    }
    covered
}

fn seconds(from_ms: i64, to_ms: i64) -> f64 {
    (to_ms - from_ms).max(0) as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_that_lie_over_each_other_count_once() {
        assert_eq!(covered(vec![(2_000, 3_000), (0, 1_000), (0, 1_000), (500, 1_500)]), 2.5);
        assert_eq!(covered(Vec::new()), 0.0);
    }
}
