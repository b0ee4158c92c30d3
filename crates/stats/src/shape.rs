//! What a mean does not tell about blocks: far ones, and clusters.

use crate::distribution::t_two_sided;
use crate::pairs::{mean, variance};

/// Huber's k for 95 % efficiency at the normal distribution is 1.345; 1.5 is his own choice (Huber 1964).
const HUBER_K: f64 = 1.5;
/// Median absolute deviation to standard deviation, at the normal distribution.
const MAD_TO_SD: f64 = 1.4826;
/// Rounds of the iteration; it converges by a factor a round.
const HUBER_ROUNDS: usize = 50;
/// A block is far if one as far turns up among normal blocks with this probability.
const OUTLIER_P: f64 = 0.001;
/// Fewer blocks than this cannot show two clusters.
const BIMODAL_BLOCKS_MIN: usize = 6;
/// Share of the sum of squares that the best split into two clusters (of two or more blocks) leaves within them, below
/// which normal blocks come with probability 0.001; for 6, 7, .. blocks. By simulation of 1,000,000 samples each; the
/// test draws again.
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

/// Location by Huber's estimator with the median absolute deviation as its scale; at least one value.
pub(crate) fn huber(values: &[f64]) -> f64 {
    let mut centre = median(&sorted(values.iter().copied()));
    let scale = MAD_TO_SD * median(&sorted(values.iter().map(|value| (value - centre).abs())));
    if scale == 0.0 {
        return centre;
    }
    for _ in 0..HUBER_ROUNDS {
        let held = |value: &f64| value.clamp(centre - HUBER_K * scale, centre + HUBER_K * scale);
        let next = mean(&values.iter().map(held).collect::<Vec<f64>>());
        if (next - centre).abs() < 1e-12 * scale {
            break;
        }
        centre = next;
    }
    centre
}

/// Whether a block lies far from the others: its deleted residual by Student's t, times the number of blocks
/// (Bonferroni).
pub(crate) fn has_outlier(values: &[f64]) -> bool {
    let count = values.len();
    if count < 4 {
        return false;
    }
    (0..count).any(|left_out| {
        let others: Vec<f64> = values
            .iter()
            .enumerate()
            .filter(|(place, _)| *place != left_out)
            .map(|(_, value)| *value)
            .collect();
        let error = (variance(&others) * (1.0 + 1.0 / others.len() as f64)).sqrt();
        let far = (values[left_out] - mean(&others)).abs();
        error > 0.0 && t_two_sided(far / error, others.len() as f64 - 1.0) * (count as f64) < OUTLIER_P
    })
}

/// Whether blocks lie in two clusters: the best split leaves less within them than normal blocks would.
pub(crate) fn is_bimodal(values: &[f64]) -> bool {
    if values.len() < BIMODAL_BLOCKS_MIN {
        return false;
    }
    // More blocks than the table has: the last entry is too strict for them, never too lax.
    let entry = (values.len() - BIMODAL_BLOCKS_MIN).min(SPLIT_CRITICAL.len() - 1);
    split_share(values) < SPLIT_CRITICAL[entry]
}

/// Share of the sum of squares that is left within the clusters of the best split; each has two blocks or more.
fn split_share(values: &[f64]) -> f64 {
    let sorted = sorted(values.iter().copied());
    let squares = |part: &[f64]| {
        let centre = mean(part);
        part.iter().map(|value| (value - centre).powi(2)).sum::<f64>()
    };
    let total = squares(&sorted);
    let within = |cut: usize| squares(&sorted[..cut]) + squares(&sorted[cut..]);
    let least = (2..=sorted.len() - 2).map(within).fold(f64::INFINITY, f64::min);
    if total > 0.0 { least / total } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Rng;

    /// Share of normal samples that the split leaves this little of: the table holds, each entry within its noise.
    #[test]
    fn normal_blocks_are_rarely_bimodal() {
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
    fn two_states_of_restarts_are_seen() {
        let two = [0.001, 0.051, -0.001, 0.049, 0.0, 0.0495, 0.0005, 0.0505];
        assert!(is_bimodal(&two));
        assert!(!has_outlier(&two), "clusters are no outliers");
        assert!(!is_bimodal(&two[..5]), "five blocks show no clusters");
        let one_far = [0.001, 0.002, -0.001, 0.0, 0.0015, 0.2, 0.0005, -0.002];
        assert!(has_outlier(&one_far));
        assert!(!is_bimodal(&one_far), "one far block is no cluster");
        let held = huber(&one_far);
        assert!(held.abs() < 0.002, "the far block is held in: {held}");
        assert!(mean(&one_far) > 0.02);
    }
}
