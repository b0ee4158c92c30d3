//! Pairs the figures of a block: only windows that every arm has are compared.
//!
//! Windows of equal number repeat the same operations on every arm, and their positions in the block are
//! mirrored. So a window that one arm lost is dropped from all arms.

use std::collections::{BTreeMap, BTreeSet};

use rqps_stats::BlockData;

use rqps_model::sample::mean;

/// An arm's figures in one block, by window number.
pub(crate) type Figures = BTreeMap<u32, f64>;

/// Each arm's mean over the windows that all arms have. Arms without any windows are ignored; `None` if fewer
/// than two arms have windows, or they have none in common.
pub(crate) fn block_data(block: u32, arms: &[Figures]) -> Option<BlockData> {
    let measured: Vec<&Figures> = arms.iter().filter(|figures| !figures.is_empty()).collect();
    let mut common: BTreeSet<u32> = measured.first()?.keys().copied().collect();
    common.retain(|window| measured.iter().all(|figures| figures.contains_key(window)));
    if measured.len() < 2 || common.is_empty() {
        return None;
    }
    let paired_values = |figures: &Figures| -> Vec<f64> {
        common.iter().filter_map(|window| figures.get(window)).copied().collect()
    };
    let paired: Vec<Vec<f64>> = arms.iter().map(paired_values).collect();
    let mean_or_none = |values: &[f64]| (!values.is_empty()).then(|| mean(values));
    let mean_ln = |values: &[f64]| {
        let has_logs = values.iter().all(|value| *value > 0.0);
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        has_logs.then(|| mean_or_none(&logs)).flatten()
    };
    Some(BlockData {
        block,
        values: paired.iter().map(|values| mean_or_none(values)).collect(),
        ln: paired.iter().map(|values| mean_ln(values)).collect(),
        errors: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_one_arm_lost_is_dropped_from_all() {
        let base = Figures::from([(1, 100.0), (2, 400.0)]);
        let cut = Figures::from([(2, 420.0)]);
        let data = block_data(7, &[base.clone(), cut, Figures::new()]).unwrap();
        assert_eq!(data.values, [Some(400.0), Some(420.0), None], "an arm without windows is ignored");
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
