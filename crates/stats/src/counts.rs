//! Intervals of shares of verdicts: how often a method reports a change that is not there, or misses one that
//! is.

use statrs::function::beta::beta_reg;

/// Bisections that reduce an interval of length 1 to the spacing of floating-point numbers.
const HALVINGS: usize = 60;

/// Interval of a share after `hits` in `trials` (Clopper and Pearson 1934). It misses the share with
/// probability `1 - confidence` at most, whatever the share is. Without trials it is 0 to 1.
pub fn clopper_pearson(hits: u64, trials: u64, confidence: f64) -> (f64, f64) {
    let tail = (1.0 - confidence) / 2.0;
    let (hit, miss) = (hits.min(trials) as f64, trials.saturating_sub(hits) as f64);
    let low = if hit == 0.0 { 0.0 } else { beta_quantile(hit, miss + 1.0, tail) };
    let high = if miss == 0.0 { 1.0 } else { beta_quantile(hit + 1.0, miss, 1.0 - tail) };
    (low, high)
}

/// Bisection is slower than the usual iterations, but correct in the far tails too.
fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if beta_reg(a, b, middle) < p { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference values: R's `binom.test`; the rule of three for no hits.
    #[test]
    fn clopper_pearson_matches_reference_values() {
        let reference = [
            (10, 100, 0.95, 0.049_005, 0.176_223),
            (0, 3000, 0.95, 0.0, 0.001_228_9),
            (1, 10, 0.95, 0.002_528_6, 0.445_016),
            (5, 5, 0.95, 0.478_176, 1.0),
            (0, 0, 0.95, 0.0, 1.0),
        ];
        for (hits, trials, confidence, low, high) in reference {
            let (found_low, found_high) = clopper_pearson(hits, trials, confidence);
            assert!((found_low - low).abs() < 2e-6, "{hits}/{trials}: {found_low} for {low}");
            assert!((found_high - high).abs() < 2e-6, "{hits}/{trials}: {found_high} for {high}");
        }
    }
}
