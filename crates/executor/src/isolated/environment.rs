//! Voids blocks around which the host changed, by canaries before and after a block and by CPU time that the
//! hypervisor took.

use crate::error::Result;
use crate::kit::Host;
use rqps_store::{BlockStatus, Canary, Moment, Run};
use std::path::Path;

/// Earlier readings that a canary needs before it is judged.
const EARLIER_MIN: usize = 6;
/// How far a canary may lie outside the range of the other blocks, as a share, before its block is void. The
/// disk's canary is not listed: a virtual machine's disk may change between two speeds at any time, and few
/// windows wait for it.
const OUTSIDE_MAX: [(&str, &str, f64); 2] =
    [("spin_ns", "a step of a fixed loop", 0.05), ("memory_ns", "a load from memory", 0.25)];
/// CPU time that the hypervisor may give to others, as a share of the time that was wanted.
const STOLEN_MAX: f64 = 0.10;
/// Less than this, in microseconds, is a matter of chance: the kernel counts stolen time in ticks, of 10 ms each.
const STOLEN_MIN_US: f64 = 50_000.0;
/// At most this share of blocks is voided because of the host. On a host that is never quiet, reports say so
/// instead.
const VOID_SHARE_MAX: f64 = 0.25;

pub(super) fn canaries(host: &dyn Host, (block, moment): (u32, Moment), dir: &Path) -> Result<Vec<Canary>> {
    let canary = |(name, value): (&str, f64)| Canary { block, moment, name: name.to_owned(), value };
    Ok(host.canaries(dir)?.into_iter().map(canary).collect())
}

/// Why a block must be void, or `None` if it counts.
pub(super) fn void_reason(run: &Run, number: u32) -> Option<String> {
    let void = run.blocks.iter().filter(|block| block.status == BlockStatus::Void).count();
    if (void + 1) as f64 > VOID_SHARE_MAX * (run.blocks.len() + 1) as f64 && void > 0 {
        return None;
    }
    let stolen_share = stolen_share(run, number);
    if stolen_share > STOLEN_MAX {
        return Some(format!(
            "the hypervisor gave {:.0} % of the CPU time to other guests",
            stolen_share * 100.0
        ));
    }
    OUTSIDE_MAX.iter().find_map(|(name, work, max)| outside(&run.canaries, number, (name, work), *max))
}

/// The share of the CPU time wanted in a block's windows that the hypervisor gave to others.
fn stolen_share(run: &Run, number: u32) -> f64 {
    let windows =
        || run.windows.iter().filter(|window| window.placement.is_some_and(|at| at.block == number));
    let sum = |name: &str| windows().filter_map(|window| window.metric(name)).sum::<f64>();
    let stolen = sum("host_steal_us");
    if stolen < STOLEN_MIN_US {
        return 0.0;
    }
    stolen / (stolen + sum("host_user_us") + sum("host_system_us")).max(1.0)
}

/// Describes a canary of the block that is outside the range of the other blocks by more than the share
/// `max`.
fn outside(all: &[Canary], number: u32, (name, work): (&str, &str), max: f64) -> Option<String> {
    let named = || all.iter().filter(|canary| canary.name == name);
    let earlier: Vec<f64> = named().filter(|c| c.block != number).map(|c| c.value).collect();
    if earlier.len() < EARLIER_MIN {
        return None;
    }
    let low = earlier.iter().copied().fold(f64::INFINITY, f64::min);
    let high = earlier.iter().copied().fold(0.0, f64::max);
    let is_outside = |value: f64| value > high * (1.0 + max) || value < low / (1.0 + max);
    let worst = named().find(|canary| canary.block == number && is_outside(canary.value))?;
    let digits = match high {
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    Some(format!(
        "the host changed: {work} took {:.digits$} ns {} the block, and {low:.digits$} to {high:.digits$} ns around others",
        worst.value, worst.moment
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPIN: (&str, &str) = ("spin_ns", "a step of a fixed loop");

    fn canary(block: u32, moment: Moment, value: f64) -> Canary {
        Canary { block, moment, name: "spin_ns".to_owned(), value }
    }

    #[test]
    fn a_canary_voids_its_block_only_outside_the_range_of_the_others() {
        let mut all: Vec<Canary> = (1..=3)
            .flat_map(|block| {
                [(Moment::Before, 1.30), (Moment::After, 1.36)].map(|(m, v)| canary(block, m, v))
            })
            .collect();
        all.push(canary(4, Moment::Before, 1.33));
        all.push(canary(4, Moment::After, 1.41));
        assert_eq!(outside(&all, 4, SPIN, 0.05), None, "1.41 is less than 5 % above 1.36");
        all.push(canary(5, Moment::After, 1.6));
        let why = outside(&all, 5, SPIN, 0.05).unwrap();
        assert!(
            why.contains("a fixed loop took 1.60 ns after the block, and 1.30 to 1.41 ns around others"),
            "{why}"
        );
        assert_eq!(outside(&all, 5, ("memory_ns", ""), 0.05), None, "no readings of this canary");
        let few = &all[..4];
        assert_eq!(outside(few, 2, SPIN, 0.0), None, "two other readings are too few");
    }
}
