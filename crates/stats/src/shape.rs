//! Properties of blocks that a mean does not show: outliers and clusters.

use crate::distribution::t_two_sided;
use rqps_model::sample::{mean, squares, variance};

/// k for 95 % efficiency at the normal distribution is 1.345; Huber himself chose 1.5 (Huber 1964).
const HUBER_K: f64 = 1.5;
/// Ratio of standard deviation to median absolute deviation for the normal distribution.
const MAD_TO_SD: f64 = 1.4826;
/// Maximum iterations; each reduces the error by a constant factor.
const HUBER_ROUNDS: usize = 50;
/// A block is an outlier if normal blocks have one as far out with less than this probability.
const OUTLIER_P: f64 = 0.001;
/// Minimum number of blocks that can show two clusters.
const BIMODAL_BLOCKS_MIN: usize = 6;
/// Critical values of the share of the sum of squares within the two clusters of the best split (each of two
/// or more blocks): normal blocks have less with probability 0.001. For 6, 7, .. blocks, by simulation of
/// 1,000,000 samples each; the test simulates again.
const SPLIT_CRITICAL: [f64; 13] = [
    0.01073, 0.01970, 0.02987, 0.04075, 0.05162, 0.06253, 0.07195, 0.08148, 0.08984, 0.09756, 0.10502,
    0.11159, 0.11769,
];

fn median(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { (sorted[half - 1] + sorted[half]) / 2.0 }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Huber's estimate of location, scaled by the median absolute deviation. Needs at least one value.
pub(crate) fn huber(values: &[f64]) -> f64 {
    let mut centre = median(&sorted(values.iter().copied()));
    let scale = MAD_TO_SD * median(&sorted(values.iter().map(|value| (value - centre).abs())));
    if scale == 0.0 {
        return centre;
    }
    for _ in 0..HUBER_ROUNDS {
        let winsorized = |value: &f64| value.clamp(centre - HUBER_K * scale, centre + HUBER_K * scale);
        let next = mean(&values.iter().map(winsorized).collect::<Vec<f64>>());
        if (next - centre).abs() < 1e-12 * scale {
            break;
        }
        centre = next;
    }
    centre
}

/// Whether a block is an outlier: Student's t of its deleted residual, times the number of blocks
/// (Bonferroni).
pub(crate) fn has_outlier(values: &[f64]) -> bool {
    let count = values.len();
    if count < 4 {
        return false;
    }
    (0..count).any(|index| {
        let others: Vec<f64> =
            values.iter().enumerate().filter(|(place, _)| *place != index).map(|(_, value)| *value).collect();
        let error = (variance(&others) * (1.0 + 1.0 / others.len() as f64)).sqrt();
        let far = (values[index] - mean(&others)).abs();
        error > 0.0 && t_two_sided(far / error, others.len() as f64 - 1.0) * (count as f64) < OUTLIER_P
    })
}

/// Whether blocks form two clusters: the best split leaves less within them than normal blocks would.
pub(crate) fn is_bimodal(values: &[f64]) -> bool {
    if values.len() < BIMODAL_BLOCKS_MIN {
        return false;
    }
    // For more blocks than the table has, the last entry is conservative.
    let entry = (values.len() - BIMODAL_BLOCKS_MIN).min(SPLIT_CRITICAL.len() - 1);
    split_share(values) < SPLIT_CRITICAL[entry]
}

/// Share of the sum of squares within the clusters of the best split; each has at least two blocks.
fn split_share(values: &[f64]) -> f64 {
    let sorted = sorted(values.iter().copied());
    let total = squares(&sorted);
    let within = |cut: usize| squares(&sorted[..cut]) + squares(&sorted[cut..]);
    let least = (2..=sorted.len() - 2).map(within).fold(f64::INFINITY, f64::min);
    if total > 0.0 { least / total } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Rng;

    /// The table holds: normal samples fall below each entry as often as designed, within noise.
    #[test]
    fn critical_values_hold_for_normal_blocks() {
        for blocks in [6, 9, 18, 30] {
            let mut rng = Rng::new(blocks as u64);
            let draws = 40_000;
            let hits = (0..draws).filter(|_| is_bimodal(&rng.normals(blocks))).count();
            let expected = 0.001 * f64::from(draws);
            assert!(
                (hits as f64) < expected + 4.0 * expected.sqrt(),
                "{blocks} blocks: {hits} for {expected}"
            );
            assert!(
                blocks > 18 || (hits as f64) > expected - 4.0 * expected.sqrt(),
                "{blocks} blocks: {hits}"
            );
        }
    }

    #[test]
    fn two_states_of_restarts_are_bimodal() {
        let two = [0.001, 0.051, -0.001, 0.049, 0.0, 0.0495, 0.0005, 0.0505];
        assert!(is_bimodal(&two));
        assert!(!has_outlier(&two), "clusters are no outliers");
        assert!(!is_bimodal(&two[..5]), "five blocks show no clusters");
        let one_far = [0.001, 0.002, -0.001, 0.0, 0.0015, 0.2, 0.0005, -0.002];
        assert!(has_outlier(&one_far));
        assert!(!is_bimodal(&one_far), "one far block is no cluster");
        let winsorized = huber(&one_far);
        assert!(winsorized.abs() < 0.002, "the outlier is limited: {winsorized}");
        assert!(mean(&one_far) > 0.02);
    }
}
