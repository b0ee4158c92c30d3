//! Which figures of a block are held against each other: those of windows that every arm has.
//!
//! Windows of one number repeat the same operations on every arm, and their places in the block mirror each other. A
//! window that one arm lost is therefore taken from all of them.

use std::collections::{BTreeMap, BTreeSet};

use rqps_stats::BlockData;

/// An arm's figures in one block, by number of the window.
pub(crate) type Figures = BTreeMap<u32, f64>;

/// The block's figures: each arm's mean over the windows that all arms have that were measured in it at all. None when
/// fewer than two arms have any.
pub(crate) fn block_data(block: u32, arms: &[Figures]) -> Option<BlockData> {
    let mut measured = arms.iter().filter(|figures| !figures.is_empty());
    let mut common: BTreeSet<u32> = measured.next()?.keys().copied().collect();
    let mut others = 0;
    for figures in measured {
        common.retain(|window| figures.contains_key(window));
        others += 1;
    }
    if others == 0 || common.is_empty() {
        return None;
    }
    let of_arm = |figures: &Figures| -> Vec<f64> {
        common.iter().filter_map(|window| figures.get(window)).copied().collect()
    };
    let paired: Vec<Vec<f64>> = arms.iter().map(of_arm).collect();
    let mean =
        |values: &[f64]| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
    let mean_ln = |values: &[f64]| {
        let all_above_0 = values.iter().all(|value| *value > 0.0);
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        all_above_0.then(|| mean(&logs)).flatten()
    };
    Some(BlockData {
        block,
        values: paired.iter().map(|values| mean(values)).collect(),
        ln: paired.iter().map(|values| mean_ln(values)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_one_arm_lost_is_taken_from_all() {
        let base = Figures::from([(1, 100.0), (2, 400.0)]);
        let cut = Figures::from([(2, 420.0)]);
        let data = block_data(7, &[base.clone(), cut, Figures::new()]).unwrap();
        assert_eq!(
            data.values,
            [Some(400.0), Some(420.0), None],
            "an arm that was not measured takes nothing away"
        );
        let whole = block_data(7, &[base.clone(), base]).unwrap();
        assert_eq!(whole.values[0], Some(250.0));
        assert!((whole.ln[0].unwrap() - 200f64.ln()).abs() < 1e-12, "the mean of logarithms, not of values");
    }

    #[test]
    fn a_zero_has_a_value_and_no_logarithm() {
        let data = block_data(1, &[Figures::from([(1, 0.0)]), Figures::from([(1, 2.0)])]).unwrap();
        assert_eq!((data.values[0], data.ln[0]), (Some(0.0), None));
        assert!(block_data(1, &[Figures::from([(1, 2.0)]), Figures::new()]).is_none(), "nothing to compare");
    }
}
