//! Who missed the target rate of background writes of a test. What ran beside other writes is not comparable.

use std::collections::BTreeMap;

use rqps_store::{Recorded, Run, Window};

use crate::data::{done_blocks, is_result};
use crate::judged::RunVerdicts;

/// Who missed a target rate. One arm did if it missed it in every block that both have, as many as a verdict takes, and
/// the other met it in all of them: a miss now and then is the host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissedBy {
    Arm,
    Base,
    Unclear,
}

impl RunVerdicts {
    /// `None` if arm and base met it in all blocks that both have.
    pub fn missed_by(&self, run: &Run, test: &str, (arm, base): (usize, usize)) -> Option<MissedBy> {
        let (of_arm, of_base) = (misses(run, test, arm), misses(run, test, base));
        let common = |one: &BTreeMap<u32, bool>, other: &BTreeMap<u32, bool>| -> Vec<bool> {
            one.iter().filter(|(block, _)| other.contains_key(block)).map(|(_, missed)| *missed).collect()
        };
        let (own, of_base) = (common(&of_arm, &of_base), common(&of_base, &of_arm));
        let always =
            |misses: &[bool]| misses.len() >= self.blocks_min() && misses.iter().all(|missed| *missed);
        let never = |misses: &[bool]| misses.iter().all(|missed| !missed);
        match (never(&own), never(&of_base)) {
            (true, true) => None,
            (false, true) if always(&own) => Some(MissedBy::Arm),
            (true, false) if always(&of_base) => Some(MissedBy::Base),
            _ => Some(MissedBy::Unclear),
        }
    }

    /// The fewest blocks after which there are verdicts.
    pub fn blocks_min(&self) -> usize {
        self.rules.looks.first().map_or(0, |look| look.blocks)
    }
}

/// Whether an arm missed the rate, in each block that it has.
fn misses(run: &Run, test: &str, arm: usize) -> BTreeMap<u32, bool> {
    let done = done_blocks(run);
    let mut blocks = BTreeMap::new();
    let windows = run.windows.iter().filter(|window| window.action.step == test);
    let is_of_arm = |window: &&Recorded<Window>| window.action.arm == run.arms[arm].name;
    for window in windows.filter(is_of_arm).filter(|window| window.valid() && is_result(window)) {
        let Some(at) = window.placement.filter(|at| done.contains(&at.block)) else { continue };
        if let Some(kept) = window.metric("background_kept") {
            *blocks.entry(at.block).or_default() |= kept < 1.0;
        }
    }
    blocks
}
