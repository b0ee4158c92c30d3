//! Whether the host was itself around a block: canaries before and after it, and the CPU time that its hypervisor took.

use crate::error::Result;
use crate::kit::Host;
use rqps_store::{BlockStatus, Canary, Moment, Run};
use std::path::Path;

/// Canaries that are not sooner judged than there are this many of them.
const JUDGED_FROM: usize = 6;
/// How far a canary may lie outside what the blocks before have seen, as a share of it, before its block is void. A
/// virtual machine's disk may change between two speeds as it likes, and few windows wait for it: it voids no block.
const OUTSIDE_MOST: [(&str, f64); 2] = [("spin_ns", 0.05), ("memory_ns", 0.25)];
/// CPU that the hypervisor gave to others, as a share of what the host used.
const STOLEN_MOST: f64 = 0.10;
/// Not more than this share of blocks is void because of the host: where it is never quiet, results say so instead.
const VOID_SHARE_MOST: f64 = 0.25;

pub(super) fn canaries(host: &dyn Host, (block, moment): (u32, Moment), dir: &Path) -> Result<Vec<Canary>> {
    let canary = |(name, value): (&str, f64)| Canary { block, moment, name: name.to_owned(), value };
    Ok(host.canaries(dir)?.into_iter().map(canary).collect())
}

/// Why a block of a run must not count, if so.
pub(super) fn spoilt(run: &Run, number: u32) -> Option<String> {
    let void = run.blocks.iter().filter(|block| block.status == BlockStatus::Void).count();
    if (void + 1) as f64 > VOID_SHARE_MOST * (run.blocks.len() + 1) as f64 && void > 0 {
        return None;
    }
    let stolen_share = stolen_share(run, number);
    if stolen_share > STOLEN_MOST {
        return Some(format!(
            "the hypervisor gave {:.0} % of the CPU time to other guests",
            stolen_share * 100.0
        ));
    }
    OUTSIDE_MOST.iter().find_map(|(name, most)| outside_of(&run.canaries, number, name, *most))
}

/// Of the CPU time that was wanted in a block's windows, the share that the hypervisor gave to others.
fn stolen_share(run: &Run, number: u32) -> f64 {
    let windows =
        || run.windows.iter().filter(|window| window.placement.is_some_and(|at| at.block == number));
    let sum = |name: &str| windows().filter_map(|window| window.metric(name)).sum::<f64>();
    let stolen = sum("host_steal_us");
    stolen / (stolen + sum("host_user_us") + sum("host_system_us")).max(1.0)
}

fn outside_of(all: &[Canary], number: u32, name: &str, most: f64) -> Option<String> {
    let named = || all.iter().filter(|canary| canary.name == name);
    let earlier: Vec<f64> = named().filter(|c| c.block != number).map(|c| c.value).collect();
    if earlier.len() < JUDGED_FROM {
        return None;
    }
    let low = earlier.iter().copied().fold(f64::INFINITY, f64::min);
    let high = earlier.iter().copied().fold(0.0, f64::max);
    let is_outside = |value: f64| value > high * (1.0 + most) || value < low / (1.0 + most);
    let worst = named().find(|canary| canary.block == number && is_outside(canary.value))?;
    Some(format!(
        "the host changed: canary {name} was {:.4} {} the block, between {low:.4} and {high:.4} so far",
        worst.value, worst.moment
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canary(block: u32, moment: Moment, value: f64) -> Canary {
        Canary { block, moment, name: "spin_ns".to_owned(), value }
    }

    #[test]
    fn a_block_is_void_only_outside_what_earlier_blocks_saw() {
        let mut all: Vec<Canary> = (1..=3)
            .flat_map(|block| {
                [(Moment::Before, 1.30), (Moment::After, 1.36)].map(|(m, v)| canary(block, m, v))
            })
            .collect();
        all.push(canary(4, Moment::Before, 1.33));
        all.push(canary(4, Moment::After, 1.41));
        assert_eq!(outside_of(&all, 4, "spin_ns", 0.05), None, "1.41 is less than 5 % above 1.36");
        all.push(canary(5, Moment::After, 1.6));
        let why = outside_of(&all, 5, "spin_ns", 0.05).unwrap();
        assert!(why.contains("spin_ns was 1.6000 after") && why.contains("1.4100"), "{why}");
        assert_eq!(outside_of(&all, 5, "memory_ns", 0.05), None, "nothing is known of it");
        let few = &all[..4];
        assert_eq!(outside_of(few, 2, "spin_ns", 0.0), None, "two canaries are too few to judge by");
    }
}
