//! Shares of verdicts, with intervals: how often a method calls what is not there, or misses what is.

use statrs::function::beta::beta_reg;

/// Halvings that bring an interval of length 1 to the spacing of floating-point numbers.
const HALVINGS: usize = 60;

/// The interval of a share of which `hits` of `trials` were seen (Clopper and Pearson 1934): it misses with probability
/// `1 - confidence` at most, whatever the share. Without trials it is 0 to 1.
pub fn clopper_pearson(hits: u64, trials: u64, confidence: f64) -> (f64, f64) {
    let tail = (1.0 - confidence) / 2.0;
    let (hit, miss) = (hits.min(trials) as f64, trials.saturating_sub(hits) as f64);
    let low = if hit == 0.0 { 0.0 } else { beta_quantile(hit, miss + 1.0, tail) };
    let high = if miss == 0.0 { 1.0 } else { beta_quantile(hit + 1.0, miss, 1.0 - tail) };
    (low, high)
}

/// By bisection: slower than the usual iterations, but right in the far tails too.
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

    /// Printed values: R's `binom.test`; the rule of three for no hits.
    #[test]
    fn clopper_pearson_is_as_printed() {
        let printed = [
            (10, 100, 0.95, 0.049_005, 0.176_223),
            (0, 3000, 0.95, 0.0, 0.001_228_9),
            (1, 10, 0.95, 0.002_528_6, 0.445_016),
            (5, 5, 0.95, 0.478_176, 1.0),
            (0, 0, 0.95, 0.0, 1.0),
        ];
        for (hits, trials, confidence, low, high) in printed {
            let (its_low, its_high) = clopper_pearson(hits, trials, confidence);
            assert!((its_low - low).abs() < 2e-6, "{hits}/{trials}: {its_low} for {low}");
            assert!((its_high - high).abs() < 2e-6, "{hits}/{trials}: {its_high} for {high}");
        }
    }
}
