//! Shares of verdicts, with intervals: how often a method calls what is not there, or misses what is.

use crate::sim::Rng;
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

/// Hits and trials that belong together, such as all verdicts from the same blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cluster {
    /// Verdicts of the kind that is counted.
    pub hits: u64,
    /// All verdicts.
    pub trials: u64,
}

/// The percentile interval of a share over clusters: whole clusters are drawn again, `draws` times (cluster bootstrap,
/// Davison and Hinkley 1997, 3.8). For verdicts that share blocks and so are not independent; with few hits it is too
/// narrow, and with none it is (0, 0), where [`clopper_pearson`] over clusters is the honest one. None without trials.
pub fn cluster_bootstrap(
    clusters: &[Cluster],
    confidence: f64,
    draws: usize,
    seed: u64,
) -> Option<(f64, f64)> {
    if clusters.iter().all(|cluster| cluster.trials == 0) || draws == 0 {
        return None;
    }
    let mut rng = Rng::new(seed);
    let mut shares = Vec::with_capacity(draws);
    while shares.len() < draws {
        let mut sum = Cluster { hits: 0, trials: 0 };
        for _ in 0..clusters.len() {
            let drawn = clusters[rng.below(clusters.len())];
            sum = Cluster { hits: sum.hits + drawn.hits, trials: sum.trials + drawn.trials };
        }
        if sum.trials > 0 {
            shares.push(sum.hits as f64 / sum.trials as f64);
        }
    }
    shares.sort_by(f64::total_cmp);
    let tail = (1.0 - confidence) / 2.0;
    let at = |p: f64| shares[((draws as f64 * p) as usize).min(draws - 1)];
    Some((at(tail), at(1.0 - tail)))
}

/// Probability that so uneven a split comes from two equally likely sides (sign test, exact, two-sided): improvements
/// against regressions among nulls. All on one side means a broken harness.
pub fn sign_test(one: u64, other: u64) -> f64 {
    let (few, all) = (one.min(other), one + other);
    if 2 * few == all {
        return 1.0;
    }
    // At most `few` hits of `all` at a share of one half, both tails.
    (2.0 * beta_reg((all - few) as f64, few as f64 + 1.0, 0.5)).min(1.0)
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

    /// Hits that come in whole clusters are fewer observations than they look.
    #[test]
    fn the_bootstrap_sees_clusters() {
        let cluster = |hits| Cluster { hits, trials: 20 };
        let lumped: Vec<Cluster> =
            (0..40).map(|number| cluster(if number % 10 == 0 { 20 } else { 0 })).collect();
        let even: Vec<Cluster> = (0..40).map(|_| cluster(2)).collect();
        let width = |clusters: &[Cluster]| {
            let (low, high) = cluster_bootstrap(clusters, 0.95, 2000, 1).unwrap();
            assert!((low..=high).contains(&0.1), "{low} {high}");
            high - low
        };
        assert!(width(&lumped) > 0.14, "{}", width(&lumped));
        assert!(width(&even) < 1e-12);
        assert_eq!(cluster_bootstrap(&lumped, 0.95, 500, 3), cluster_bootstrap(&lumped, 0.95, 500, 3));
        assert_eq!(cluster_bootstrap(&[], 0.95, 500, 3), None);
    }

    #[test]
    fn the_sign_test_counts_coins() {
        assert!((sign_test(0, 10) - 2.0 / 1024.0).abs() < 1e-12);
        assert!((sign_test(9, 1) - 22.0 / 1024.0).abs() < 1e-12);
        assert!((sign_test(5, 5) - 1.0).abs() < 1e-12);
        assert!((sign_test(0, 0) - 1.0).abs() < 1e-12);
    }
}
