//! Multiple testing: limits the share of false changes among the significant ones.

/// Adjusted p values: for each, the smallest `q` at which it is rejected (Benjamini and Hochberg 1995).
pub(crate) fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let count = p_values.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| p_values[*b].total_cmp(&p_values[*a]));
    let mut adjusted = vec![1.0; count];
    let mut least: f64 = 1.0;
    for (larger, place) in order.into_iter().enumerate() {
        let rank = (count - larger) as f64;
        least = least.min(p_values[place] * count as f64 / rank);
        adjusted[place] = least;
    }
    adjusted
}

/// The error of each interval so that a share of `q` of the selected intervals misses the truth (Benjamini
/// and Yekutieli 2005).
pub(crate) fn false_coverage_error(q: f64, selected: usize, of: usize) -> f64 {
    q * selected as f64 / of.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fifteen p values of the paper's example (thrombolysis, table 1): four are rejected at 0.05.
    #[test]
    fn adjusted_values_match_the_paper() {
        let p_values = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
            0.6528, 0.7590, 1.0000,
        ];
        let adjusted = benjamini_hochberg(&p_values);
        assert_eq!(adjusted.iter().filter(|q| **q <= 0.05).count(), 4);
        let expected = [0.0015, 0.003, 0.0095, 0.035_625, 0.0603];
        for (q, expected) in adjusted.iter().zip(expected) {
            assert!((q - expected).abs() < 1e-12, "{q} for {expected}");
        }
        assert!((adjusted[5] - 0.063_857).abs() < 1e-5, "steps are taken from the largest: {}", adjusted[5]);
        let back: Vec<f64> = p_values.iter().rev().copied().collect();
        assert_eq!(benjamini_hochberg(&back), adjusted.into_iter().rev().collect::<Vec<f64>>());
    }
}
